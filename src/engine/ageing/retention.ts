import { modes } from '../../domain/access/token.js'
import type { Clock } from '../../domain/clock.js'
import { lowestId } from '../../domain/id.js'
import { REFERENCE_DAYS, termsOf } from '../../domain/retention.js'
import { DAY_MS } from '../../domain/units.js'
import { listAccounts } from '../../store/accounts/accounts.js'
import { type Aged, listAged, listPostponed, pruneReferences, saveProgress, settlePostponed } from '../../store/ageing.js'
import { eraseData } from '../../store/person/erase.js'
import { isLocked, type Pool, transaction } from '../../store/postgres.js'

export interface RetentionParts {
  pool: Pool
  clock: Clock
  batch?: number
}

const BATCH = 200
/** The batches of one kind of data of one scope in a run: 100,000 notifications. The next run does what is left. */
const MAX_BATCHES = 500
const REFERENCE_BATCH = 2_000

/** Erases the data that accounts keep no longer, kind by kind, in batches of a transaction each. One node at a time: app/worker/upkeep.ts. */
export async function endTerms(parts: RetentionParts, signal?: AbortSignal): Promise<void> {
  for (const { id: account, settings } of await listAccounts(parts.pool)) {
    for (const mode of modes)
      for (const { kind, days } of termsOf(settings)) {
        if (signal?.aborted) return
        await endTerm(parts, { account, mode, kind }, days, signal)
      }
    const days = settings['retention.references']
    while (days < REFERENCE_DAYS && (await pruneReferences(parts.pool, { account }, days, REFERENCE_BATCH)) === REFERENCE_BATCH)
      if (signal?.aborted) return
  }
}

async function endTerm(parts: RetentionParts, aged: Aged, days: number, signal?: AbortSignal): Promise<void> {
  const { pool, clock, batch = BATCH } = parts
  const below = lowestId(clock() - days * DAY_MS)
  try {
    await retryPostponed(pool, aged, batch)
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

/** What was held or still being delivered when its term ended. */
const retryPostponed = (pool: Pool, aged: Aged, limit: number): Promise<void> =>
  transaction(pool, async db => {
    const ids = await listPostponed(db, aged, limit)
    if (ids.length > 0) await settlePostponed(db, aged, ids, await eraseData(db, ids, [aged.kind]))
  })
