import type { Channel } from '../../src/domain/channel.js'
import { findFaults } from '../../src/evidence/notification-faults.js'
import { readEventLog } from '../../src/store/notification/event-log.js'
import type { Cluster } from './cluster.js'

/** A: ids answered 200. P: what the carrier got. E: the database. */
export interface Verdict {
  answered: number
  stored: number
  /** Answered, but not in the database. */
  lost: number
  /** At the carrier, but never accepted. */
  strangers: number
  /** Messages that the carrier got more than once, always under one reference. */
  doubles: number
  /** Messages of which the carrier took some copy without an answer: each may come again. */
  unanswered: number
  /** Neither finished nor of unknown outcome. */
  unfinished: number
  uncertain: number
  /** Said to have failed, though every recipient of a drill can be reached. */
  failed: number
  /** See findRecordFaults; and what counts as sent, though the carrier never got it. */
  faults: string[]
}

interface LogEntry {
  channel: Channel
  to: string
  reference: string | null
  /** null: none was given. Told of e-mails alone. */
  answer?: string | null
  envid?: string | null
}

interface Row {
  id: string
  state: string
  recipient: string | null
  sent: boolean
  failed: boolean
}

/** Our reference of what the carrier got: an e-mail's stands in its envelope; an SMS has none, but a number of its own. */
function nameOf(entry: LogEntry, channel: Channel, byRecipient: ReadonlyMap<string | null, Row>): string | null {
  if (channel === 'email') return entry.envid ?? null
  if (channel !== 'sms') return entry.reference
  const row = byRecipient.get(entry.to)
  return row === undefined ? entry.to : `${row.id}.sms.1`
}

const findRows = async (cluster: Cluster, channel: Channel): Promise<Row[]> => {
  const { rows } = await cluster.pool.query<Row>(
    'select notification_id as id, state, recipient, sent_at is not null as sent, failure is not null as failed from delivery where channel = $1',
    [channel],
  )
  return rows
}

/** What the carrier of a channel got, under our references. */
async function readLog(
  cluster: Cluster,
  channel: Channel,
  rows: readonly Row[],
): Promise<{ ours: string; id: string; isAnswered: boolean }[]> {
  const byRecipient = new Map(rows.map(row => [row.recipient, row]))
  const log = (await cluster.simulate('log')) as LogEntry[]
  return log
    .filter(entry => entry.channel === channel)
    .map(entry => {
      const ours = nameOf(entry, channel, byRecipient) ?? ''
      return { ours, id: ours.split('.')[0]!, isAnswered: entry.answer !== null }
    })
}

/** The notifications of which the carrier of this channel got something. */
export async function findTaken(cluster: Cluster, channel: Channel): Promise<Set<string>> {
  const log = await readLog(cluster, channel, await findRows(cluster, channel))
  return new Set(log.map(({ id }) => id))
}

export async function findNotifications(cluster: Cluster): Promise<Set<string>> {
  const { rows } = await cluster.pool.query<{ id: string }>('select id from notification')
  return new Set(rows.map(({ id }) => id))
}

/** Broken chains, statuses that differ from their events, dates that run backwards. */
export async function findRecordFaults(cluster: Cluster): Promise<string[]> {
  const faults: string[] = []
  for await (const page of readEventLog(cluster.pool)) {
    for (const notification of page) {
      const found = findFaults(notification)
      if (found.length > 0)
        found.push(`  ${notification.events.map(event => `${event.seq} ${event.at} ${event.type} ${event.source}`).join(' | ')}`)
      faults.push(...found)
      for (const { channel, sentAt, deliveredAt, readAt } of notification.statuses) {
        const dates = [sentAt, deliveredAt, readAt].filter(date => date !== null).map(date => date.getTime())
        if (dates.some((date, index) => index > 0 && date < dates[index - 1]!))
          faults.push(`${notification.id}: ${channel} dates run backwards`)
      }
    }
  }
  return faults
}

/** `before`: notifications that were there before the drill began. */
export async function judge(
  cluster: Cluster,
  answered: readonly string[],
  channel: Channel,
  before: ReadonlySet<string>,
): Promise<Verdict> {
  const all = await findRows(cluster, channel)
  const rows = all.filter(({ id }) => !before.has(id))
  const counts = new Map<string, number>()
  const unanswered = new Set<string>()
  for (const { ours, id, isAnswered } of await readLog(cluster, channel, all)) {
    if (before.has(id)) continue
    counts.set(ours, (counts.get(ours) ?? 0) + 1)
    if (!isAnswered) unanswered.add(ours)
  }
  const stored = new Map(rows.map(row => [row.id, row]))
  const faults = await findRecordFaults(cluster)
  // What counts as sent must have been at the carrier.
  for (const { id, sent } of rows)
    if (sent && !counts.has(`${id}.${channel}.1`)) faults.push(`${id}: "sent", but the carrier never got it`)
  return {
    answered: answered.length,
    stored: rows.length,
    lost: answered.filter(id => !stored.has(id)).length,
    strangers: [...counts.keys()].filter(envid => !stored.has(envid.split('.')[0]!)).length,
    doubles: [...counts.values()].filter(count => count > 1).length,
    unanswered: unanswered.size,
    unfinished: rows.filter(row => !['done', 'dead', 'uncertain', 'unresolved'].includes(row.state)).length,
    uncertain: rows.filter(row => row.state === 'uncertain' || row.state === 'unresolved').length,
    failed: rows.filter(row => row.failed).length,
    faults,
  }
}

export const isClean = (verdict: Verdict, mostDoubles: number): boolean =>
  verdict.lost === 0 &&
  verdict.strangers === 0 &&
  verdict.unfinished === 0 &&
  verdict.failed === 0 &&
  verdict.faults.length === 0 &&
  verdict.doubles <= mostDoubles
