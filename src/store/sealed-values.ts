import { execute, type Queryable, queryRow, queryRows } from './postgres.js'

/** A column of values that are sealed under the master key (domain/access/sealed.ts). */
export interface SealedValues {
  table: string
  column: string
  /** The expression of SQL that names a row. */
  id: string
  /** What is bound into the value, by the name of its row. */
  contextOf(id: string): string
}

/** null: it is sealed with the new key already. */
export type Reseal = (sealed: Buffer, context: string) => Buffer | null

/** Seals all values of a column again, in the transaction of the caller. Returns how many. */
export async function resealValues(
  db: Queryable,
  { table, column, id, contextOf }: SealedValues,
  reseal: Reseal,
): Promise<number> {
  const rows = await queryRows<{ id: string; sealed: Buffer }>(
    db,
    `select ${id} as id, ${column} as sealed from ${table} where ${column} is not null order by 1 for update`,
  )
  let changed = 0
  for (const row of rows) {
    const sealed = reseal(row.sealed, contextOf(row.id))
    if (sealed === null) continue
    await execute(db, `update ${table} set ${column} = $2 where ${id} = $1`, [row.id, sealed])
    changed++
  }
  return changed
}

export interface InstallationKey {
  fingerprint: string
  /** Sealed; null: the master key itself. */
  root: Buffer | null
}

export const readInstallationKey = (db: Queryable): Promise<InstallationKey | null> =>
  queryRow(db, 'select key_fingerprint as fingerprint, root_key as root from installation')

/** No other rotation, and no first start, gets in between. */
export const lockInstallationKey = (db: Queryable): Promise<InstallationKey | null> =>
  queryRow(db, 'select key_fingerprint as fingerprint, root_key as root from installation for update')

export const writeInstallationKey = (db: Queryable, { fingerprint, root }: InstallationKey): Promise<void> =>
  execute(db, 'update installation set key_fingerprint = $1, root_key = $2, revision = revision + 1', [fingerprint, root])
