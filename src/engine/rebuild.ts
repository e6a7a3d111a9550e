import { canonicalJson, type Json } from '../domain/canonical-json.js'
import { findChainFault } from '../domain/evidence.js'
import { rebuildStatuses } from '../domain/rebuild.js'
import type { DeliveryStatus } from '../domain/status.js'
import type { LoggedNotification } from '../store/event-log.js'

/** What is wrong with a notification's record. */
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
  'taken',
] as const

/** Every fault of one notification, in words: a broken chain, or a status that its events do not add up to. */
export function findFaults({ id, events, statuses }: LoggedNotification): string[] {
  const broken = findChainFault(events)
  if (broken !== null) return [`${id}: cadeia rompida no evento ${broken.seq} (${broken.fault})`]
  // Where the events' data was erased there is nothing to compare with.
  if (events.some(event => event.salt === null)) return []
  const rebuilt = rebuildStatuses(events)
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
