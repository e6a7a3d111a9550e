import { type Pool, type Queryable, transaction } from '../store/postgres.js'
import { type HealthChange, type HealthReport, type HealthRules, recordHealth } from '../store/webhook/endpoints.js'
import { makeMessagesDue, settleMessages } from '../store/webhook/queue.js'
import type { AttemptOutcome } from './outcome.js'

export interface Written {
  /** Messages whose lease the worker still held. */
  settled: Set<string>
  /** Endpoints that these outcomes disabled. */
  suspended: HealthChange[]
}

/** Writes the outcomes of many attempts and the health of their endpoints atomically. */
export const writeOutcomes = (pool: Pool, outcomes: readonly AttemptOutcome[], rules: HealthRules): Promise<Written> =>
  // Most outcomes do not change an endpoint's health; then one statement is enough.
  outcomes.some(({ changesHealth }) => changesHealth)
    ? transaction(pool, db => write(db, outcomes, rules))
    : write(pool, outcomes, rules)

async function write(db: Queryable, outcomes: readonly AttemptOutcome[], rules: HealthRules): Promise<Written> {
  const settled = await settleMessages(
    db,
    outcomes.map(({ settlement }) => settlement),
  )
  // A worker that lost its lease must not change the endpoint's health either.
  const reports = summarise(outcomes.filter(({ settlement }) => settled.has(settlement.message)))
  if (reports.length === 0) return { settled, suspended: [] }
  const changes = await recordHealth(db, reports, rules)
  const recovered = changes.filter(change => change.recovered).map(change => change.endpoint)
  if (recovered.length > 0) await makeMessagesDue(db, recovered)
  return { settled, suspended: changes.filter(change => change.suspended !== null) }
}

/** One report per endpoint whose health changes. A single success among failures means that the endpoint works. */
function summarise(outcomes: readonly AttemptOutcome[]): HealthReport[] {
  const reports = new Map<string, HealthReport & { changes: boolean }>()
  for (const { endpoint, succeeded, gone, pauseMs, changesHealth } of outcomes) {
    const report = reports.get(endpoint) ?? { endpoint, succeeded: false, failed: 0, pauseMs: 0, gone: false, changes: false }
    report.succeeded ||= succeeded
    report.failed += succeeded || !changesHealth ? 0 : 1
    report.pauseMs = Math.max(report.pauseMs, pauseMs)
    report.gone ||= gone
    report.changes ||= changesHealth
    reports.set(endpoint, report)
  }
  return [...reports.values()].filter(({ changes }) => changes).map(({ changes: _, ...report }) => report)
}
