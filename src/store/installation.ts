import { execute, type Queryable, run } from './postgres.js'

/** Remembers the master key's fingerprint on the first call; returns the remembered one. */
export async function claimInstallation(db: Queryable, fingerprint: string): Promise<string> {
  await run(db, 'insert into installation (key_fingerprint) values ($1) on conflict do nothing', [fingerprint])
  const { rows } = await run<{ key_fingerprint: string }>(db, 'select key_fingerprint from installation')
  return rows[0]!.key_fingerprint
}

/** The counter of administrative changes, and the database's clock. */
export async function readRevision(db: Queryable): Promise<{ revision: number; nowMs: number }> {
  const { rows } = await run<{ revision: number; now_ms: number }>(db, {
    name: 'read-revision',
    text: 'select revision, (extract(epoch from clock_timestamp()) * 1000)::double precision as now_ms from installation',
  })
  const row = rows[0]!
  return { revision: row.revision, nowMs: row.now_ms }
}

export const recordAudit = (
  db: Queryable,
  entry: { actor: string; action: string; subject: string; detail?: Record<string, unknown> },
): Promise<void> =>
  execute(db, 'insert into audit (actor, action, subject, detail) values ($1, $2, $3, $4)', [
    entry.actor,
    entry.action,
    entry.subject,
    JSON.stringify(entry.detail ?? {}),
  ])
