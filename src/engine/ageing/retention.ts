import { referenceTerms } from '../../channels/registry.js'
import { modes } from '../../domain/access/token.js'
import type { Clock } from '../../domain/clock.js'
import { lowestId } from '../../domain/id.js'
import { type RetentionSettings, referenceDaysOf, termsOf } from '../../domain/retention.js'
import type { Scope } from '../../domain/scope.js'
import { DAY_MS, HOUR_MS } from '../../domain/units.js'
import { listAccounts } from '../../store/accounts/accounts.js'
import {
  type Aged,
  findReferenceSince,
  listAged,
  listPostponed,
  pruneReferences,
  readReferencesProgress,
  readStart,
  saveProgress,
  saveReferencesProgress,
  settlePostponed,
} from '../../store/ageing.js'
import { eraseData } from '../../store/person/erase.js'
import { isLocked, isOutage, type Pool, type Queryable, transaction } from '../../store/postgres.js'

export interface RetentionParts {
  pool: Pool
  clock: Clock
  batch?: number
  /** The batches of one kind of data of one scope in a round. */
  roundBatches?: number
}

const BATCH = 200
/** 10,000 notifications, some seconds: then it is the turn of the next kind, mode and account. */
const ROUND_BATCHES = 50
const REFERENCE_BATCH = 2_000

/** The references of all accounts are read in spans of this time, each of them once. */
const REFERENCE_SPAN_MS = HOUR_MS
const ROUND_SPANS = 50
/** The age of the oldest references: those of some channels are kept for longer than others. */
const OLDEST_REFERENCE_DAYS = Math.max(...referenceTerms.map(({ days }) => days))

/** What one run remembers: the database's time at its start, and what it is done with. */
interface Run {
  since: Date
  ended: Set<string>
}

/**
 * Erases the data that accounts keep no longer, kind by kind, in batches of a transaction each, in rounds until nothing is left: an account
 * with a long backlog makes no other wait. One node at a time: app/worker/upkeep.ts. `keepTurn` is called after each account, because a
 * backlog may take longer than the period of the chore. Data that cannot be erased keep no others: the first error is thrown at the end.
 */
export async function endTerms(
  parts: RetentionParts,
  signal?: AbortSignal,
  keepTurn: () => Promise<void> = async () => {},
): Promise<void> {
  const errors: unknown[] = []
  const run: Run = { since: await readStart(parts.pool), ended: new Set() }
  // Settings are read in each round: a term that is made longer counts at once.
  for (let isMore = true; isMore && !signal?.aborted; ) {
    isMore = false
    for (const { id: account, settings } of await listAccounts(parts.pool)) {
      for (const [name, work] of worksOf(parts, run, { account, settings }, signal)) {
        if (signal?.aborted || run.ended.has(name)) continue
        try {
          if (await work()) isMore = true
          else run.ended.add(name)
        } catch (error) {
          // Without a database nothing else succeeds either.
          if (isOutage(error)) throw error
          errors.push(error)
          run.ended.add(name)
        }
      }
      if (!signal?.aborted) await keepTurn()
    }
  }
  if (errors.length > 0) throw errors[0]
}

/** What there is to do for an account. Each answers whether something is left for the next round. */
function* worksOf(
  parts: RetentionParts,
  run: Run,
  { account, settings }: { account: string; settings: RetentionSettings },
  signal?: AbortSignal,
): Iterable<[name: string, work: () => Promise<boolean>]> {
  for (const mode of modes)
    for (const { kind, days } of termsOf(settings))
      yield [`${account} ${mode} ${kind}`, () => endTerm(parts, run, { account, mode, kind }, days, signal)]
  const days = referenceDaysOf(settings)
  if (days < OLDEST_REFERENCE_DAYS) yield [`${account} references`, () => endReferences(parts, { account }, days, signal)]
}

/** A round begins where the last one ended, one span earlier: rows of that time may have been committed after it. */
async function endReferences(
  { pool, clock }: RetentionParts,
  of: Pick<Scope, 'account'>,
  days: number,
  signal?: AbortSignal,
): Promise<boolean> {
  const end = clock() - days * DAY_MS
  // Those of the other channels are gone by then, for all accounts: store/carrier/references.ts.
  const channels = referenceTerms.filter(term => term.days > days).map(({ channel }) => channel)
  const done = await readReferencesProgress(pool, of)
  let from = done === null ? clock() - (OLDEST_REFERENCE_DAYS + 1) * DAY_MS : done.getTime() - REFERENCE_SPAN_MS
  for (let spans = 0; from < end && spans < ROUND_SPANS; spans++) {
    // Hours without any are passed over: an installation may be a week old, and this account may have no progress yet.
    const first = await findReferenceSince(pool, channels, new Date(from))
    from = Math.min(end, Math.max(from, first?.getTime() ?? end))
    const to = Math.min(end, from + REFERENCE_SPAN_MS)
    const span = { from: new Date(from), to: new Date(to), channels }
    do if (signal?.aborted) return true
    while ((await pruneReferences(pool, of, span, REFERENCE_BATCH)) === REFERENCE_BATCH)
    await saveReferencesProgress(pool, of, span.to)
    from = to
  }
  return from < end
}

async function endTerm(parts: RetentionParts, run: Run, aged: Aged, days: number, signal?: AbortSignal): Promise<boolean> {
  const { clock, batch = BATCH } = parts
  const below = lowestId(clock() - days * DAY_MS)
  try {
    // Those that were held or still being delivered when their term ended, each once in a run.
    const arePostponed = await inBatches(parts, signal, async db => {
      const ids = await listPostponed(db, aged, run.since, batch)
      if (ids.length > 0) await settlePostponed(db, aged, ids, await eraseData(db, ids, [aged.kind]))
      return ids.length
    })
    const areAged = await inBatches(parts, signal, async db => {
      const ids = await listAged(db, aged, below, batch)
      if (ids.length === 0) return 0
      const erased = new Set(await eraseData(db, ids, [aged.kind]))
      const postponed = ids.filter(id => !erased.has(id))
      await saveProgress(db, aged, ids.at(-1)!, postponed)
      return ids.length
    })
    return arePostponed || areAged
  } catch (error) {
    // A worker has one of the deliveries: the next run comes back to them.
    if (!isLocked(error)) throw error
    return false
  }
}

/** The batches of a round; whether something may be left after them. */
async function inBatches(
  { pool, batch = BATCH, roundBatches = ROUND_BATCHES }: RetentionParts,
  signal: AbortSignal | undefined,
  work: (db: Queryable) => Promise<number>,
): Promise<boolean> {
  for (let done = 0; done < roundBatches; done++) {
    if (signal?.aborted) return true
    if ((await transaction(pool, work)) < batch) return false
  }
  return true
}
