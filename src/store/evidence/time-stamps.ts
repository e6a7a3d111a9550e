import { execute, type Queryable, queryRows } from '../postgres.js'

export interface StoredTimeStamp {
  authority: string
  at: Date
  /** DER. */
  token: Buffer
}

export const insertTimeStamp = (
  db: Queryable,
  { size, authority, token, at }: StoredTimeStamp & { size: number },
): Promise<void> =>
  execute(db, 'insert into checkpoint_time_stamp (size, authority, token, at) values ($1, $2, $3, $4) on conflict do nothing', [
    size,
    authority,
    token,
    at,
  ])

export const listTimeStamps = (db: Queryable, size: number): Promise<StoredTimeStamp[]> =>
  queryRows(db, {
    name: 'list-time-stamps',
    text: 'select authority, at, token from checkpoint_time_stamp where size = $1 order by at, authority',
    values: [size],
  })
