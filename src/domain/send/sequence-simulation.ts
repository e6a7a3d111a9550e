import type { Channel } from '../channel.js'
import { decide, type Planned } from '../delivery/decision.js'
import { newStatus } from '../delivery/status.js'
import { applyFact, type Fact, type FactType } from '../delivery/transition.js'
import { type DeliveryRules, planDeliveries, type TraitsOf } from '../notification.js'
import { MINUTE_MS } from '../units.js'
import { FALLBACK_STEP } from './sequence.js'

/** What becomes of a message once it was sent. silent: nothing is ever heard of it. */
type Outcome = 'silent' | 'delivered' | 'read' | 'confirmed' | 'failed'

export interface Reaction {
  channel: Channel
  outcome: Outcome
  /** After the message was sent. */
  minutes: number
}

export interface SimulatedEvent {
  channel: Channel
  type: FactType
  at: Date
  /** Why a step goes or does not; null: nothing was decided. */
  reason: string | null
}

const factsOf: Readonly<Record<Outcome, readonly FactType[]>> = {
  silent: [],
  delivered: ['delivered'],
  read: ['delivered', 'read'],
  confirmed: ['delivered', 'read', 'confirmed'],
  failed: ['failed'],
}

/**
 * Plays one notification through a sequence, with the rules that plan and decide real ones. The time jumps from one moment at which
 * something happens to the next.
 */
export function simulateSequence(
  rules: Omit<DeliveryRules, 'revision'>,
  reactions: readonly Reaction[],
  start: Date,
  traitsOf: TraitsOf,
): SimulatedEvent[] {
  const deliveries = reactions.map(({ channel }) => ({
    channel,
    recipient: null,
    request: {},
    template: null,
    turn: 'sequence' as const,
  }))
  const planned: Planned[] = planDeliveries({ deliveries }, { ...rules, revision: 0 }, new Map(), traitsOf).map(
    ({ channel, state, step, condition, waitMs }) => ({
      status: newStatus(channel, state, start, step === FALLBACK_STEP),
      step,
      condition,
      dueAt: new Date(start.getTime() + waitMs),
    }),
  )
  const told: SimulatedEvent[] = []
  const coming: Fact[] = []

  const apply = (fact: Fact): void => {
    const delivery = planned.find(({ status }) => status.channel === fact.channel)!
    const next = applyFact(delivery.status, fact, traitsOf(fact.channel))
    if (next === null) return
    delivery.status = next
    told.push({ channel: fact.channel, type: fact.type, at: fact.at, reason: (fact.data.reason as string | undefined) ?? null })
  }
  const send = (channel: Channel, at: Date): void => {
    apply({ channel, type: 'sent', at, source: 'simulation', data: {} })
    const { outcome, minutes } = reactions.find(reaction => reaction.channel === channel)!
    const later = new Date(at.getTime() + minutes * MINUTE_MS)
    const data = outcome === 'failed' ? { failure: 'bounced' as const } : {}
    for (const type of factsOf[outcome]) coming.push({ channel, type, at: later, source: 'simulation', data })
  }
  const settle = (now: Date): void => {
    for (let facts = decide(planned, now, traitsOf); facts.length > 0; facts = decide(planned, now, traitsOf)) {
      for (const fact of facts) {
        apply(fact)
        if (fact.type === 'released') send(fact.channel, now)
      }
    }
  }

  for (const { status } of planned.filter(({ status: { state } }) => state === 'queued')) send(status.channel, start)
  for (let now: Date | null = start; now !== null; now = nextMoment(planned, coming, now)) {
    // Of facts of the same moment the earlier one in the list comes first: a message is delivered before it is read.
    const due = coming.filter(({ at }) => at.getTime() <= now!.getTime())
    coming.splice(0, coming.length, ...coming.filter(fact => !due.includes(fact)))
    for (const fact of due) apply(fact)
    settle(now)
  }
  return told
}

/** null: nothing more can happen. */
function nextMoment(planned: readonly Planned[], coming: readonly Fact[], now: Date): Date | null {
  const waits = planned.filter(({ status }) => status.state === 'waiting').map(({ dueAt }) => dueAt.getTime())
  const moments = [...waits.filter(at => at > now.getTime()), ...coming.map(({ at }) => at.getTime())]
  return moments.length === 0 ? null : new Date(Math.min(...moments))
}
