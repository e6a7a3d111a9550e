import { type AccountSettings, completeSettings, type StoredSettings } from '../../domain/account.js'
import type { SequenceStep } from '../../domain/send/sequence.js'
import { execute, matchesRow, type Queryable, queryRow, queryRows, queryValue, queryValues } from '../postgres.js'

export interface Account {
  id: string
  name: string
  entity: { id: string; name: string }
  settings: AccountSettings
  createdAt: Date
}

type StoredAccount = Omit<Account, 'settings'> & { settings: StoredSettings }

const SELECT = `
  select a.id, a.name, json_build_object('id', e.id, 'name', e.name) as entity, a.settings, a.created_at as "createdAt"
  from account a join entity e on e.id = a.entity_id`

const complete = (account: StoredAccount): Account => ({ ...account, settings: completeSettings(account.settings) })

export const listAccounts = async (db: Queryable): Promise<Account[]> =>
  (await queryRows<StoredAccount>(db, { name: 'list-accounts', text: `${SELECT} order by a.name` })).map(complete)

export const findAccountById = async (db: Queryable, id: string): Promise<Account | null> => {
  const account = await queryRow<StoredAccount>(db, { name: 'find-account', text: `${SELECT} where a.id = $1`, values: [id] })
  return account && complete(account)
}

export type NamedAccount = Pick<Account, 'id' | 'name'>

/** null: of all accounts. With their settings, a thousand accounts take ten times as long, which each page of the console would cost. */
export const listAccountNames = (db: Queryable, ids: readonly string[] | null): Promise<NamedAccount[]> =>
  queryRows(
    db,
    ids === null
      ? { name: 'list-account-names', text: 'select id, name from account order by name' }
      : {
          name: 'find-account-names',
          text: 'select id, name from account where id = any($1::uuid[]) order by name',
          values: [ids],
        },
  )

export const hasAccounts = (db: Queryable): Promise<boolean> => matchesRow(db, 'select from account limit 1')

/** By name or by id. */
export async function findAccount(db: Queryable, nameOrId: string): Promise<Account | null> {
  const account = await queryRow<StoredAccount>(db, `${SELECT} where a.name = $1 or a.id::text = lower($1)`, [nameOrId])
  return account && complete(account)
}

/** Makes the account, and its entity where that is new. False when the name is taken. */
export const insertAccount = (
  db: Queryable,
  account: { id: string; name: string; entityId: string; entityName: string; settings: StoredSettings },
): Promise<boolean> =>
  matchesRow(
    db,
    `with made as (
       insert into entity (id, name) values ($1, $2) on conflict (name) do update set name = excluded.name returning id
     )
     insert into account (id, entity_id, name, settings) select $3, made.id, $4, $5 from made
     on conflict (name) do nothing`,
    [account.entityId, account.entityName, account.id, account.name, JSON.stringify(account.settings)],
  )

/** Until the transaction ends, what else takes this lock waits; sends do not. */
export const lockAccount = (db: Queryable, id: string): Promise<void> =>
  execute(db, 'select from account where id = $1 for no key update', [id])

export const updateSettings = (db: Queryable, id: string, changes: StoredSettings): Promise<void> =>
  execute(db, 'update account set settings = settings || $2 where id = $1', [id, JSON.stringify(changes)])

export const findSequence = (db: Queryable, id: string): Promise<SequenceStep[] | null> =>
  queryValue(db, 'select sequence from account where id = $1', [id])

/** What a send of the account is planned by. */
export async function findRules(
  db: Queryable,
  id: string,
): Promise<{ name: string; settings: AccountSettings; sequence: SequenceStep[] | null; revision: number } | null> {
  const found = await queryRow<{ name: string; settings: StoredSettings; sequence: SequenceStep[] | null; revision: number }>(
    db,
    { name: 'find-rules', text: 'select name, settings, sequence, revision from account where id = $1', values: [id] },
  )
  return found && { ...found, settings: completeSettings(found.settings) }
}

/** null: no sequence, all channels go at once. */
export const updateSequence = (db: Queryable, id: string, sequence: readonly SequenceStep[] | null): Promise<void> =>
  execute(db, 'update account set sequence = $2 where id = $1', [id, sequence === null ? null : JSON.stringify(sequence)])

export const addRange = (db: Queryable, account: string, range: string): Promise<void> =>
  execute(db, 'insert into address_range (account_id, range) values ($1, $2) on conflict do nothing', [account, range])

export const removeRange = (db: Queryable, account: string, range: string): Promise<boolean> =>
  matchesRow(db, 'delete from address_range where account_id = $1 and range = $2', [account, range])

export const listRanges = (db: Queryable, account: string): Promise<string[]> =>
  queryValues(db, 'select range::text from address_range where account_id = $1 order by address_range.range', [account])

export const isRegistered = (db: Queryable, address: string): Promise<boolean> =>
  matchesRow(db, 'select from address_range where range >>= $1::inet limit 1', [address])

export interface Logo {
  type: string
  bytes: Buffer
}

export const saveLogo = async (db: Queryable, account: string, { type, bytes }: Logo): Promise<string> =>
  (await queryValue<string>(
    db,
    `with kept as (insert into logo (sha256, type, bytes) values (sha256($3), $2, $3) on conflict do nothing)
     update account set logo = sha256($3) where id = $1 returning encode(logo, 'hex') as sha256`,
    [account, type, bytes],
  ))!

/** Messages that have gone out still show it. */
export const removeLogo = (db: Queryable, account: string): Promise<void> =>
  execute(db, 'update account set logo = null where id = $1', [account])

export const findLogo = (db: Queryable, sha256: string): Promise<Logo | null> =>
  queryRow(db, "select type, bytes from logo where sha256 = decode($1, 'hex')", [sha256])

/** The logo that an account has now, with its SHA-256 in hexadecimal. */
export const findAccountLogo = (db: Queryable, account: string): Promise<(Logo & { sha256: string }) | null> =>
  queryRow(db, {
    name: 'find-account-logo',
    text: "select encode(g.sha256, 'hex') as sha256, g.type, g.bytes from account a join logo g on g.sha256 = a.logo where a.id = $1",
    values: [account],
  })
