import { execute, type Queryable, queryRows } from '../postgres.js'

/** A witness's line of a checkpoint's note; the first one that it gave counts. */
export const insertCosignature = (
  db: Queryable,
  { size, witness, line, at }: { size: number; witness: string; line: string; at: Date },
): Promise<void> =>
  execute(db, 'insert into checkpoint_cosignature (size, witness, line, at) values ($1, $2, $3, $4) on conflict do nothing', [
    size,
    witness,
    line,
    at,
  ])

/** `witness`: the key that signed the line. */
export const listCosignatures = (db: Queryable, size: number): Promise<{ witness: string; line: string }[]> =>
  queryRows(db, {
    name: 'list-cosignatures',
    text: 'select witness, line from checkpoint_cosignature where size = $1 order by at, witness',
    values: [size],
  })
