import { type AccountSettings, completeSettings, type StoredSettings } from '../../domain/account.js'
import type { SequenceStep } from '../../domain/sequence.js'
import { changesRow, execute, type Queryable, queryRow, run } from '../postgres.js'

export interface Account {
  id: string
  name: string
  entity: { id: string; name: string }
  settings: AccountSettings
  createdAt: Date
}

interface AccountRow {
  id: string
  name: string
  entity_id: string
  entity_name: string
  settings: StoredSettings
  created_at: Date
}

const SELECT = `
  select a.id, a.name, a.entity_id, e.name as entity_name, a.settings, a.created_at
  from account a join entity e on e.id = a.entity_id`

const toAccount = (row: AccountRow): Account => ({
  id: row.id,
  name: row.name,
  entity: { id: row.entity_id, name: row.entity_name },
  settings: completeSettings(row.settings),
  createdAt: row.created_at,
})

export async function listAccounts(db: Queryable): Promise<Account[]> {
  const { rows } = await run<AccountRow>(db, `${SELECT} order by a.name`)
  return rows.map(toAccount)
}

export async function hasAccounts(db: Queryable): Promise<boolean> {
  const { rows } = await run<{ found: boolean }>(db, 'select exists (select from account) as found')
  return rows[0]!.found
}

/** By name or by id. */
export async function findAccount(db: Queryable, nameOrId: string): Promise<Account | null> {
  const { rows } = await run<AccountRow>(db, `${SELECT} where a.name = $1 or a.id::text = lower($1)`, [nameOrId])
  return rows[0] === undefined ? null : toAccount(rows[0])
}

/** Makes the account, and its entity where that is new. False when the name is taken. */
export const insertAccount = (
  db: Queryable,
  account: { id: string; name: string; entityId: string; entityName: string; settings: StoredSettings },
): Promise<boolean> =>
  changesRow(
    db,
    `with made as (
       insert into entity (id, name) values ($1, $2) on conflict (name) do update set name = excluded.name returning id
     )
     insert into account (id, entity_id, name, settings) select $3, made.id, $4, $5 from made
     on conflict (name) do nothing`,
    [account.entityId, account.entityName, account.id, account.name, JSON.stringify(account.settings)],
  )

export const updateSettings = (db: Queryable, id: string, changes: StoredSettings): Promise<void> =>
  execute(db, 'update account set settings = settings || $2 where id = $1', [id, JSON.stringify(changes)])

export async function findSequence(db: Queryable, id: string): Promise<SequenceStep[] | null> {
  const { rows } = await run<{ sequence: SequenceStep[] | null }>(db, 'select sequence from account where id = $1', [id])
  return rows[0]?.sequence ?? null
}

/** null: no sequence, all channels go at once. */
export const updateSequence = (db: Queryable, id: string, sequence: readonly SequenceStep[] | null): Promise<void> =>
  execute(db, 'update account set sequence = $2 where id = $1', [id, sequence === null ? null : JSON.stringify(sequence)])

export const addRange = (db: Queryable, account: string, range: string): Promise<void> =>
  execute(db, 'insert into address_range (account_id, range) values ($1, $2) on conflict do nothing', [account, range])

export const removeRange = (db: Queryable, account: string, range: string): Promise<boolean> =>
  changesRow(db, 'delete from address_range where account_id = $1 and range = $2', [account, range])

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

export const deleteLogo = (db: Queryable, account: string): Promise<void> =>
  execute(db, 'delete from logo where account_id = $1', [account])

export const findLogo = (db: Queryable, sha256: string): Promise<Logo | null> =>
  queryRow(db, "select type, bytes from logo where sha256 = decode($1, 'hex') limit 1", [sha256])
