import { type Queryable, queryValue } from '../postgres.js'

/** The least id of the oldest month with a delivery that is not finished; null: none has one. */
export const readOpenSince = (db: Queryable): Promise<string | null> => queryValue<string>(db, 'select open_since()')
