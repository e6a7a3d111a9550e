import type { LinkTarget } from '../../domain/recipient/link.js'
import { deleteInBatches, type Queryable, run } from '../postgres.js'

export interface ShortLink extends LinkTarget {
  code: string
}

/** Stores new links; an existing code or target is not changed. */
export async function insertLinks(db: Queryable, links: readonly ShortLink[]): Promise<void> {
  // Sorted by code, so that two groups with common codes cannot deadlock.
  const sorted = links.toSorted((a, b) => (a.code < b.code ? -1 : 1))
  await run(db, {
    name: 'insert-links',
    text: `insert into link (code, notification_id, channel) select * from unnest($1::text[], $2::uuid[], $3::text[])
           on conflict do nothing`,
    values: [sorted.map(link => link.code), sorted.map(link => link.notification), sorted.map(link => link.channel)],
  })
}

/** The stored code of each target in order, or null. */
export async function findCodes(db: Queryable, targets: readonly LinkTarget[]): Promise<(string | null)[]> {
  const { rows } = await run<{ place: number; code: string }>(db, {
    name: 'find-codes',
    text: `select t.place, l.code
           from unnest($1::uuid[], $2::text[]) with ordinality as t(notification_id, channel, place)
           cross join lateral (select code from link where notification_id = t.notification_id and channel = t.channel offset 0) l`,
    values: [targets.map(target => target.notification), targets.map(target => target.channel)],
  })
  const codes: (string | null)[] = targets.map(() => null)
  for (const row of rows) codes[row.place - 1] = row.code
  return codes
}

/**
 * A link lives as long as its notification, because a deleted code could be given to another one. Notifications are dropped by
 * whole months, so a link older than the oldest notification belongs to none.
 */
export const deleteLostLinks = (db: Queryable): Promise<void> =>
  deleteInBatches(db, 'link', 'notification_id < (select id from notification order by id limit 1)', 'notification_id')
