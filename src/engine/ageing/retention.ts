import { referenceTerms } from '../../channels/registry.js'
import { modes } from '../../domain/access/token.js'
import type { Clock } from '../../domain/clock.js'
import { lowestId } from '../../domain/id.js'
import { REFERENCE_DAYS, termsOf } from '../../domain/retention.js'
import type { Scope } from '../../domain/scope.js'
import { DAY_MS, HOUR_MS } from '../../domain/units.js'
import { listAccounts } from '../../store/accounts/accounts.js'
import {
  type Aged,
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
import { isLocked, isOutage, type Pool, transaction } from '../../store/postgres.js'

export interface RetentionParts {
  pool: Pool
  clock: Clock
  batch?: number
}

const BATCH = 200
/** The batches of one kind of data of one scope in a run: 100,000 notifications. The next run does what is left. */
const MAX_BATCHES = 500
const REFERENCE_BATCH = 2_000

/** The references of all accounts are read in spans of this time, each of them once. */
const REFERENCE_SPAN_MS = HOUR_MS
/** The age of the oldest references: those of some channels are kept for longer than others. */
const OLDEST_REFERENCE_DAYS = Math.max(...referenceTerms.map(({ days }) => days))

/**
 * Erases the data that accounts keep no longer, kind by kind, in batches of a transaction each. One node at a time: app/worker/upkeep.ts. Data
 * that cannot be erased keep no others: the first error is thrown at the end.
 */
export async function endTerms(parts: RetentionParts, signal?: AbortSignal): Promise<void> {
  const errors: unknown[] = []
  const attempt = async (work: () => Promise<void>): Promise<void> => {
    try {
      if (!signal?.aborted) await work()
    } catch (error) {
      // Without a database nothing else succeeds either.
      if (isOutage(error)) throw error
      errors.push(error)
    }
  }
  for (const { id: account, settings } of await listAccounts(parts.pool)) {
    for (const mode of modes)
      for (const { kind, days } of termsOf(settings)) await attempt(() => endTerm(parts, { account, mode, kind }, days, signal))
    const days = settings['retention.references']
    if (days < REFERENCE_DAYS) await attempt(() => endReferences(parts, { account }, days, signal))
  }
  if (errors.length > 0) throw errors[0]
}

/** A run begins where the last one ended, one span earlier: rows of that time may have been committed after it. */
async function endReferences(
  { pool, clock }: RetentionParts,
  of: Pick<Scope, 'account'>,
  days: number,
  signal?: AbortSignal,
): Promise<void> {
  const end = clock() - days * DAY_MS
  const done = await readReferencesProgress(pool, of)
  let from = done === null ? clock() - (OLDEST_REFERENCE_DAYS + 1) * DAY_MS : done.getTime() - REFERENCE_SPAN_MS
  for (let to = from; from < end && !signal?.aborted; from = to) {
    to = Math.min(end, from + REFERENCE_SPAN_MS)
    const span = { from: new Date(from), to: new Date(to) }
    while ((await pruneReferences(pool, of, span, REFERENCE_BATCH)) === REFERENCE_BATCH) if (signal?.aborted) return
    await saveReferencesProgress(pool, of, span.to)
  }
}

async function endTerm(parts: RetentionParts, aged: Aged, days: number, signal?: AbortSignal): Promise<void> {
  const { pool, clock, batch = BATCH } = parts
  const below = lowestId(clock() - days * DAY_MS)
  try {
    await retryPostponed(parts, aged, signal)
    for (let round = 0; round < MAX_BATCHES && !signal?.aborted; round++) {
      const found = await transaction(pool, async db => {
        const ids = await listAged(db, aged, below, batch)
        if (ids.length === 0) return 0
        const erased = new Set(await eraseData(db, ids, [aged.kind]))
        const postponed = ids.filter(id => !erased.has(id))
        await saveProgress(db, aged, ids.at(-1)!, postponed)
        return ids.length
      })
      if (found < batch) return
    }
  } catch (error) {
    // A worker has one of the deliveries: the next run comes back to them.
    if (!isLocked(error)) throw error
  }
}

/** Tries again to erase the data of notifications that were held or still being delivered when their term ended, each once in a run. */
async function retryPostponed({ pool, batch = BATCH }: RetentionParts, aged: Aged, signal?: AbortSignal): Promise<void> {
  const since = await readStart(pool)
  for (let round = 0; round < MAX_BATCHES && !signal?.aborted; round++) {
    const found = await transaction(pool, async db => {
      const ids = await listPostponed(db, aged, since, batch)
      if (ids.length > 0) await settlePostponed(db, aged, ids, await eraseData(db, ids, [aged.kind]))
      return ids.length
    })
    if (found < batch) return
  }
}
