import { execute, type Queryable, queryRow } from '../postgres.js'

export interface LogKeyRow {
  origin: string
  /** PKCS#8 in PEM, sealed. */
  privateKey: Buffer
  vkey: string
}

/** The first node that starts decides; the others read what it wrote. */
export const insertLogKey = (db: Queryable, { origin, privateKey, vkey }: LogKeyRow): Promise<void> =>
  execute(db, 'insert into log_key (id, origin, private_key, vkey) values (1, $1, $2, $3) on conflict do nothing', [
    origin,
    privateKey,
    vkey,
  ])

export const findLogKey = (db: Queryable): Promise<LogKeyRow | null> =>
  queryRow(db, 'select origin, private_key as "privateKey", vkey from log_key')
