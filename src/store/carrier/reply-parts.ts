import type { Json } from '../../domain/evidence/canonical-json.js'
import { execute, type Queryable, queryRows, queryValues } from '../postgres.js'

/** Identifies a long reply; its parts are kept until all of them have arrived. */
export interface PartsKey {
  carrier: string
  /** The name that the parts share. */
  name: string
  total: number
}

/** A repeated part replaces the earlier one, because carriers reuse the names of replies after a while. */
export const keepReplyPart = (db: Queryable, { carrier, name, total }: PartsKey, part: number, reply: object): Promise<void> =>
  execute(
    db,
    `insert into reply_part (carrier, name, total, part, reply) values ($1, $2, $3, $4, $5)
     on conflict (carrier, name, total, part) do update set reply = excluded.reply, received_at = now()`,
    [carrier, name, total, part, JSON.stringify(reply)],
  )

/** Deletes a complete reply if this part has another text: then the carrier has reused the name for a new reply. */
export const forgetJoined = (db: Queryable, { carrier, name, total }: PartsKey, part: number, text: string): Promise<void> =>
  execute(
    db,
    `delete from reply_part where carrier = $1 and name = $2 and total = $3 and joined and exists (
       select from reply_part p
       where p.carrier = $1 and p.name = $2 and p.total = $3 and p.part = $4 and p.joined and p.reply ->> 'text' <> $5)`,
    [carrier, name, total, part, text],
  )

export const markJoined = (db: Queryable, { carrier, name, total }: PartsKey): Promise<void> =>
  execute(db, 'update reply_part set joined = true where carrier = $1 and name = $2 and total = $3', [carrier, name, total])

/** The parts of a reply that is not joined yet, in order. */
export const readReplyParts = (db: Queryable, { carrier, name, total }: PartsKey): Promise<Json[]> =>
  queryValues(db, 'select reply from reply_part where carrier = $1 and name = $2 and total = $3 and not joined order by part', [
    carrier,
    name,
    total,
  ])

export const deleteReplyParts = (db: Queryable, { carrier, name, total }: PartsKey): Promise<void> =>
  execute(db, 'delete from reply_part where carrier = $1 and name = $2 and total = $3', [carrier, name, total])

/** Incomplete replies that got no part for an hour. */
export const findStaleReplies = (db: Queryable): Promise<PartsKey[]> =>
  queryRows(
    db,
    `select carrier, name, total from reply_part group by carrier, name, total
     having max(received_at) < now() - interval '1 hour' limit 100`,
  )
