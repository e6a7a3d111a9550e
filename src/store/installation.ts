import type { Clock } from '../domain/clock.js'
import { type Queryable, queryRow, queryValue, run } from './postgres.js'

/** Remembers the master key's fingerprint on the first call; returns the remembered one. */
export async function claimInstallation(db: Queryable, fingerprint: string): Promise<string> {
  await run(db, 'insert into installation (key_fingerprint) values ($1) on conflict do nothing', [fingerprint])
  return (await readFingerprint(db))!
}

/** null: nobody has claimed the installation. */
export const readFingerprint = (db: Queryable): Promise<string | null> =>
  queryValue<string>(db, 'select key_fingerprint from installation')

/** The counter of administrative changes, and the database's clock. */
export const readRevision = async (db: Queryable): Promise<{ revision: number; nowMs: number }> =>
  (await queryRow<{ revision: number; nowMs: number }>(db, {
    name: 'read-revision',
    text: 'select revision, (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs" from installation',
  }))!

/**
 * The database's clock, for a command that may run on a machine of its own: a decision dated by a wrong clock would hold all later
 * dates of its notification at that date.
 */
export async function databaseClock(db: Queryable): Promise<Clock> {
  const aheadMs = (await readRevision(db)).nowMs - Date.now()
  return () => Date.now() + aheadMs
}
