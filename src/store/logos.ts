import { type Queryable, run } from './postgres.js'

export interface Logo {
  type: string
  bytes: Buffer
}

export async function saveLogo(db: Queryable, account: string, { type, bytes }: Logo): Promise<string> {
  const { rows } = await run<{ sha256: string }>(
    db,
    `insert into logo (account_id, sha256, type, bytes) values ($1, sha256($3), $2, $3)
     on conflict (account_id) do update set sha256 = excluded.sha256, type = excluded.type, bytes = excluded.bytes
     returning encode(sha256, 'hex') as sha256`,
    [account, type, bytes],
  )
  return rows[0]!.sha256
}

export async function deleteLogo(db: Queryable, account: string): Promise<void> {
  await run(db, 'delete from logo where account_id = $1', [account])
}

export async function findLogo(db: Queryable, sha256: string): Promise<Logo | null> {
  const { rows } = await run<Logo>(db, "select type, bytes from logo where sha256 = decode($1, 'hex') limit 1", [sha256])
  return rows[0] ?? null
}
