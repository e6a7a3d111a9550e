import type { Scope } from '../../domain/scope.js'
import { type Queryable, queryRow } from '../postgres.js'

/** The account and the mode of a batch, for whoever may see that account. */
export const findBatchScope = (db: Queryable, id: string): Promise<Scope | null> =>
  queryRow(db, 'select account_id as account, mode from bulk_batch where id = $1', [id])
