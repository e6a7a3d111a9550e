import type { JsonObject } from '../../domain/notification.js'
import type { Scope } from '../../domain/scope.js'
import { execute, matchesRow, type Queryable, queryRow, queryRows } from '../postgres.js'

export interface SavedMapping {
  name: string
  /** As it was written: a column's member, or several. null: by the columns' names. */
  mapping: JsonObject | null
  base: JsonObject
  updatedAt: Date
}

const COLUMNS = 'name, mapping, base, updated_at as "updatedAt"'

export const listMappings = (db: Queryable, { account, mode }: Scope): Promise<SavedMapping[]> =>
  queryRows(db, `select ${COLUMNS} from bulk_mapping where account_id = $1 and mode = $2 order by name`, [account, mode])

export const findMapping = (db: Queryable, { account, mode }: Scope, name: string): Promise<SavedMapping | null> =>
  queryRow(db, `select ${COLUMNS} from bulk_mapping where account_id = $1 and mode = $2 and name = $3`, [account, mode, name])

export const saveMapping = (
  db: Queryable,
  { account, mode }: Scope,
  { name, mapping, base }: Omit<SavedMapping, 'updatedAt'>,
): Promise<void> =>
  execute(
    db,
    `insert into bulk_mapping (account_id, mode, name, mapping, base) values ($1, $2, $3, $4, $5)
     on conflict (account_id, mode, name) do update set mapping = excluded.mapping, base = excluded.base, updated_at = now()`,
    [account, mode, name, mapping === null ? null : JSON.stringify(mapping), JSON.stringify(base)],
  )

export const removeMapping = (db: Queryable, { account, mode }: Scope, name: string): Promise<boolean> =>
  matchesRow(db, 'delete from bulk_mapping where account_id = $1 and mode = $2 and name = $3', [account, mode, name])
