import { deleteInBatches, type Queryable, run } from './postgres.js'

export interface KeyUse {
  bodySha256: string
  notification: string
}

/** The send that a key belongs to, while it is remembered (24 hours). */
export async function findKeyUse(db: Queryable, account: string, key: string): Promise<KeyUse | null> {
  const { rows } = await run<{ body_sha256: Buffer; notification_id: string }>(
    db,
    `select body_sha256, notification_id from idempotency
     where account_id = $1 and key = $2 and created_at >= now() - interval '24 hours'`,
    [account, key],
  )
  const row = rows[0]
  return row === undefined ? null : { bodySha256: row.body_sha256.toString('hex'), notification: row.notification_id }
}

export async function deleteExpiredKeys(db: Queryable): Promise<void> {
  await deleteInBatches(db, 'idempotency', "created_at < now() - interval '24 hours'")
}
