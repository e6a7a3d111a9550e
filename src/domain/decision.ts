import { brazilianDate } from './dates.js'
import { channelNames as names } from './notification.js'
import { FALLBACK_STEP, type StepCondition } from './sequence.js'
import type { DeliveryStatus } from './status.js'
import type { Fact } from './transition.js'

/**
 * Whether a later step of a notification is still needed. Asked after every fact and when a step's wait is over; the
 * answer, with its reason in words, becomes an event.
 */
export interface Planned {
  status: DeliveryStatus
  step: number
  condition: StepCondition
  dueAt: Date
}

/** The facts that follow from how things stand now. */
export function decide(deliveries: readonly Planned[], now: Date): Fact[] {
  return deliveries.flatMap(delivery => {
    const { state, cancelReason, channel } = delivery.status
    const open = state === 'waiting' || (state === 'cancelled' && cancelReason === 'not needed')
    if (!open) return []
    const earlier = deliveries.filter(other => isEarlier(other, delivery)).map(other => other.status)
    const verdict = judge(delivery, earlier, now)
    if (verdict === null) return []
    const { needed, reason } = verdict
    if (!needed && state === 'cancelled') return []
    const outcome = needed ? 'liberado' : 'não enviado'
    return [
      {
        channel,
        type: needed ? ('released' as const) : ('cancelled' as const),
        at: now,
        source: 'sequence',
        data: { reason: `${names[channel]} ${outcome}: ${reason}`, ...(needed ? {} : { cancelReason: 'not needed' as const }) },
      },
    ]
  })
}

/** Steps 0 and below are outside the order. */
const isEarlier = (other: Planned, delivery: Planned): boolean =>
  delivery.step === FALLBACK_STEP ? other.status.channel === 'email' : other.step > 0 && other.step < delivery.step

/** null: not yet known, keep waiting. */
function judge(delivery: Planned, earlier: readonly DeliveryStatus[], now: Date): { needed: boolean; reason: string } | null {
  const due = delivery.dueAt.getTime() <= now.getTime()
  if (delivery.condition === 'always') return due ? { needed: true, reason: 'chegou a sua vez' } : null
  const reached = earlier.flatMap(status => goal(delivery.condition, status) ?? [])
  if (reached[0] !== undefined) return { needed: false, reason: reached[0] }
  if (earlier.every(status => status.failure !== null || status.state === 'cancelled')) {
    return { needed: true, reason: earlier.map(status => `${names[status.channel]} falhou`).join(', ') }
  }
  if (!due || delivery.condition === 'failed') return null
  return { needed: true, reason: `${missed[delivery.condition]} no prazo` }
}

const missed: Record<Exclude<StepCondition, 'always' | 'failed'>, string> = {
  'not delivered': 'entrega não confirmada',
  'not read': 'leitura não confirmada',
  'not confirmed': 'recebimento não confirmado',
}

/** How an earlier step made this one needless, in words; a step that failed made nothing needless. */
function goal(condition: StepCondition, status: DeliveryStatus): string | null {
  if (status.failure !== null) return null
  const read = status.readAt ?? status.linkOpenedAt ?? status.answeredAt
  const moments: Record<StepCondition, [Date | null, string]> = {
    always: [null, ''],
    failed: [status.deliveredAt, 'entregue'],
    'not delivered': [status.deliveredAt, 'entregue'],
    'not read': [read, 'lido'],
    'not confirmed': [status.confirmedAt, 'confirmado'],
  }
  const [at, word] = moments[condition]
  return at === null ? null : `${names[status.channel]} ${word} às ${brazilianDate(at)}`
}
