import type { Clock } from '../domain/clock.js'
import { cancelWaiting, lockNotification } from '../store/deliveries.js'
import { appendEvent } from '../store/events.js'
import { type Pool, transaction } from '../store/postgres.js'

/**
 * Ends a notification's sequence: steps that still wait for their condition or their turn are cancelled; what goes out
 * unconditionally goes on. False when the account has no such notification. A second call finds nothing left to end.
 */
export function finalize(pool: Pool, clock: Clock, account: string, notification: string): Promise<boolean> {
  return transaction(pool, async db => {
    if (!(await lockNotification(db, account, notification))) return false
    const at = new Date(clock())
    const channels = await cancelWaiting(db, notification, at, 'finalized')
    if (channels.length > 0) {
      const reason = 'Finalizado a pedido do remetente.'
      await appendEvent(db, notification, { type: 'finalized', source: 'api', at, data: { channels, reason } })
    }
    return true
  })
}
