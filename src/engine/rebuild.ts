import { canonicalJson, type Json } from '../domain/canonical-json.js'
import { findChainFault } from '../domain/evidence.js'
import type { Channel } from '../domain/notification.js'
import { type DeliveryStatus, newStatus } from '../domain/status.js'
import { applyFact, type Fact, type FactType } from '../domain/transition.js'
import type { LoggedEvent, LoggedNotification } from '../store/event-log.js'

/** The statuses, computed again from the events alone, and what is wrong with a notification's record. */
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
  'processedAt',
  'preparedAt',
  'trackingCode',
  'ordinal',
  'doubts',
  'parts',
] as const

/** Every fault of one notification, in words: a broken chain, or a status that its events do not add up to. */
export function findFaults({ id, events, statuses }: LoggedNotification): string[] {
  const broken = findChainFault(events)
  if (broken !== null) return [`${id}: cadeia rompida no evento ${broken.seq} (${broken.fault})`]
  const rebuilt = rebuildStatuses(events)
  if (rebuilt === null) return []
  return statuses.flatMap(status => {
    const expected = rebuilt.get(status.channel)
    if (expected === undefined) return [`${id}: o canal ${status.channel} não está nos eventos`]
    return COMPARED.map(member => [member, written(status[member]), written(expected[member])] as const)
      .filter(([, stored, added]) => stored !== added)
      .map(([member, stored, added]) => `${id}: ${status.channel}.${member} é ${stored}; pelos eventos, ${added}`)
  })
}

/** Alike whatever the order of members: the store keeps its own. */
const written = (value: DeliveryStatus[(typeof COMPARED)[number]]): string =>
  canonicalJson(JSON.parse(JSON.stringify(value)) as Json)

/** null when the events' data was erased: then there is nothing to compare with. */
function rebuildStatuses(events: readonly LoggedEvent[]): Map<Channel, DeliveryStatus> | null {
  const [accepted, ...later] = events
  if (accepted === undefined || events.some(event => event.salt === null)) return null
  const statuses = new Map<Channel, DeliveryStatus>()
  for (const { channel, state } of (accepted.data as unknown as { deliveries: AcceptedDelivery[] }).deliveries) {
    statuses.set(channel, newStatus(channel, state, new Date(accepted.at)))
  }
  for (const event of later) {
    const { channel, ...data } = event.data as unknown as { channel: Channel } & Fact['data']
    const before = statuses.get(channel)
    if (before === undefined) continue
    const after = applyFact(before, { channel, type: event.type as FactType, at: new Date(event.at), source: event.source, data })
    if (after !== null) statuses.set(channel, after)
  }
  return statuses
}
