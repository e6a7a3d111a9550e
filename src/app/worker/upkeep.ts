import { blobUses, channels, referenceTerms } from '../../channels/registry.js'
import type { Clock } from '../../domain/clock.js'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../domain/units.js'
import { endTerms } from '../../engine/ageing/retention.js'
import { findOverdue } from '../../engine/upkeep/alarm.js'
import { type Chore, runChores } from '../../runtime/chores.js'
import { sumUsage } from '../../store/accounts/costs.js'
import { deleteStaleWindows } from '../../store/accounts/rate-windows.js'
import { deleteStaleReports } from '../../store/carrier/early-reports.js'
import { deleteStaleReferences } from '../../store/carrier/references.js'
import { keepChoreTurn, takeChoreTurn } from '../../store/chore-turns.js'
import { sumTallies } from '../../store/console/counts.js'
import { deleteExpiredInvitations } from '../../store/console/invitations.js'
import { deleteExpiredSessions } from '../../store/console/sessions.js'
import { deleteOldContacts } from '../../store/delivery/contacts.js'
import { readQueueDepth } from '../../store/delivery/queue-depth.js'
import { deleteUnusedBlobs } from '../../store/files/blobs.js'
import { deleteLeftovers } from '../../store/files/leftovers.js'
import { ensureMonths } from '../../store/migrate.js'
import { deleteExpiredKeys } from '../../store/notification/notifications.js'
import { countUnaccounted } from '../../store/notification/unaccounted.js'
import type { Pool } from '../../store/postgres.js'
import { deleteStaleGuesses } from '../../store/recipient/guesses.js'
import { deleteLostLinks } from '../../store/recipient/links.js'
import { deleteLostCounts } from '../../store/recipient/visit-counts.js'
import { reportTo } from '../database/database.js'
import type { Log } from '../log.js'
import { deleteSilentReports } from './worker-reports.js'

/** A chore that one node does for all is done by whichever takes its turn first. */
export const inTurns = (pool: Pool, chores: readonly Chore[]): Chore[] =>
  chores.map(chore => {
    const { name, everyMs, oneNode = false, run } = chore
    if (!oneNode) return chore
    const keepTurn = () => keepChoreTurn(pool, name, everyMs)
    return {
      name,
      everyMs,
      run: async signal => ((await takeChoreTurn(pool, name, everyMs)) ? run(signal, keepTurn) : undefined),
    }
  })

const forAll = (chores: readonly Chore[]): Chore[] => chores.map(chore => ({ ...chore, oneNode: true }))

/** Does the periodic work of every installation, and `more`, until it is stopped. */
export function startUpkeep(pool: Pool, clock: Clock, log: Log, more: readonly Chore[]): { stop(): Promise<void> } {
  const chores: Chore[] = [
    { name: 'partitions', everyMs: 6 * HOUR_MS, run: () => ensureMonths(pool) },
    ...forAll([
      { name: 'idempotency keys', everyMs: HOUR_MS, run: () => deleteExpiredKeys(pool) },
      { name: 'contacts of past days', everyMs: HOUR_MS, run: () => deleteOldContacts(pool) },
      { name: 'rate windows', everyMs: HOUR_MS, run: () => deleteStaleWindows(pool) },
      { name: 'carriers’ references', everyMs: HOUR_MS, run: () => deleteStaleReferences(pool, referenceTerms) },
      { name: 'unmatched reports', everyMs: HOUR_MS, run: () => deleteStaleReports(pool) },
      { name: 'guesses at links', everyMs: HOUR_MS, run: () => deleteStaleGuesses(pool) },
      {
        name: 'terms of personal data',
        everyMs: HOUR_MS,
        run: (signal, keepTurn) => endTerms({ pool, clock }, signal, keepTurn),
      },
      { name: 'unused attachments', everyMs: 6 * HOUR_MS, run: signal => deleteUnusedBlobs(pool, blobUses, signal) },
      { name: 'files without a row', everyMs: 12 * HOUR_MS, run: signal => deleteLeftovers(pool, signal) },
      { name: 'links of months that are gone', everyMs: 6 * HOUR_MS, run: () => deleteLostLinks(pool) },
      { name: 'visits of months that are gone', everyMs: 6 * HOUR_MS, run: () => deleteLostCounts(pool) },
      { name: 'silent workers', everyMs: HOUR_MS, run: () => deleteSilentReports(pool) },
      { name: 'console sessions', everyMs: HOUR_MS, run: () => deleteExpiredSessions(pool) },
      { name: 'invitations', everyMs: HOUR_MS, run: () => deleteExpiredInvitations(pool) },
    ]),
    { name: 'counts of deliveries', everyMs: 5 * SECOND_MS, run: () => sumTallies(pool) },
    { name: 'usage', everyMs: 5 * SECOND_MS, run: () => sumUsage(pool) },
    { name: 'overdue deliveries', everyMs: MINUTE_MS, oneNode: true, run: () => alarmOverdue(pool, log) },
    { name: 'unaccounted notifications', everyMs: HOUR_MS, oneNode: true, run: () => alarmUnaccounted(pool, log) },
    ...more,
  ]
  const stop = new AbortController()
  const running = runChores(inTurns(pool, chores), stop.signal, (chore, err) =>
    reportTo(log, 'a chore failed and will be tried again', { chore })(err),
  )
  return {
    async stop() {
      stop.abort()
      await running
    },
  }
}

/** Accepted deliveries must be finished or in progress: overdue or missing deliveries are errors in the log. */
async function alarmOverdue(pool: Pool, log: Log): Promise<void> {
  for (const depth of findOverdue(await readQueueDepth(pool, channels))) log.error(depth, 'deliveries are overdue')
}

async function alarmUnaccounted(pool: Pool, log: Log): Promise<void> {
  const count = await countUnaccounted(pool)
  if (count > 0) log.error({ count }, 'notifications with missing or inconsistent deliveries')
}
