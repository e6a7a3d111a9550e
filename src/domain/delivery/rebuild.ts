import type { Channel } from '../channel.js'
import type { Json } from '../evidence/canonical-json.js'
import type { PlannedDelivery, TraitsOf } from '../notification.js'
import { FALLBACK_STEP } from '../send/sequence.js'
import { type DeliveryStatus, newStatus } from './status.js'
import { applyFact, type Fact, type FactType } from './transition.js'

/** An event as it is stored. */
export interface StoredEvent {
  at: string
  type: string
  source: string
  data: Json
}

/** Computes the statuses of a notification from all of its events, in order. */
export function rebuildStatuses([accepted, ...later]: readonly StoredEvent[], traitsOf: TraitsOf): Map<Channel, DeliveryStatus> {
  const statuses = new Map<Channel, DeliveryStatus>()
  if (accepted === undefined) return statuses
  const { deliveries } = accepted.data as unknown as { deliveries: Pick<PlannedDelivery, 'channel' | 'state' | 'step'>[] }
  for (const { channel, state, step } of deliveries)
    statuses.set(channel, newStatus(channel, state, new Date(accepted.at), step === FALLBACK_STEP))
  for (const event of later) {
    const fact = factOf(event)
    const before = statuses.get(fact.channel)
    if (before === undefined) continue
    const after = applyFact(before, fact, traitsOf(fact.channel))
    if (after !== null) statuses.set(fact.channel, after)
  }
  return statuses
}

/** The fact of an event. The first event, 'accepted', has none. */
export function factOf({ type, at, source, data: stored }: StoredEvent): Fact {
  const { channel, ...data } = stored as unknown as { channel: Channel } & Fact['data']
  return { channel, type: type as FactType, at: new Date(at), source, data }
}
