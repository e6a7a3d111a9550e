import { moduleOf, takenFact } from '../../channels/registry.js'
import type { Channel } from '../../domain/channel.js'
import type { Clock } from '../../domain/clock.js'
import type { ChangeOutcome, OperatorDecision } from '../../domain/delivery/change.js'
import type { Fact } from '../../domain/delivery/transition.js'
import { signalDue } from '../../store/delivery/due-signal.js'
import { findRefused, type RefusedQuestion } from '../../store/delivery/queue.js'
import type { Pool } from '../../store/postgres.js'
import { type Alongside, recordChanges } from '../record/record.js'

/** What a person decides about a delivery that gave up, about an unknown outcome, or about a step that waits. */
export type Repair = OperatorDecision['decision']

export interface RepairOrder {
  notification: string
  channel: Channel
  repair: Repair
  /** The operator's name, for the record. */
  by: string
}

const facts: Record<Repair, Pick<Fact, 'type' | 'data'>> = {
  retry: { type: 'revived', data: { reason: 'Novo envio a pedido de um operador.' } },
  sent: { type: 'sent', data: { reason: 'Um operador conferiu com a operadora: foi enviado.' } },
  failed: {
    type: 'failed',
    data: { failure: 'rejected', failureDetail: 'Um operador conferiu com a operadora: não foi enviado.' },
  },
  release: { type: 'released', data: { reason: 'Enviado sem esperar, a pedido de um operador.' } },
  cancel: { type: 'cancelled', data: { cancelReason: 'finalized', reason: 'Cancelado por um operador.' } },
}

/** Which refused deliveries are sent again. */
export interface RevivalOrder extends Omit<RefusedQuestion, 'after'> {
  by: string
  /** Only counts them. */
  dryRun: boolean
}

/**
 * Sends again everything that a carrier refused, or whose attempts were used up with it, once the cause is removed. May be
 * repeated: a delivery that is sent again is no longer a refused one.
 */
export async function reviveRefused(
  pool: Pool,
  clock: Clock,
  { by, dryRun, ...question }: RevivalOrder,
): Promise<{ found: number; retried: number }> {
  const total = { found: 0, retried: 0 }
  for (let after: string | null = null; ; ) {
    const { ids, last } = await findRefused(pool, { ...question, after })
    total.found += ids.length
    if (!dryRun && ids.length > 0) {
      const orders = ids.map(notification => ({ notification, channel: question.channel, repair: 'retry', by }) as const)
      const outcomes = await recordDecisions(pool, clock, orders)
      total.retried += outcomes.filter(outcome => outcome === 'recorded').length
    }
    if (last === null) return total
    after = last
  }
}

/** 'fenced' and 'nothing new': the delivery is in a state in which there is nothing to decide. */
export async function repairDelivery(
  pool: Pool,
  clock: Clock,
  order: RepairOrder,
  alongside?: Alongside,
): Promise<ChangeOutcome> {
  const { channel, notification, repair } = order
  // Nothing of a step that waits has been given to a carrier.
  if (repair !== 'release' && repair !== 'cancel')
    await moduleOf(channel).beforeOperatorDecision?.(pool, notification, repair === 'retry')
  const [outcome] = await recordDecisions(pool, clock, [order], alongside)
  return outcome!
}

async function recordDecisions(
  pool: Pool,
  clock: Clock,
  orders: readonly RepairOrder[],
  alongside?: Alongside,
): Promise<ChangeOutcome[]> {
  const at = new Date(clock())
  const changes = orders.map(({ notification, channel, repair, by }): OperatorDecision => {
    const { type, data } = facts[repair]
    // A message that the carrier produces first is not sent yet when the carrier has it: its dates come from the carrier's reports.
    const known = type === 'sent' ? takenFact(channel) : type
    const fact = { channel, type: known, at, source: 'operator', data: { ...data, by } }
    return { kind: 'operator', decision: repair, notification, fact }
  })
  const { outcomes } = await recordChanges(pool, clock, changes, alongside)
  const sends = ({ repair }: RepairOrder): boolean => repair === 'retry' || repair === 'release'
  if (orders.some((order, place) => sends(order) && outcomes[place] === 'recorded')) await signalDue(pool)
  return outcomes
}
