import { createHash } from 'node:crypto'
import type { CarrierEvent, CarrierReply, CarrierReport, Mark } from '../../channels/provider.js'
import { isOptOut } from '../../channels/sms/opt-out.js'
import { takeRecording } from '../../channels/voice/recordings.js'
import type { Json } from '../../domain/canonical-json.js'
import type { CarrierReported, Recorder } from '../../domain/change.js'
import type { Clock } from '../../domain/clock.js'
import { readMark } from '../../domain/mark.js'
import { type Channel, channels } from '../../domain/notification.js'
import type { Fact } from '../../domain/transition.js'
import { type CarrierReference, findNewestTo, findReference } from '../../store/carrier-references.js'
import { deleteEarlyReport, findEarlyMarked, keepEarlyReport, probeEarlyReports } from '../../store/early-reports.js'
import type { Pool } from '../../store/postgres.js'
import {
  deleteReplyParts,
  findStaleReplies,
  forgetJoined,
  keepReplyPart,
  markJoined,
  readReplyParts,
} from '../../store/reply-parts.js'
import { suppress } from '../../store/suppressions.js'
import { findDoubtful } from '../../store/unknown-by-recipient.js'

/** What carriers tell later becomes facts about the delivery that they speak of. */
export interface CarrierEventParts {
  pool: Pool
  clock: Clock
  recorder: Recorder
  /** Told of what speaks of nothing that we sent. */
  onUnmatched(carrier: string, kind: CarrierEvent['kind']): void
}

/** Who tells it: the key under which a lane keeps its carrier's references, and the provider and channel behind it. */
export interface CarrierEventSource {
  carrierKey: string
  provider: string
  channel: Channel
}

/** Kept reports that one worker looks at in a round: whatever others send under our account, it costs no more. */
const BATCH = 500
/** Between the looks at a kept report, an hour in all: only what was written down at the same moment has to be found by them. */
const PROBE_WAITS_MS = [10_000, 30_000, 90_000, 270_000, 810_000, 2_430_000]

/** Resolves once everything is committed: only then the carrier may forget it. */
export async function takeCarrierEvents(
  source: CarrierEventSource,
  events: readonly CarrierEvent[],
  parts: CarrierEventParts,
): Promise<void> {
  await Promise.all(events.map(item => takeItem(source, item, parts)))
}

function takeItem(source: CarrierEventSource, item: CarrierEvent, parts: CarrierEventParts): Promise<void> {
  switch (item.kind) {
    case 'report':
      return takeReport(source, item, parts)
    case 'reply':
      return takeReply(source, item, parts)
    case 'recording': {
      const call = readOwn(item.of.ours)
      return call === null
        ? Promise.resolve(parts.onUnmatched(source.carrierKey, item.kind))
        : takeRecording(source.carrierKey, call, item, parts)
    }
  }
}

async function takeReport(source: CarrierEventSource, report: CarrierReport, parts: CarrierEventParts): Promise<void> {
  const { carrierKey, provider } = source
  const reference =
    'ours' in report.of
      ? readOwn(report.of.ours, report.of.part)
      : ((await findReference(parts.pool, carrierKey, report.of.carrier)) ??
        (report.of.mark === undefined ? null : await findMarked(source, report.of.mark, parts.pool)))
  if (reference !== null) {
    const names = 'ours' in report.of ? namesIn(report.of.carrier ?? [], reference) : []
    const change = toChange(reference, report, provider, parts.clock)
    await parts.recorder.record(names.length === 0 ? change : { ...change, references: { carrier: carrierKey, names } })
  } else if (report.of.carrier !== undefined) {
    // It may have overtaken our own commit.
    await keepEarlyReport(parts.pool, carrierKey, report.of.carrier, { ...freeze(report), provider })
  } else parts.onUnmatched(carrierKey, report.kind)
}

/** The one send without an answer that this mark can speak of; none where there are several. */
async function findMarked(
  { channel, provider }: CarrierEventSource,
  { recipient, bits }: Mark,
  pool: Pool,
): Promise<CarrierReference | null> {
  return onlyMarked(bits, await findDoubtful(pool, channel, provider, recipient))
}

function onlyMarked(bits: number, doubtful: readonly string[]): CarrierReference | null {
  const marked = doubtful.flatMap(reference => markedBy(bits, reference) ?? [])
  return marked.length === 1 ? marked[0]! : null
}

function markedBy(bits: number, reference: string): CarrierReference | null {
  const own = readOwn(reference)
  const part = readMark(bits, reference)
  return own === null || part === null ? null : { ...own, ...part }
}

async function takeReply(source: CarrierEventSource, reply: CarrierReply, parts: CarrierEventParts): Promise<void> {
  if (reply.part !== undefined) return takeReplyPart(source, { ...reply, part: reply.part }, parts)
  const { carrierKey, channel, provider } = source
  const quoted = reply.inReplyTo === null ? null : await findReference(parts.pool, carrierKey, [reply.inReplyTo])
  const notification = quoted?.notification ?? (await findNewestTo(parts.pool, channel, reply.from, provider, reply.at))
  if (notification === null) return parts.onUnmatched(carrierKey, reply.kind)
  const optOut = channel === 'sms' && isOptOut(reply.text)
  // First of all: whoever asks to be left alone must be, also if we fall over now.
  if (optOut) await suppress(parts.pool, { notification, channel, reason: 'opt-out' })
  const at = reply.at ?? new Date(parts.clock())
  const named = reply.id === null ? nameByHour(reply, at) : { answerId: reply.id }
  await parts.recorder.record({
    kind: 'fact',
    notification,
    fact: {
      channel,
      type: 'answered',
      at,
      source: provider,
      data: { answer: reply.text, ...named, ...(optOut ? { optOut } : {}) },
    },
  })
}

