import { agree } from '../channel.js'
import type { TraitsOf } from '../notification.js'
import { FALLBACK_STEP, type StepCondition } from '../send/sequence.js'
import { brazilianDate } from '../text/dates.js'
import type { DeliveryStatus } from './status.js'
import type { Fact } from './transition.js'

export interface Planned {
  status: DeliveryStatus
  step: number
  condition: StepCondition
  dueAt: Date
}

/**
 * Decides whether the later steps of a notification are still needed: after every fact, and when the wait of a step is over. The
 * decision and its reason become an event.
 */
export function decide(deliveries: readonly Planned[], now: Date, traitsOf: TraitsOf): Fact[] {
  return deliveries.flatMap(delivery => {
    const { state, cancelReason, channel } = delivery.status
    if (state !== 'waiting' && !(state === 'cancelled' && cancelReason === 'not needed')) return []
    const earlier = deliveries.filter(other => isEarlier(other, delivery, traitsOf)).map(other => other.status)
    const verdict = judge(delivery, earlier, now, traitsOf)
    if (verdict === null || (verdict.type === 'cancelled' && state === 'cancelled')) return []
    const { type } = verdict
    const traits = traitsOf(channel)
    const reason = `${traits.label} ${type === 'reopened' ? words[type] : agree(traits, words[type])}: ${verdict.reason}`
    const data = type === 'cancelled' ? { reason, cancelReason: 'not needed' as const } : { reason }
    return [{ channel, type, at: now, source: 'sequence', data }]
  })
}

const words = { reopened: 'volta a aguardar', released: 'liberado', cancelled: 'não enviado' } as const

/** Steps 0 and below are outside the order. */
const isEarlier = (other: Planned, delivery: Planned, traitsOf: TraitsOf): boolean =>
  delivery.step === FALLBACK_STEP
    ? other.status.channel === traitsOf(delivery.status.channel).fallback?.for
    : other.step > 0 && other.step < delivery.step

const failed = (status: DeliveryStatus): boolean => status.failure !== null

const failures = (statuses: readonly DeliveryStatus[], traitsOf: TraitsOf): string =>
  statuses.map(status => `${traitsOf(status.channel).label} falhou`).join(', ')

/** null: nothing is decided yet, the step keeps waiting. */
function judge(
  delivery: Planned,
  earlier: readonly DeliveryStatus[],
  now: Date,
  traitsOf: TraitsOf,
): { type: keyof typeof words; reason: string } | null {
  const due = delivery.dueAt.getTime() <= now.getTime()
  if (delivery.condition === 'always') return due ? { type: 'released', reason: 'chegou a sua vez' } : null
  const reached = earlier.flatMap(status => goal(delivery.condition, status, traitsOf) ?? [])
  if (reached[0] !== undefined) return { type: 'cancelled', reason: reached[0] }
  if (earlier.every(status => failed(status) || status.cancelReason === 'finalized'))
    return { type: 'released', reason: failures(earlier, traitsOf) }
  // This step was no longer necessary because of a step that has failed since. Another earlier step is sent: this one waits for it again.
  if (delivery.status.state === 'cancelled') return { type: 'reopened', reason: failures(earlier.filter(failed), traitsOf) }
  if (!due || delivery.condition === 'failed') return null
  return { type: 'released', reason: `${missed[delivery.condition]} no prazo` }
}

const missed: Record<Exclude<StepCondition, 'always' | 'failed'>, string> = {
  'not delivered': 'entrega não confirmada',
  'not read': 'leitura não confirmada',
  'not confirmed': 'recebimento não confirmado',
}

/** Why this earlier step makes a later one no longer necessary, in words; null: it does not. A failed step never does. */
function goal(condition: StepCondition, status: DeliveryStatus, traitsOf: TraitsOf): string | null {
  if (status.failure !== null) return null
  const read = status.readAt ?? status.linkOpenedAt ?? status.answeredAt
  // A recipient who answers was reached, whether or not the carrier reported the delivery.
  const delivered = status.deliveredAt ?? read
  const moments: Record<StepCondition, [Date | null, string]> = {
    always: [null, ''],
    failed: [delivered, 'entregue'],
    'not delivered': [delivered, 'entregue'],
    'not read': [read, 'lido'],
    'not confirmed': [status.confirmedAt, 'confirmado'],
  }
  const [at, word] = moments[condition]
  const traits = traitsOf(status.channel)
  return at === null ? null : `${traits.label} ${agree(traits, word)} às ${brazilianDate(at)}`
}
