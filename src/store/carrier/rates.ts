import { execute, type Queryable, queryRow } from '../postgres.js'

/** Messages per second to one carrier, from all nodes together. */
export interface CarrierRate {
  carrier: string
  perSecond: number
}

export interface RateGrant {
  granted: number
  /** Where nothing was granted: how long until it is worth asking again. */
  waitMs: number
}

/**
 * Books up to `want` messages, as many as the carrier may get by now (a token bucket, by the database's clock). The clock
 * counts microseconds, so 1/7 s at 7 messages a second gives 0.999999: the tolerance of 0.01 keeps floor() from making it 0.
 */
export async function takeRate(db: Queryable, { carrier, perSecond }: CarrierRate, want: number): Promise<RateGrant> {
  // A tenth of a second's messages may be saved up; otherwise a timer that fires late would lose its share.
  const burst = Math.max(1, Math.floor(perSecond / 10))
  const grant = await queryRow<RateGrant>(db, {
    name: 'take-rate',
    text: `insert into carrier_rate as p (carrier, spent_until, granted)
           values ($1, now() - interval '1 second' * (($3::int - least($3, $4::int)) / $2::float8), least($3, $4))
           on conflict (carrier) do update set (spent_until, granted) = (
             select start + interval '1 second' * (free / $2), free
             from (select greatest(p.spent_until, now() - interval '1 second' * ($3 / $2)) as start) s,
               lateral (select least($4, greatest(0, floor(extract(epoch from now() - start) * $2::int + 0.01)))::int as free) f
           )
           returning granted,
             ceil(1000 * extract(epoch from spent_until + interval '1 second' * (least($4, $5::int) / $2) - now()))::int as "waitMs"`,
    values: [carrier, perSecond, burst, want, Math.max(1, Math.floor(burst / 2))],
  })
  const { granted, waitMs } = grant!
  return { granted, waitMs: granted > 0 ? 0 : Math.max(1, waitMs) }
}

/** Returns booked messages that are not needed. */
export const returnRate = (db: Queryable, { carrier, perSecond }: CarrierRate, count: number): Promise<void> =>
  execute(
    db,
    "update carrier_rate set spent_until = spent_until - interval '1 second' * ($2::int / $3::float8) where carrier = $1",
    [carrier, count, perSecond],
  )
