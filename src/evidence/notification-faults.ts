import { moduleOf } from '../channels/registry.js'
import { rebuildStatuses } from '../domain/delivery/rebuild.js'
import type { DeliveryStatus } from '../domain/delivery/status.js'
import { canonicalJson, type Json } from '../domain/evidence/canonical-json.js'
import { findChainFault } from '../domain/evidence/evidence.js'
import type { LoggedNotification } from '../store/notification/event-log.js'

/** Every fault of one notification, in words: a broken chain, or a stored status that differs from the status of its events. */
export function findFaults({ id, events, statuses }: LoggedNotification): string[] {
  const broken = findChainFault(events)
  if (broken !== null) return [`${id}: cadeia rompida no evento ${broken.seq} (${broken.fault})`]
  // The data was erased: there is nothing to compare with.
  if (events.some(event => event.salt === null)) return []
  const rebuilt = rebuildStatuses(events, moduleOf)
  const missing = [...rebuilt.keys()].filter(channel => !statuses.some(status => status.channel === channel))
  return [
    ...missing.map(channel => `${id}: o canal ${channel} foi aceito e não tem entrega`),
    ...statuses.flatMap(status => {
      const expected = rebuilt.get(status.channel)
      return expected === undefined
        ? [`${id}: o canal ${status.channel} não está nos eventos`]
        : findDifferences(id, status, expected)
    }),
  ]
}

function findDifferences(id: string, stored: DeliveryStatus, expected: DeliveryStatus): string[] {
  // A claim is no event: by its events, a delivery that a worker holds is queued.
  const claimed: DeliveryStatus = stored.state === 'sending' ? { ...stored, state: 'queued' } : stored
  return (Object.keys(expected) as (keyof DeliveryStatus)[])
    .filter(member => member !== 'acceptedAt')
    .map(member => [member, written(claimed[member]), written(expected[member])] as const)
    .filter(([, found, added]) => found !== added)
    .map(([member, found, added]) => `${id}: ${stored.channel}.${member} é ${found}; pelos eventos, ${added}`)
}

/** The same text whatever the order of the members: the database has its own order. */
const written = (value: DeliveryStatus[keyof DeliveryStatus]): string => canonicalJson(JSON.parse(JSON.stringify(value)) as Json)