const HOUR_MS = 60 * 60_000

/** A carrier whose answer was lost tells it again, without a name: the same words of the same person, within the hour, are one. */
function nameByHour({ from, text }: CarrierReply, at: Date): { answerId: string; answerIds: string[] } {
  const words = createHash('sha256').update(`${from[0]} ${text}`).digest('base64url')
  const hour = Math.floor(at.getTime() / HOUR_MS)
  const answerIds = [hour, hour - 1].map(number => `${words} ${number}`)
  return { answerId: answerIds[0]!, answerIds }
}

type ReplyPart = CarrierReply & { part: NonNullable<CarrierReply['part']> }

/** Parts may come to different workers, hours apart: they are kept until the last one is there. */
async function takeReplyPart(source: CarrierEventSource, reply: ReplyPart, parts: CarrierEventParts): Promise<void> {
  const { of, number, total } = reply.part
  const key = { carrier: source.carrierKey, name: of, total }
  await forgetJoined(parts.pool, key, number, reply.text)
  await keepReplyPart(parts.pool, key, number, freeze({ ...reply, source: { ...source } }))
  const kept = await readReplyParts(parts.pool, key)
  if (kept.length === total) await joinReply(kept as unknown as FrozenPart[], key, parts)
}

type FrozenPart = Omit<ReplyPart, 'at'> & { at: string | null; source: CarrierEventSource }
type PartsKey = Parameters<typeof deleteReplyParts>[1]

/** Told under a name of its own: joined twice, by two workers or after a crash, it counts once. */
async function joinReply(kept: readonly FrozenPart[], key: PartsKey, parts: CarrierEventParts): Promise<void> {
  const { source, part: _, at, id, ...first } = kept[0]!
  const text = kept.map(piece => piece.text).join('')
  const name = id ?? `${key.name} ${key.total} ${text}`
  await takeReply(source, { ...first, text, id: name, at: at === null ? null : new Date(at) }, parts)
  await markJoined(parts.pool, key)
}

/** Answers whose last part never came are told as far as they did. */
export async function takeIncompleteReplies(parts: CarrierEventParts): Promise<void> {
  for (const key of await findStaleReplies(parts.pool)) {
    const kept = await readReplyParts(parts.pool, key)
    if (kept.length > 0) await joinReply(kept as unknown as FrozenPart[], key, parts)
    await deleteReplyParts(parts.pool, key)
  }
}

/** Takes up the reports that came before we knew what they were about. */
export async function takeEarlyReports({ pool, clock, recorder }: Omit<CarrierEventParts, 'onUnmatched'>): Promise<void> {
  const probed = await probeEarlyReports(pool, BATCH, PROBE_WAITS_MS)
  const early = probed.map(({ id, report, reference }) => ({ id, reference, ...thaw(report) }))
  const marked = early.filter(({ reference, report }) => reference === null && markOf(report) !== undefined)
  // Of a send whose worker died before it could say more than that it began.
  const doubtful =
    marked.length === 0
      ? new Map<string, string[]>()
      : await findEarlyMarked(
          pool,
          marked.map(({ id }) => id),
        )
  // One after the other: they are told in the order in which they came.
  for (const { id, reference, provider, report } of early) {
    const known = reference ?? onlyMarked(markOf(report)?.bits ?? -1, doubtful.get(id) ?? [])
    if (known === null) continue
    await recorder.record(toChange(known, report, provider, clock))
    await deleteEarlyReport(pool, id)
  }
}

const markOf = ({ of }: CarrierReport): Mark | undefined => ('ours' in of ? undefined : of.mark)

function thaw(kept: Json): { provider: string; report: CarrierReport } {
  const { provider, ...report } = kept as unknown as FrozenReport & { provider: string }
  return { provider, report: { ...report, at: report.at === null ? null : new Date(report.at) } }
}

type FrozenReport = Omit<CarrierReport, 'at'> & { at: string | null }

const freeze = (events: object): { [member: string]: Json } => JSON.parse(JSON.stringify(events)) as { [member: string]: Json }

/** In the place of the part that they name. */
const namesIn = (names: readonly string[], { part, parts }: CarrierReference): (string | null)[] =>
  parts === 1 ? [...names] : Array.from({ length: parts }, (_, place) => (place + 1 === part ? (names[0] ?? null) : null))

/** A reference of ours: notification, channel, ordinal. */
function readOwn(reference: string, { number: part, total: parts } = { number: 1, total: 1 }): CarrierReference | null {
  const [, notification, name, ordinal] = /^([0-9a-f-]{36})\.([a-z]+)\.(\d{1,4})$/.exec(reference) ?? []
  const channel = channels.find(known => known === name)
  if (notification === undefined || channel === undefined) return null
  return { notification, channel, ordinal: Number(ordinal), part, parts }
}

function toChange(reference: CarrierReference, report: CarrierReport, provider: string, clock: Clock): CarrierReported {
  const { notification, channel, ordinal, part, parts } = reference
  const { type, at, answer, failure, reason, delayMs, trackingCode } = report
  const data: Fact['data'] = {
    provider,
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
    fact: { channel, type, at: at ?? new Date(clock()), source: `report:${provider}`, data },
    ...(delayMs === undefined ? {} : { delayMs }),
  }
}
