import type { Mode } from '../../domain/access/token.js'
import type { Channel } from '../../domain/channel.js'
import { execute, type Queryable, queryRows } from '../postgres.js'

/** How the calls to a carrier ended. */
export const callEnds = ['sent', 'temporary', 'throttled', 'permanent', 'uncertain'] as const
export type CallEnd = (typeof callEnds)[number]

export interface CarrierTotal extends Record<CallEnd, number> {
  channel: Channel
  mode: Mode
  carrier: string
  /** The calls by their duration: one count for each bound, and one for the longer ones. */
  durations: readonly number[]
  seconds: number
}

/** Adds what happened since the last report. Other workers add to the same rows. */
export const addTotals = (db: Queryable, totals: readonly CarrierTotal[]): Promise<void> =>
  execute(
    db,
    `insert into carrier_total as t (channel, mode, carrier, ${callEnds.join(', ')}, durations, seconds)
     select * from json_to_recordset($1) as n(channel text, mode text, carrier text, ${callEnds.map(end => `${end} bigint`).join(', ')},
       durations bigint[], seconds double precision)
     -- Always in the same order: two workers must not wait for each other.
     order by channel, mode, carrier
     on conflict (channel, mode, carrier) do update set ${callEnds.map(end => `${end} = t.${end} + excluded.${end}`).join(', ')},
       durations = array(select coalesce(a, 0) + coalesce(b, 0) from unnest(t.durations, excluded.durations) with ordinality as u(a, b, place) order by place),
       seconds = t.seconds + excluded.seconds, updated_at = now()`,
    [JSON.stringify(totals)],
  )

export const readTotals = (db: Queryable): Promise<CarrierTotal[]> =>
  queryRows(
    db,
    `select channel, mode, carrier, ${callEnds.map(end => `${end}::float8`).join(', ')}, durations::float8[] as durations, seconds
     from carrier_total`,
  )

export const deleteSilentTotals = (db: Queryable): Promise<void> =>
  execute(db, "delete from carrier_total where updated_at < now() - interval '31 days'")
