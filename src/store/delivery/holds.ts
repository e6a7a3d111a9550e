import type { Channel } from '../../domain/channel.js'
import { execute, matchesRow, type Queryable, queryRow, queryRows } from '../postgres.js'

/** What is held back: all that the members name, and everything where they are all null. */
export interface HoldScope {
  channel: Channel | null
  /** An identity, or a provider for all of its carriers. */
  carrier: string | null
  account: string | null
}

export interface Hold extends HoldScope {
  accountName: string | null
  reason: string
  by: string
  since: Date
}

/** The narrowest thing that a hold names. */
export const scopeOfHold = ({ channel, carrier, account }: HoldScope): 'installation' | 'channel' | 'carrier' | 'account' => {
  if (account !== null) return 'account'
  if (carrier !== null) return 'carrier'
  return channel !== null ? 'channel' : 'installation'
}

/** The parameters of a hold's channel and carrier, in terms of those of a lane. */
const concerns = (channel: string, carrier: string): string =>
  `(h.channel is null or h.channel = ${channel}) and (h.carrier is null or h.carrier = ${carrier} or h.carrier = split_part(${carrier}, ':', 1))`

/**
 * The expression of SQL that has a row while nobody has made sure that the database is no older copy (ADR 43), or while what the copy had
 * under way is still being held. The latter counts by itself: a node that found nothing wrong may confirm the server meanwhile.
 * Meanwhile nothing of what was under way is taken up: a delivery that was put off would seem not to have been tried yet, and would not be held.
 */
export const UNSURE = `select null from home_server s where s.started_at is distinct from pg_postmaster_start_time()
      or s.database <> (select oid from pg_database where datname = current_database())
      or exists (select from restoration where held_at is null)`

/**
 * The expression of a claim that has a row for every hold on its channel and carrier, and one for all accounts while the database may be
 * an older copy. Part of the claim, so that a hold counts for the next claim of every node; with nothing held it reads an empty table, one
 * row and an empty index.
 */
export const heldBy = (channel: string, carrier: string): string => `
  held as materialized (
    select h.account_id from hold h where ${concerns(channel, carrier)}
    union all
    ${UNSURE}
  )`

/** `sender`: the expression of SQL that names the account. */
export const isHeld = (sender: string): string =>
  `exists (select from held where held.account_id is null or held.account_id = ${sender})`

/** null: this was held already. */
export const placeHold = (
  db: Queryable,
  { channel, carrier, account, reason, by }: HoldScope & Pick<Hold, 'reason' | 'by'>,
): Promise<{ since: Date } | null> =>
  queryRow(
    db,
    `insert into hold (channel, carrier, account_id, reason, held_by) values ($1, $2, $3, $4, $5) on conflict do nothing
     returning created_at as since`,
    [channel, carrier, account, reason, by],
  )

/** Holds deliveries back until a person has checked them. An existing hold gets this reason added. */
export const addHold = (
  db: Queryable,
  { channel, carrier, account, reason, by }: HoldScope & Pick<Hold, 'reason' | 'by'>,
): Promise<void> =>
  execute(
    db,
    `insert into hold (channel, carrier, account_id, reason, held_by) values ($1, $2, $3, $4, $5)
     on conflict (channel, carrier, account_id) do update set reason = hold.reason || ' ' || excluded.reason`,
    [channel, carrier, account, reason, by],
  )

/** false: there was none. */
export const liftHold = (db: Queryable, { channel, carrier, account }: HoldScope): Promise<boolean> =>
  matchesRow(
    db,
    `delete from hold where channel is not distinct from $1 and carrier is not distinct from $2 and account_id is not distinct from $3`,
    [channel, carrier, account],
  )

/** The oldest first. */
export const listHolds = (db: Queryable): Promise<Hold[]> =>
  queryRows(
    db,
    `select h.channel, h.carrier, h.account_id as account, a.name as "accountName", h.reason, h.held_by as by, h.created_at as since
     from hold h left join account a on a.id = h.account_id order by h.id`,
  )

/** The holds on whole carriers and channels. Lanes that match one take no work, so that another carrier of the channel does. */
export const readLaneHolds = (db: Queryable): Promise<Pick<HoldScope, 'channel' | 'carrier'>[]> =>
  queryRows(db, { name: 'read-lane-holds', text: 'select channel, carrier from hold where account_id is null' })
