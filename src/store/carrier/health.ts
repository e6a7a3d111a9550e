import type { Mode } from '../../domain/access/token.js'
import type { Channel } from '../../domain/channel.js'
import { execute, type Queryable, queryRows } from '../postgres.js'

/** open: takes messages. paused: gets nothing for a while, because it asked for that or failed again and again. closed: not connected. */
type CarrierState = 'open' | 'paused' | 'closed'

export interface LaneHealth {
  channel: Channel
  mode: Mode
  carrier: string
  state: CarrierState
  sent: number
  failed: number
  /** Messages a second that the operator allows; null: without a limit. */
  rate: number | null
}

/** What a worker says of its carriers. */
export const reportHealth = (db: Queryable, worker: string, lanes: readonly LaneHealth[]): Promise<void> =>
  execute(
    db,
    `insert into carrier_health as h (worker, channel, mode, carrier, state, sent, failed, rate)
     select $1, * from json_to_recordset($2) as l(channel text, mode text, carrier text, state text, sent bigint, failed bigint, rate integer)
     on conflict (worker, channel, mode, carrier) do update set state = excluded.state, sent = excluded.sent, failed = excluded.failed, rate = excluded.rate,
       seen_at = now()`,
    [worker, JSON.stringify(lanes)],
  )

export interface CarrierHealth extends LaneHealth {
  /** How many workers serve it. */
  workers: number
  seenAt: Date
}

/** The carriers as the workers of the last minute see them: the worst state counts. */
export const readHealth = (db: Queryable, mode: Mode): Promise<CarrierHealth[]> =>
  queryRows(
    db,
    `select channel, mode, carrier, count(*)::int as workers, sum(sent)::float8 as sent, sum(failed)::float8 as failed, min(rate) as rate, max(seen_at) as "seenAt",
       case when bool_or(state = 'closed') then 'closed' when bool_or(state = 'paused') then 'paused' else 'open' end as state
     from carrier_health where mode = $1 and seen_at > now() - interval '1 minute' group by channel, mode, carrier order by channel, carrier`,
    [mode],
  )

export interface CarrierStates extends Pick<LaneHealth, 'channel' | 'mode' | 'carrier' | 'state' | 'rate'> {
  workers: number
}

/** How many workers of the last minute see each carrier in each state. */
export const readStates = (db: Queryable): Promise<CarrierStates[]> =>
  queryRows(
    db,
    `select channel, mode, carrier, state, min(rate) as rate, count(*)::int as workers
     from carrier_health where seen_at > now() - interval '1 minute' group by channel, mode, carrier, state`,
  )

export const deleteStaleHealth = (db: Queryable): Promise<void> =>
  execute(db, "delete from carrier_health where seen_at < now() - interval '1 hour'")
