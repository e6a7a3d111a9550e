import { setTimeout as sleep } from 'node:timers/promises'
import { StoreUnavailable } from '../../domain/errors.js'
import type { Acceptance } from '../../domain/notification.js'

export interface GroupStore {
  /** Returns the ids that were written; of the others, the key or the line was taken, or the account was edited meanwhile. */
  insertAcceptances(group: readonly Acceptance[]): Promise<Set<string>>
  findWritten(ids: readonly string[]): Promise<Set<string>>
  isRowFault(error: unknown): boolean
  isUniqueViolation(error: unknown): boolean
}

/**
 * Writes a group. When the database's answer is lost, a query for the group's ids tells whether it was committed; otherwise the group
 * is written again under the same ids. A query that finds nothing proves nothing, because a commit that waits for a standby is not
 * visible yet: once an answer was lost, only rows that are found or written settle the outcome.
 */
export async function writeGroup(store: GroupStore, group: readonly Acceptance[], retryForMs: number): Promise<boolean[]> {
  const ids = group.map(item => item.id)
  const giveUpAt = performance.now() + retryForMs
  let lost: StoreUnavailable | null = null
  for (let retry = false; ; retry = true) {
    try {
      let written = retry ? await store.findWritten(ids) : new Set<string>()
      // The group is one statement: if one row exists, the whole group was committed.
      if (written.size === 0) {
        written = await store.insertAcceptances(lost === null ? group : group.map(asPlanned))
        // What this write left out may be there already: it waited for the lost one to end, and found its keys and lines taken.
        if (retry && written.size < ids.length) written = new Set([...written, ...(await store.findWritten(ids))])
      }
      return ids.map(id => written.has(id))
    } catch (error) {
      // A collision with our own ids means that the first try committed while the second one was on its way.
      const collided = retry && store.isUniqueViolation(error)
      // A lock after a lost answer may be the lost write's own.
      const isUnreachable = error instanceof StoreUnavailable && (lost !== null || !store.isRowFault(error))
      if (!collided && !isUnreachable) throw error
      if (collided) lost = new StoreUnavailable(error, { maybeCommitted: true })
      else if (error instanceof StoreUnavailable && error.maybeCommitted) lost = error
      if (performance.now() <= giveUpAt) await sleep(100)
      else if (lost === null) throw error
      else return await findLost(store, ids, lost)
    }
  }
}

/**
 * A copy that is written even if the account was edited since. Without it the statement could leave the row out; the lost write could
 * commit it later, and the send would exist twice.
 */
const asPlanned = (item: Acceptance): Acceptance => ({ ...item, rulesRevision: null })

/** The last query for a group of which the answer was lost. */
async function findLost(store: GroupStore, ids: readonly string[], lost: StoreUnavailable): Promise<boolean[]> {
  const written = await store.findWritten(ids).catch(() => new Set<string>())
  if (written.size === 0) throw lost
  return ids.map(id => written.has(id))
}
