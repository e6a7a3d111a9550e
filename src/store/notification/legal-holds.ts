import { matchesRow, type Queryable, queryRows, queryValue } from '../postgres.js'

/** A notification that is kept as it is until the hold is released: neither an erasure nor the end of a term touches it. */
export interface LegalHold {
  notification: string
  reason: string
  by: string
  since: Date
}

/**
 * held: by this call, or since earlier. The notification is locked as an erasure locks it: whichever comes second sees the other one. Inside
 * a transaction.
 */
export async function placeLegalHold(
  db: Queryable,
  { notification, reason, by }: Omit<LegalHold, 'since'>,
): Promise<'held' | 'held before' | 'erased' | 'missing'> {
  const erased = await queryValue<boolean>(
    db,
    'select erased_at is not null as erased from notification where id = $1 for no key update',
    [notification],
  )
  if (erased === null) return 'missing'
  if (erased) return 'erased'
  const placed = await matchesRow(
    db,
    'insert into legal_hold (notification_id, reason, held_by) values ($1, $2, $3) on conflict do nothing',
    [notification, reason, by],
  )
  return placed ? 'held' : 'held before'
}

/** false: it is not held. */
export const releaseLegalHold = (db: Queryable, notification: string): Promise<boolean> =>
  matchesRow(db, 'delete from legal_hold where notification_id = $1', [notification])

/** The latest first. */
export const listLegalHolds = (db: Queryable, limit: number): Promise<LegalHold[]> =>
  queryRows(
    db,
    `select notification_id as notification, reason, held_by as by, created_at as since from legal_hold
     order by created_at desc, notification_id limit $1`,
    [limit],
  )
