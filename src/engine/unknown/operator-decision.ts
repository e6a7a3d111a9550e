import { abandonPlace } from '../../channels/letter/lot-store.js'
import type { ChangeOutcome, OperatorDecision } from '../../domain/change.js'
import type { Clock } from '../../domain/clock.js'
import type { Channel } from '../../domain/notification.js'
import type { Fact } from '../../domain/transition.js'
import { signalDue } from '../../store/due-signal.js'
import type { Pool } from '../../store/postgres.js'
import { findRefused, type RefusedQuestion } from '../../store/queue.js'
import { recordChanges } from '../record/record.js'

/** What a person decides about a delivery that gave up, or about an unknown outcome. */
export type Repair = OperatorDecision['decision']

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
/** Which refused deliveries are to go again. */
export interface RevivalOrder extends Omit<RefusedQuestion, 'after'> {
  by: string
  /** Counts them and leaves them as they are. */
  dryRun: boolean
}

/**
 * Once what made a carrier refuse is mended: everything that it refused, or that gave up on it, goes again. May be repeated: what
 * was revived is refused no longer.
 */
export async function reviveRefused(
  pool: Pool,
  clock: Clock,
  { by, dryRun, ...question }: RevivalOrder,
): Promise<{ found: number; retried: number }> {
  const total = { found: 0, retried: 0 }
  const { type, data } = facts.retry
  for (let after: string | null = null; ; ) {
    const { ids, last } = await findRefused(pool, { ...question, after })
    total.found += ids.length
    if (!dryRun && ids.length > 0) {
      const { outcomes } = await recordChanges(
        pool,
        clock,
        ids.map(notification => ({
          kind: 'operator',
          decision: 'retry',
          notification,
          fact: { channel: question.channel, type, at: new Date(clock()), source: 'operator', data: { ...data, by } },
        })),
      )
      total.retried += outcomes.filter(outcome => outcome === 'recorded').length
      await signalDue(pool)
    }
    if (last === null) return total
    after = last
  }
}

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
      kind: 'operator',
      decision: repair,
      notification,
      fact: { channel, type, at: new Date(clock()), source: 'operator', data: { ...data, by } },
    },
  ])
  if (repair === 'retry' && outcomes[0] === 'recorded') await signalDue(pool)
  return outcomes[0]!
}
