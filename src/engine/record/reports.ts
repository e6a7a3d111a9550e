import type { CarrierReport } from '../../channels/provider.js'
import { channels } from '../../channels/registry.js'
import type { CarrierReported } from '../../domain/change.js'
import type { Clock } from '../../domain/clock.js'
import { readTag } from '../../domain/reference-tag.js'
import type { Fact } from '../../domain/transition.js'
import type { CarrierReference } from '../../store/carrier/references.js'
import { CARRIER_NOTES } from './kept-notes.js'

/** From a carrier's report to the change that it means. */
export function toChange(reference: CarrierReference, report: CarrierReport, carrier: string, clock: Clock): CarrierReported {
  const { notification, channel, ordinal, part, parts } = reference
  const { type, at, answer, failure, reason, delayMs, trackingCode } = report
  const data: Fact['data'] = {
    carrier,
    answer,
    ordinal,
    ...(parts > 1 ? { part, parts } : {}),
    ...(failure === undefined ? {} : { failure, failureDetail: reason ?? answer }),
    ...(reason === undefined ? {} : { reason }),
    ...(trackingCode === undefined ? {} : { trackingCode }),
  }
  return {
    kind: 'report',
    notification,
    fact: { channel, type, at: at ?? new Date(clock()), source: `report:${carrier}`, data },
    repeatable: CARRIER_NOTES,
    ...(delayMs === undefined ? {} : { delayMs }),
  }
}

/** A reference of ours: notification, channel, ordinal. */
export function readOwnReference(reference: string, part = { number: 1, total: 1 }): CarrierReference | null {
  const [, notification, name, ordinal] = /^([0-9a-f-]{36})\.([a-z]+)\.(\d{1,4})$/.exec(reference) ?? []
  const channel = channels.find(known => known === name)
  if (notification === undefined || channel === undefined) return null
  return { notification, channel, ordinal: Number(ordinal), part: part.number, parts: part.total }
}

/** The one message with unknown outcome that this tag can name; null where there are several, or none. */
export function onlyTagged(bits: number, references: readonly string[]): CarrierReference | null {
  const tagged = references.flatMap(reference => taggedBy(bits, reference) ?? [])
  return tagged.length === 1 ? tagged[0]! : null
}

function taggedBy(bits: number, reference: string): CarrierReference | null {
  const own = readOwnReference(reference)
  const part = readTag(bits, reference)
  return own === null || part === null ? null : { ...own, ...part }
}

/** The carrier's names, each in the place of the part that it names. */
export const referencesIn = (names: readonly string[], { part, parts }: CarrierReference): (string | null)[] =>
  parts === 1 ? [...names] : Array.from({ length: parts }, (_, place) => (place + 1 === part ? (names[0] ?? null) : null))
