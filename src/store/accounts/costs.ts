import type { Channel } from '../../domain/channel.js'
import type { Scope } from '../../domain/scope.js'
import { execute, matchesRow, type Pool, plannedOnce, type Queryable, queryRow, queryRows, transaction } from '../postgres.js'

/** What carriers charge, as the operator tells it, in reais for one unit of a channel. */
export interface Price {
  channel: Channel
  /** A carrier's identity, or a provider for all of its carriers; '': any carrier of the channel. */
  carrier: string
  price: number
}

export const listPrices = (db: Queryable): Promise<Price[]> =>
  queryRows(db, 'select channel, carrier, price::float8 as price from price order by channel, carrier')

export const setPrice = (db: Queryable, { channel, carrier, price }: Price): Promise<void> =>
  execute(
    db,
    `insert into price (channel, carrier, price) values ($1, $2, $3)
     on conflict (channel, carrier) do update set price = excluded.price, updated_at = now()`,
    [channel, carrier, price],
  )

/** false: there was none. */
export const removePrice = (db: Queryable, { channel, carrier }: Omit<Price, 'price'>): Promise<boolean> =>
  matchesRow(db, 'delete from price where channel = $1 and carrier = $2', [channel, carrier])

export interface Usage {
  channel: Channel
  carrier: string
  messages: number
  units: number
  /** In reais, by the prices of the days on which the messages were sent. */
  cost: number
}

const COLUMNS = 'mode, day, account_id, channel, carrier, messages, units, cost'

/** `from`, `to`: days of Brasília, the last one included. The counts and what was added since they were last summed up. */
export const readUsage = (
  db: Queryable,
  accounts: readonly string[],
  mode: Scope['mode'],
  from: string,
  to: string,
): Promise<Usage[]> => {
  const asked = 'mode = $1 and account_id = any($2::uuid[]) and day >= $3 and day <= $4'
  return queryRows(
    db,
    plannedOnce({
      text: `select channel, carrier, sum(messages)::float8 as messages, sum(units)::float8 as units, sum(cost)::float8 as cost from (
       select ${COLUMNS} from usage_count where ${asked} union all select ${COLUMNS} from usage_tally where ${asked}
     ) u group by 1, 2 order by 1, 2`,
      values: [mode, accounts, from, to],
    }),
  )
}

/** The month's cap of an account, and what is already bound by it. */
export const readCommitted = async (db: Queryable, { account, mode }: Scope, month: string): Promise<number> =>
  (await queryRow<{ committed: number }>(
    db,
    `select (coalesce((select committed from cost_month where account_id = $1 and mode = $2 and month = $3::date), 0)
         + coalesce((select sum(amount) from cost_tally where account_id = $1 and mode = $2 and month = $3::date), 0))::float8 as committed`,
    [account, mode, month],
  ))!.committed

type AskedUnits = readonly { channel: Channel; units: number }[]

/**
 * Binds the estimated cost of a send to the month of its account, unless the cap would be passed; null: it would. Returns the cost of each
 * channel. Costs that were given back a moment ago are added to the month before a send is refused.
 */
export async function bindCost(pool: Pool, scope: Scope, asked: AskedUnits, cap: number): Promise<Map<Channel, number> | null> {
  const bound = await tryToBind(pool, scope, asked, cap)
  if (bound !== null || !(await hasGivenBack(pool, scope))) return bound
  await sumUsage(pool)
  return tryToBind(pool, scope, asked, cap)
}

const hasGivenBack = async (db: Queryable, { account, mode }: Scope): Promise<boolean> =>
  matchesRow(
    db,
    `select from cost_tally where account_id = $1 and mode = $2 and month = date_trunc('month', now() at time zone 'America/Sao_Paulo')
     having sum(amount) < 0`,
    [account, mode],
  )

/**
 * One statement on one row, so that sends at the same moment cannot pass the cap together. The dearest carrier of a channel counts,
 * because nobody knows yet which one takes the message.
 */
async function tryToBind(
  db: Queryable,
  { account, mode }: Scope,
  asked: AskedUnits,
  cap: number,
): Promise<Map<Channel, number> | null> {
  const row = await queryRow<{ fits: boolean; costs: { channel: Channel; cost: number }[] }>(
    db,
    `with asked as materialized (
       select q.channel, q.units * coalesce((select max(p.price) from price p where p.channel = q.channel), 0) as cost
       from unnest($3::text[], $4::int[]) as q(channel, units)
     ), bound as (
       insert into cost_month as c (account_id, mode, month, committed)
       select $1, $2, date_trunc('month', now() at time zone 'America/Sao_Paulo'), sum(cost) from asked having sum(cost) <= $5
       on conflict (account_id, mode, month) do update set committed = c.committed + excluded.committed
         where c.committed + excluded.committed <= $5
       returning 1
     )
     select exists (select from bound) as fits, (select jsonb_agg(jsonb_build_object('channel', channel, 'cost', cost)) from asked) as costs`,
    [account, mode, asked.map(({ channel }) => channel), asked.map(({ units }) => units), cap],
  )
  return row!.fits ? new Map(row!.costs.map(({ channel, cost }) => [channel, cost])) : null
}

/** Gives back what a send had bound that was not written after all. */
export const releaseCost = (db: Queryable, { account, mode }: Scope, amount: number): Promise<void> =>
  execute(
    db,
    `insert into cost_tally (account_id, mode, month, amount)
     values ($1, $2, date_trunc('month', now() at time zone 'America/Sao_Paulo'), -$3::numeric)`,
    [account, mode, amount],
  )

/** Adds the tallies to the counts. One node at a time; the others find the lock taken and leave it. */
export const sumUsage = (pool: Pool): Promise<void> =>
  transaction(pool, async db => {
    await execute(
      db,
      `with turn as materialized (select pg_try_advisory_xact_lock(740039) as mine),
       taken as (delete from usage_tally where (select mine from turn) returning *)
       insert into usage_count as c (${COLUMNS})
       select mode, day, account_id, channel, carrier, sum(messages), sum(units), sum(cost)
       from taken group by mode, day, account_id, channel, carrier order by mode, day, account_id, channel, carrier
       on conflict (mode, day, account_id, channel, carrier) do update set messages = c.messages + excluded.messages,
         units = c.units + excluded.units, cost = c.cost + excluded.cost`,
    )
    await execute(
      db,
      `with turn as materialized (select pg_try_advisory_xact_lock(740040) as mine),
       taken as (delete from cost_tally where (select mine from turn) returning *)
       insert into cost_month as c (account_id, mode, month, committed)
       select account_id, mode, month, sum(amount) from taken group by account_id, mode, month order by account_id, mode, month
       on conflict (account_id, mode, month) do update set committed = c.committed + excluded.committed`,
    )
  })
