import type { CarrierNews, CarrierReply, CarrierReport } from '../channels/provider.js'
import type { Json } from '../domain/canonical-json.js'
import type { Clock } from '../domain/clock.js'
import { type Channel, channels } from '../domain/notification.js'
import type { Fact } from '../domain/transition.js'
import {
  type CarrierReference,
  deleteEarlyReports,
  findMatchedReports,
  findNewestTo,
  findReference,
  keepEarlyReport,
} from '../store/carrier-references.js'
import type { Pool } from '../store/postgres.js'
import type { Change } from './record.js'
import { takeRecording } from './recordings.js'
import type { Recorder } from './worker.js'

/** What carriers tell later becomes facts about the delivery that they speak of. */
export interface NewsParts {
  pool: Pool
  clock: Clock
  recorder: Recorder
  /** Told of what speaks of nothing that we sent. */
  onUnmatched(carrier: string, kind: CarrierNews['kind']): void
}

/** Who tells it: the key under which a lane keeps its carrier's references, and the provider and channel behind it. */
export interface NewsSource {
  carrierKey: string
  provider: string
  channel: Channel
}

const BATCH = 500

/** Resolves once everything is committed: only then the carrier may forget it. */
export async function takeNews(source: NewsSource, news: readonly CarrierNews[], parts: NewsParts): Promise<void> {
  await Promise.all(news.map(item => takeItem(source, item, parts)))
}

function takeItem(source: NewsSource, item: CarrierNews, parts: NewsParts): Promise<void> {
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

async function takeReport({ carrierKey, provider }: NewsSource, report: CarrierReport, parts: NewsParts): Promise<void> {
  const reference = 'ours' in report.of ? readOwn(report.of.ours) : await findReference(parts.pool, carrierKey, report.of.carrier)
  if (reference !== null) {
    const names = 'ours' in report.of ? (report.of.carrier ?? []) : []
    const change = toChange(reference, report, provider, parts.clock)
    await parts.recorder.record(names.length === 0 ? change : { ...change, references: { carrier: carrierKey, names } })
  } else if (report.of.carrier !== undefined) {
    // It may have overtaken our own commit.
    await keepEarlyReport(parts.pool, carrierKey, report.of.carrier, { ...freeze(report), provider })
  } else parts.onUnmatched(carrierKey, report.kind)
}

async function takeReply(source: NewsSource, reply: CarrierReply, parts: NewsParts): Promise<void> {
  const { carrierKey, channel, provider } = source
  const named = reply.inReplyTo === null ? null : await findReference(parts.pool, carrierKey, [reply.inReplyTo])
  const notification = named?.notification ?? (await findNewestTo(parts.pool, channel, reply.from, provider))
  if (notification === null) return parts.onUnmatched(carrierKey, reply.kind)
  await parts.recorder.record({
    notification,
    fact: {
      channel,
      type: 'answered',
      at: reply.at ?? new Date(parts.clock()),
      source: provider,
      data: { answer: reply.text, answerId: reply.id },
    },
  })
}

/** Takes up the reports that came before we knew what they were about. */
export async function takeEarlyReports({ pool, clock, recorder }: Omit<NewsParts, 'onUnmatched'>): Promise<void> {
  const early = await findMatchedReports(pool, BATCH)
  // One after the other: they are told in the order in which they came.
  for (const { report, ...reference } of early) {
    const { provider, ...frozen } = report as unknown as FrozenReport & { provider: string }
    await recorder.record(
      toChange(reference, { ...frozen, at: frozen.at === null ? null : new Date(frozen.at) }, provider, clock),
    )
  }
  const taken = early.map(({ id }) => id)
  if (taken.length > 0) await deleteEarlyReports(pool, taken)
}

type FrozenReport = Omit<CarrierReport, 'at'> & { at: string | null }

const freeze = (report: CarrierReport): { [member: string]: Json } =>
  JSON.parse(JSON.stringify(report)) as { [member: string]: Json }

/** A reference of ours: notification, channel, ordinal. */
function readOwn(reference: string): CarrierReference | null {
  const [, notification, name, ordinal] = /^([0-9a-f-]{36})\.([a-z]+)\.(\d{1,4})$/.exec(reference) ?? []
  const channel = channels.find(known => known === name)
  if (notification === undefined || channel === undefined) return null
  return { notification, channel, ordinal: Number(ordinal), part: 1, parts: 1 }
}

function toChange(reference: CarrierReference, report: CarrierReport, provider: string, clock: Clock): Change {
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
  // Nothing that is told has happened later than now, whatever the carrier's clock says.
  const now = new Date(clock())
  return {
    notification,
    fact: { channel, type, at: at === null || at > now ? now : at, source: `report:${provider}`, data },
    ...(delayMs === undefined ? {} : { delayMs }),
  }
}
