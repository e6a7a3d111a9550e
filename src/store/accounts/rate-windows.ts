import { execute, type Queryable, queryRow } from '../postgres.js'

export interface Lease {
  granted: number
  /** The requests of the whole window that are taken, with this lease. */
  used: number
  remainingMs: number
}

/**
 * Takes up to `chunk` requests out of the budget's window. A window starts with its first lease and lasts a minute by the
 * database's clock, so all nodes share one. The lease does not wait for the disk or a standby: a crash gives a chunk twice at worst, and
 * a lost standby must not hold up lookups.
 */
export async function leaseBudget(db: Queryable, key: string, limit: number, chunk: number): Promise<Lease> {
  const { granted, used, remainingMs } = (await queryRow<Lease>(db, {
    name: 'lease-budget',
    text: `insert into rate_window as w (key, started_at, used, granted) values ($1, now(), least($2::int, $3::int), least($2::int, $3::int))
           on conflict (key) do update set
             started_at = case when w.started_at > now() - interval '1 minute' then w.started_at else now() end,
             used = case when w.started_at > now() - interval '1 minute' then w.used + greatest(0, least($3, $2 - w.used)) else least($2, $3) end,
             granted = case when w.started_at > now() - interval '1 minute' then greatest(0, least($3, $2 - w.used)) else least($2, $3) end
           returning granted, used, (extract(epoch from started_at + interval '1 minute' - now()) * 1000)::int as "remainingMs",
             set_config('synchronous_commit', 'off', true)`,
    values: [key, limit, chunk],
  }))!
  return { granted, used, remainingMs: Math.max(1, remainingMs) }
}

export const deleteStaleWindows = (db: Queryable): Promise<void> =>
  execute(db, "delete from rate_window where started_at < now() - interval '1 hour'")
