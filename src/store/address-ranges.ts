import { type Queryable, run } from './postgres.js'

export async function addRange(db: Queryable, account: string, range: string): Promise<void> {
  await run(db, 'insert into address_range (account_id, range) values ($1, $2) on conflict do nothing', [account, range])
}

export async function removeRange(db: Queryable, account: string, range: string): Promise<boolean> {
  const { rowCount } = await run(db, 'delete from address_range where account_id = $1 and range = $2', [account, range])
  return rowCount === 1
}

export async function listRanges(db: Queryable, account: string): Promise<string[]> {
  const { rows } = await run<{ range: string }>(
    db,
    'select range::text from address_range where account_id = $1 order by address_range.range',
    [account],
  )
  return rows.map(row => row.range)
}

export async function isRegistered(db: Queryable, address: string): Promise<boolean> {
  const { rows } = await run<{ found: boolean }>(
    db,
    'select exists (select from address_range where range >>= $1::inet) as found',
    [address],
  )
  return rows[0]!.found
}
