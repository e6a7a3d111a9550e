import type { Json } from '../domain/canonical-json.js'
import { type Queryable, run } from './postgres.js'

/** The parts of people's long answers, kept until all of them are there. */
export interface PartsKey {
  provider: string
  /** The name that the parts share. */
  name: string
  total: number
}

/** A part that is told again is the newer one: carriers' names for them come round again after a while. */
export async function keepReplyPart(
  db: Queryable,
  { provider, name, total }: PartsKey,
  part: number,
  reply: object,
): Promise<void> {
  await run(
    db,
    `insert into reply_part (provider, name, total, part, reply) values ($1, $2, $3, $4, $5)
     on conflict (provider, name, total, part) do update set reply = excluded.reply, received_at = now()`,
    [provider, name, total, part, JSON.stringify(reply)],
  )
}

/** Makes room for another answer whose parts share the name of one that is complete: a part that is told again says the same. */
export async function forgetJoined(
  db: Queryable,
  { provider, name, total }: PartsKey,
  part: number,
  text: string,
): Promise<void> {
  await run(
    db,
    `delete from reply_part where provider = $1 and name = $2 and total = $3 and joined and exists (
       select from reply_part p
       where p.provider = $1 and p.name = $2 and p.total = $3 and p.part = $4 and p.joined and p.reply ->> 'text' <> $5)`,
    [provider, name, total, part, text],
  )
}

export async function markJoined(db: Queryable, { provider, name, total }: PartsKey): Promise<void> {
  await run(db, 'update reply_part set joined = true where provider = $1 and name = $2 and total = $3', [provider, name, total])
}

/** Of an answer that is not told yet, in their order. */
export async function readReplyParts(db: Queryable, { provider, name, total }: PartsKey): Promise<Json[]> {
  const { rows } = await run<{ reply: Json }>(
    db,
    'select reply from reply_part where provider = $1 and name = $2 and total = $3 and not joined order by part',
    [provider, name, total],
  )
  return rows.map(row => row.reply)
}

export async function deleteReplyParts(db: Queryable, { provider, name, total }: PartsKey): Promise<void> {
  await run(db, 'delete from reply_part where provider = $1 and name = $2 and total = $3', [provider, name, total])
}

/** Those of which nobody expects a part any more. */
export async function findStaleReplies(db: Queryable): Promise<PartsKey[]> {
  const { rows } = await run<PartsKey>(
    db,
    `select provider, name, total from reply_part group by provider, name, total
     having max(received_at) < now() - interval '1 hour' limit 100`,
  )
  return rows
}
