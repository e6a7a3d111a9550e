import { type Queryable, run } from './postgres.js'

export async function recordAudit(
  db: Queryable,
  entry: { actor: string; action: string; subject: string; detail?: Record<string, unknown> },
): Promise<void> {
  await run(db, 'insert into audit (actor, action, subject, detail) values ($1, $2, $3, $4)', [
    entry.actor,
    entry.action,
    entry.subject,
    JSON.stringify(entry.detail ?? {}),
  ])
}
