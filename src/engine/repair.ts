import type { Clock } from '../domain/clock.js'
import type { Channel } from '../domain/notification.js'
import type { Fact } from '../domain/transition.js'
import { signalDue } from '../store/due-signal.js'
import { abandonPlace } from '../store/letter-lots.js'
import type { Pool } from '../store/postgres.js'
import { type ChangeOutcome, recordChanges } from './record.js'

/** What a person decides about a delivery that gave up, or of which nobody knows whether it was sent. */
export type Repair = 'retry' | 'sent' | 'failed'

export interface RepairOrder {
  notification: string
  channel: Channel
  repair: Repair
  /** Who decided it, for the record. */
  by: string
}

const facts: Record<Repair, Pick<Fact, 'type' | 'data'>> = {
  retry: { type: 'revived', data: { reason: 'Novo envio a pedido de um operador.' } },
  sent: { type: 'sent', data: { reason: 'Um operador conferiu com a operadora: foi enviado.' } },
  failed: {
    type: 'failed',
    data: { failure: 'rejected', failureDetail: 'Um operador conferiu com a operadora: não foi enviado.' },
  },
}

/** A letter that the carrier has is not printed yet, let alone posted: those dates are the post's to tell. */
const taken: Pick<Fact, 'type' | 'data'> = { ...facts.sent, type: 'processed' }

/** Whether it was done: 'fenced' or 'nothing new' when the delivery is not in a state that leaves anything to decide. */
export async function repairDelivery(
  pool: Pool,
  clock: Clock,
  { notification, channel, repair, by }: RepairOrder,
): Promise<ChangeOutcome> {
  const { type, data } = channel === 'letter' && repair === 'sent' ? taken : facts[repair]
  // First: a letter must not leave with a lot that still waits after a person decided about it.
  if (channel === 'letter') await abandonPlace(pool, notification, repair === 'retry')
  const { outcomes } = await recordChanges(pool, clock, [
    {
      notification,
      fact: { channel, type, at: new Date(clock()), source: 'operator', data: { ...data, by } },
      // Only an uncertain one can be told to have been sent or not; what gave up is known.
      ...(repair === 'retry' ? { delayMs: 0 } : { whilst: 'uncertain' as const }),
    },
  ])
  if (repair === 'retry' && outcomes[0] === 'recorded') await signalDue(pool)
  return outcomes[0]!
}
