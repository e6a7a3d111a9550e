import type { Channel } from '../domain/notification.js'
import type { DeliveryStatus } from '../domain/status.js'
import { applyFact, type Fact, type FactType } from '../domain/transition.js'

/** The status columns, computed again from the events alone. */
export interface StoredEvent {
  type: string
  source: string
  at: Date
  data: Record<string, unknown> | null
}

interface AcceptedDelivery {
  channel: Channel
  state: 'queued' | 'waiting'
}

const COMPARED = [
  'sentAt',
  'deliveredAt',
  'readAt',
  'confirmedAt',
  'linkOpenedAt',
  'answeredAt',
  'failedAt',
  'cancelledAt',
  'cancelReason',
  'failure',
  'failureDetail',
  'answers',
] as const

/** null when the events' data was erased: then there is nothing to compare with. */
export function rebuildStatuses(events: readonly StoredEvent[]): Map<Channel, DeliveryStatus> | null {
  const [accepted, ...later] = events
  if (accepted === undefined || events.some(event => event.data === null)) return null
  const statuses = new Map<Channel, DeliveryStatus>()
  for (const { channel, state } of accepted.data!.deliveries as AcceptedDelivery[]) {
    statuses.set(channel, initial(channel, state, accepted.at))
  }
  for (const event of later) {
    const { channel, ...data } = event.data as { channel: Channel } & Fact['data']
    const before = statuses.get(channel)
    if (before === undefined) continue
    const after = applyFact(before, { channel, type: event.type as FactType, at: event.at, source: event.source, data })
    if (after !== null) statuses.set(channel, after)
  }
  return statuses
}

/** The members in which a stored status differs from the rebuilt one. */
export function differences(stored: DeliveryStatus, rebuilt: DeliveryStatus): string[] {
  return COMPARED.filter(member => JSON.stringify(stored[member]) !== JSON.stringify(rebuilt[member]))
}

const initial = (channel: Channel, state: 'queued' | 'waiting', acceptedAt: Date): DeliveryStatus => ({
  channel,
  state,
  acceptedAt,
  processedAt: null,
  preparedAt: null,
  sentAt: null,
  deliveredAt: null,
  readAt: null,
  confirmedAt: null,
  linkOpenedAt: null,
  answeredAt: null,
  failedAt: null,
  cancelledAt: null,
  cancelReason: null,
  failure: null,
  failureDetail: null,
  answers: [],
  trackingCode: null,
})
