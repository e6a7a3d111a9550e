import pg from 'pg'
import { HOUR_MS } from '../../src/domain/units.js'
import type { Subject } from '../support/workspace.js'

const CHUNK = 20_000
const VACUUM_MS = HOUR_MS

/** Stores notifications of this month up to now, each with two deliveries and its first event, as accepting writes them. */
export async function fill(
  subject: Subject,
  count: number,
  content: string,
  signal: AbortSignal,
  progress: (stored: number) => void,
): Promise<void> {
  // Not from the pool: its limits on time are for requests.
  const client = new pg.Client({ connectionString: subject.url })
  await client.connect()
  try {
    await client.query("set synchronous_commit = off; set timezone = 'UTC'")
    for (let stored = 0; stored < count; stored += CHUNK) {
      signal.throwIfAborted()
      progress(stored)
      await client.query(
        `with span as materialized (
           select a.id as account_id, now() - date_trunc('month', now()) as length from account a
         ), made as materialized (
           select uuidv7(-length * (1 - n / $3::float8)) as id, account_id from span, generate_series($1::int, $2::int) as n
         ), notifications as (
           insert into notification (id, account_id, mode, accepted_at, recipient_name, subject, content)
           select id, account_id, 'live', uuid_extract_timestamp(id), 'Maria da Silva', 'Aviso', $4 from made
         ), deliveries as (
           insert into delivery (notification_id, channel, account_id, mode, state, due_at, accepted_at, step, condition, recipient, request)
           select id, d.channel, account_id, 'live', d.state, uuid_extract_timestamp(id) + d.wait, uuid_extract_timestamp(id), d.step, d.condition, d.recipient, d.request
           from made, (values
             ('email', 'queued', interval '0', 1, 'always', 'maria@example.com', '{}'::jsonb),
             ('sms', 'waiting', interval '30 minutes', 2, 'not delivered', '+5511987654321', '{"always": false, "customMessage": null}')
           ) as d(channel, state, wait, step, condition, recipient, request)
         )
         insert into event (notification_id, seq, at, type, source, data, salt, commit, prev, hash)
         select id, 1, uuid_extract_timestamp(id), 'accepted', 'api',
           jsonb_build_object('account', account_id, 'subject', 'Aviso', 'contentSha256', sha256(uuid_send(id)), 'notification', id),
           substr(uuid_send(id), 1, 16), sha256(uuid_send(id)), sha256(''), sha256(uuid_send(id)) from made`,
        [stored + 1, Math.min(stored + CHUNK, count), count, content],
      )
    }
    progress(count)
    // Otherwise autovacuum and the checkpointer would do this while we measure.
    const admin = await subject.admin.connect()
    await admin.query('set statement_timeout = 0')
    await admin.query({ text: 'vacuum analyze', query_timeout: VACUUM_MS } as pg.QueryConfig)
    admin.release(true)
    await subject.admin.query('checkpoint')
  } finally {
    await client.end()
  }
}
