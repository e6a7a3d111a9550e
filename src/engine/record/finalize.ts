import { channels } from '../../channels/registry.js'
import type { Clock } from '../../domain/clock.js'
import { belongsTo } from '../../store/delivery/deliveries.js'
import type { Pool } from '../../store/postgres.js'
import { recordChanges } from './record.js'

/**
 * Ends a notification's sequence: steps that still wait are cancelled, and deliveries that wait for nothing are sent all the same.
 * false: the account has no such notification. A second call changes nothing.
 */
export async function finalize(pool: Pool, clock: Clock, account: string, notification: string): Promise<boolean> {
  if (!(await belongsTo(pool, account, notification))) return false
  const at = new Date(clock())
  const data = { cancelReason: 'finalized', reason: 'Finalizado a pedido do remetente.' } as const
  await recordChanges(
    pool,
    clock,
    channels.map(channel => ({ kind: 'fact', notification, fact: { channel, type: 'cancelled', at, source: 'api', data } })),
  )
  return true
}
