import { execute, type Queryable, queryValues } from '../postgres.js'

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

export const listCosignatures = (db: Queryable, size: number): Promise<string[]> =>
  queryValues(db, {
    name: 'list-cosignatures',
    text: 'select line from checkpoint_cosignature where size = $1 order by at, witness',
    values: [size],
  })
