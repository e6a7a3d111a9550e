import type { Mode } from '../../domain/access/token.js'
import type { Channel } from '../../domain/channel.js'
import { execute, type Pool, plannedOnce, type Queryable, queryRows, transaction } from '../postgres.js'

/** What became of the deliveries that were accepted in a span of time. */
export interface DeliveryCount {
  at: Date
  channel: Channel
  accepted: number
  sent: number
  delivered: number
  read: number
  failed: number
}

export interface CountQuestion {
  accounts: readonly string[]
  mode: Mode
  from: Date
  to: Date
  /** Days are those of Brasília. */
  unit: 'hour' | 'day'
}

const NUMBERS = ['accepted', 'sent', 'delivered', 'read', 'failed'] as const
const numbers = (written: (name: string) => string): string => NUMBERS.map(written).join(', ')
const startOf = (unit: string): string => `date_trunc(${unit}, hour, 'America/Sao_Paulo')`

/** The counts and what was added since they were last summed up: exact at every moment. */
export const readCounts = (db: Queryable, { accounts, mode, from, to, unit }: CountQuestion): Promise<DeliveryCount[]> =>
  queryRows(
    db,
    plannedOnce({
      text: `select at, channel, ${numbers(name => `sum(${name})::float8 as ${name}`)} from (
         select starts_at as at, channel, ${NUMBERS.join(', ')} from delivery_count
         where unit = $1 and mode = $2 and starts_at >= $3 and starts_at < $4 and account_id = any($5::uuid[])
         union all
         select ${startOf('$1')}, channel, ${NUMBERS.join(', ')} from delivery_tally
         where mode = $2 and hour >= $3 and hour < $4 and account_id = any($5::uuid[])
       ) c group by 1, 2 order by 1, 2`,
      values: [unit, mode, from, to, accounts],
    }),
  )

/** Adds the tallies to the counts. One node at a time; the others find the lock taken and leave it. */
export const sumTallies = (pool: Pool): Promise<void> =>
  transaction(pool, db =>
    execute(
      db,
      `with turn as materialized (select pg_try_advisory_xact_lock(740018) as mine),
       taken as (delete from delivery_tally where (select mine from turn) returning *)
       insert into delivery_count as c (unit, mode, starts_at, account_id, channel, ${NUMBERS.join(', ')})
       select unit, mode, ${startOf('unit')}, account_id, channel, ${numbers(name => `sum(${name})`)}
       from taken cross join unnest(array['hour', 'day']) as unit group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
       on conflict (unit, mode, starts_at, account_id, channel) do update
         set ${numbers(name => `${name} = c.${name} + excluded.${name}`)}`,
    ),
  )
