import { type AccountSettings, completeSettings, type StoredSettings } from '../domain/account.js'
import type { SequenceStep } from '../domain/sequence.js'
import { type Queryable, run } from './postgres.js'

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
export async function insertAccount(
  db: Queryable,
  account: { id: string; name: string; entityId: string; entityName: string; settings: StoredSettings },
): Promise<boolean> {
  const { rowCount } = await run(
    db,
    `with made as (
       insert into entity (id, name) values ($1, $2) on conflict (name) do update set name = excluded.name returning id
     )
     insert into account (id, entity_id, name, settings) select $3, made.id, $4, $5 from made
     on conflict (name) do nothing`,
    [account.entityId, account.entityName, account.id, account.name, JSON.stringify(account.settings)],
  )
  return rowCount === 1
}

export async function updateSettings(db: Queryable, id: string, changes: StoredSettings): Promise<void> {
  await run(db, 'update account set settings = settings || $2 where id = $1', [id, JSON.stringify(changes)])
}

export async function findSequence(db: Queryable, id: string): Promise<SequenceStep[] | null> {
  const { rows } = await run<{ sequence: SequenceStep[] | null }>(db, 'select sequence from account where id = $1', [id])
  return rows[0]?.sequence ?? null
}

/** null: no sequence, all channels go at once. */
export async function updateSequence(db: Queryable, id: string, sequence: readonly SequenceStep[] | null): Promise<void> {
  await run(db, 'update account set sequence = $2 where id = $1', [id, sequence === null ? null : JSON.stringify(sequence)])
}
