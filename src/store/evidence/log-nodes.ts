import { execute, type Queryable, queryRows } from '../postgres.js'

/** The root of a complete sub-tree of the log. */
export interface LogNode {
  height: number
  place: number
  hash: Buffer
}

export const insertNodes = (db: Queryable, nodes: readonly LogNode[]): Promise<void> =>
  execute(db, {
    name: 'insert-log-nodes',
    text: 'insert into log_node (height, place, hash) select * from unnest($1::smallint[], $2::bigint[], $3::bytea[])',
    values: [nodes.map(({ height }) => height), nodes.map(({ place }) => place), nodes.map(({ hash }) => hash)],
  })

/** Stored hashes that lie side by side: leaves (height 0, the hashes of their events) or nodes. */
export interface HashRange {
  height: number
  from: number
  to: number
}

/** For each range its hashes, one after the other; shorter where some are missing. */
export const readHashes = async (db: Queryable, ranges: readonly HashRange[]): Promise<Buffer[]> => {
  const rows = await queryRows<{ hashes: Buffer | null }>(db, {
    name: 'read-log-hashes',
    text: `select case when r.height = 0
             then (select string_agg(l.hash, '' order by l.leaf) from log_leaf l where l.leaf >= r.low and l.leaf < r.high)
             else (select string_agg(n.hash, '' order by n.place) from log_node n
                   where n.height = r.height and n.place >= r.low and n.place < r.high)
           end as hashes
           from unnest($1::smallint[], $2::bigint[], $3::bigint[]) with ordinality as r(height, low, high, number) order by r.number`,
    values: [ranges.map(({ height }) => height), ranges.map(({ from }) => from), ranges.map(({ to }) => to)],
  })
  return rows.map(({ hashes }) => hashes ?? Buffer.alloc(0))
}
