import { type Queryable, queryRow } from '../postgres.js'

/** Two days may hold millions: read in pages, no statement exceeds its time limit. */
const PAGE = 5_000

/**
 * Counts the notifications of the last two days that are not accounted for: an accepted channel has no delivery, or a delivery
 * ended without a date that says how. There must be none.
 */
export async function countUnaccounted(db: Queryable, pageSize = PAGE): Promise<number> {
  let unaccounted = 0
  for (let after: string | null = null; ; ) {
    const page: UnaccountedPage = (await countPage(db, after, pageSize))!
    unaccounted += page.unaccounted
    if (page.looked < pageSize) return unaccounted
    after = page.last
  }
}

interface UnaccountedPage {
  looked: number
  last: string | null
  unaccounted: number
}

const countPage = (db: Queryable, after: string | null, pageSize: number): Promise<UnaccountedPage | null> =>
  queryRow(
    db,
    `with page as materialized (
       select id from notification
       where id > coalesce($1::uuid, (lpad(to_hex((extract(epoch from now() - interval '2 days') * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid)
       order by id limit $2
     )
     select count(*)::int as looked, (select id from page order by id desc limit 1) as last,
       (count(*) filter (where not exists (select from delivery d where d.notification_id = page.id)
         or exists (
           -- Where the data was erased there is no list to compare with.
           select from event e cross join lateral jsonb_path_query(e.data, '$.deliveries[*].channel') as accepted(channel)
           where e.notification_id = page.id and e.seq = 1
             and not exists (select from delivery d where d.notification_id = page.id and d.channel = accepted.channel #>> '{}'))
         or exists (
           select from delivery d where d.notification_id = page.id
             and ((d.state in ('done', 'dead') and coalesce(d.sent_at, d.failed_at, d.processed_at) is null)
               or (d.state = 'cancelled' and d.cancelled_at is null)))))::int as unaccounted
     from page`,
    [after, pageSize],
  )
