import pg from 'pg'
import { HOUR_MS } from '../../src/domain/units.js'
import type { Subject } from '../support/workspace.js'

/** A store as it is after a bad quarter: five accounts of very different sizes, two modes, and many deliveries that nobody could end. */
const CHUNK = 50_000
const DAYS = 60
/** All but the history of notifications, in rows. */
const BESIDE = { suppressions: 200_000, tokens: 20_000, templates: 2_000, audit: 200_000, operators: 300, checkpoints: 50_000 }

/** Of the notification `n`, out of `$3`. Ids differ by at least a nanosecond of their shift, so that they are in the order of `n`. */
const MADE = `
  made as materialized (
    select n, uuidv7(-interval '${DAYS} days' * (1 - n / $3::float8)) as id, hashint4(n) & 1023 as fate,
      (array['live', 'test'])[1 + (n / 100 % 10 = 0)::int] as mode,
      $4::uuid[] as accounts, case when n % 100 < 60 then 1 when n % 100 < 80 then 2 when n % 100 < 92 then 3 when n % 100 < 99 then 4 else 5 end as place
    from generate_series($1::int, $2::int) as n
  ), placed as materialized (select *, accounts[place] as account_id, uuid_extract_timestamp(id) as at from made)`

const NOTIFICATIONS = `with ${MADE}, notifications as (
    insert into notification (id, account_id, mode, accepted_at, custom_id, recipient_name, subject, content)
    select id, account_id, mode, at, 'contrato-' || n, 'Pessoa ' || n % 90000, 'Aviso do contrato ' || n, '<p>Seu contrato vence em 30 dias.</p>' from placed
  ), deliveries as (
    insert into delivery (notification_id, channel, account_id, mode, state, due_at, accepted_at, custom_id, step, condition, recipient, request,
      carrier, attempt, processed_at, prepared_at, sent_at, delivered_at, read_at, failed_at, failure)
    select id, c.channel, account_id, mode, s.state, at, at, 'contrato-' || n, c.step, 'always', c.recipient, '{}', c.carrier, 1, at, at,
      case when s.state in ('done', 'uncertain', 'unresolved') then at + interval '1 minute' end,
      case when s.state = 'done' and fate < 960 then at + interval '2 minutes' end,
      case when s.state = 'done' and fate % 2 = 1 and fate < 960 then at + interval '1 hour' end,
      case when s.state = 'dead' or (s.state = 'done' and fate >= 960) then at + interval '2 minutes' end,
      case when s.state = 'dead' or (s.state = 'done' and fate >= 960) then 'rejected' end
    from placed
    cross join lateral (values
      ('email', 1, 'pessoa' || n % 90000 || '@example.com', 'smtp:mail.example.com/1', true),
      ('sms', 2, '+55119' || lpad((n % 90000)::text, 8, '0'), 'smpp:sms.example.com/1', n % 2 = 0),
      ('whatsapp', 3, '+55119' || lpad((n % 90000)::text, 8, '0'), 'whatsapp:wa.example.com/1', n % 4 = 0),
      ('letter', 4, 'Pessoa ' || n % 90000, 'correios:ftp.example.com/1', n % 20 = 0)
    ) as c(channel, step, recipient, carrier, exists)
    cross join lateral (select case
      when c.channel <> 'email' then 'done' when fate < 60 then 'dead' when fate < 70 then 'unresolved' when fate < 80 then 'uncertain'
      when fate < 100 then 'queued' else 'done' end as state) s
    where c.exists
  )
  insert into event (notification_id, seq, at, type, source, data, salt, commit, prev, hash)
  select id, 1, at, 'accepted', 'api', jsonb_build_object('account', account_id, 'subject', 'Aviso', 'notification', id),
    substr(uuid_send(id), 1, 16), sha256(uuid_send(id)), sha256(''), sha256(uuid_send(id)) from placed`

const COUNTS = ['hour', 'day'].map(
  unit => `insert into delivery_count (unit, mode, starts_at, account_id, channel, accepted, sent, delivered, read, failed)
  select '${unit}', mode, date_trunc('${unit}', uuid_extract_timestamp(notification_id), 'America/Sao_Paulo'), account_id, channel, count(*),
    count(sent_at), count(delivered_at), count(read_at), count(failed_at) from delivery group by 1, 2, 3, 4, 5`,
)

/** $1: the accounts. */
const OTHERS = [
  `insert into suppression (account_id, mode, channel, recipient, reason, created_at)
   select ($1::uuid[])[1 + n % 3], 'live', 'email', 's' || n || '@example.com', 'hard bounce', now() - n * interval '1 minute'
   from generate_series(1, ${BESIDE.suppressions}) n`,
  `insert into token (jti, account_id, mode, issued_at)
   select uuidv7(-n * interval '1 minute'), ($1::uuid[])[1], 'live', now() - n * interval '1 minute' from generate_series(1, ${BESIDE.tokens}) n`,
  `with made as (
     insert into template (id, account_id, mode, name, channel, shared, created_at)
     select uuidv7(-n * interval '1 minute'), ($1::uuid[])[1 + n % 2], 'live', 'Modelo ' || n, (array['email', 'sms'])[1 + n % 2], n % 3 = 0,
       now() - n * interval '1 minute' from generate_series(1, ${BESIDE.templates}) n returning id
   ) insert into template_version (template_id, version, content, variables) select id, 1, repeat('Olá. ', 1000), '[]' from made`,
  `insert into webhook_endpoint (id, account_id, mode, url, payload_version, secret)
   select uuidv7(), a, m, 'https://127.0.0.1/' || n, 'v2', 'x' from unnest($1::uuid[]) a, unnest(array['live', 'test']) m, generate_series(1, 10) n`,
  `with endpoints as materialized (select array_agg(id) as ids from webhook_endpoint where account_id = ($1::uuid[])[1] and mode = 'live'),
   made as (
     insert into webhook_message (id, endpoint_id, notification_id, channel, event_seq, state, attempt, due_at, created_at)
     select uuidv7(), ids[1 + row_number() over () % 10], id, 'email', 1, case when row_number() over () % 10 = 0 then 'queued' else 'done' end, 1,
       accepted_at, accepted_at from notification, endpoints where account_id = ($1::uuid[])[1] and mode = 'live' limit 300000 returning *
   ) insert into webhook_attempt (endpoint_id, message_id, attempt, url, payload_version, at, duration_ms, status, error, response_headers, response_body)
   select endpoint_id, id, 1, 'https://127.0.0.1/', 'v2', created_at, 20, case when state = 'queued' then 500 else 200 end,
     case when state = 'queued' then 'status 500' end, 'content-type: text/plain', 'ok' from made order by created_at`,
  `insert into audit (id, at, actor, action, subject, detail, prev, hash)
   select n, now() - (${BESIDE.audit} - n) * interval '1 minute', 'operator:pessoa' || n % 300 || '@example.com', 'token issue', uuidv7()::text,
     '{"mode": "live"}', sha256((n - 1)::text::bytea), sha256(n::text::bytea) from generate_series(1, ${BESIDE.audit}) n where $1::uuid[] is not null`,
  `with made as (
     insert into operator (id, email, name, role, password)
     select uuidv7(), 'pessoa' || n || '@example.com', 'Pessoa ' || n, 'auditor', 'x' from generate_series(1, ${BESIDE.operators}) n
     where $1::uuid[] is not null returning id
   ) insert into console_session (id, secret_sha256, operator_id, address, agent, expires_at)
     select uuidv7(), sha256((id::text || n)::bytea), id, '192.0.2.1', 'x', now() + interval '1 hour' from made, generate_series(1, 5) n`,
  `with made as (
     insert into checkpoint (size, root, note, at)
     select n * 20, sha256(n::text::bytea), 'nota', now() - (${BESIDE.checkpoints} - n) * interval '1 minute'
     from generate_series(1, ${BESIDE.checkpoints}) n where $1::uuid[] is not null returning size
   ) insert into checkpoint_cosignature (size, witness, line, at) select size, w, 'linha', now() from made, unnest(array['a', 'b']) w`,
  // The log has come as far as the events.
  `update log_head set size = (select count(*) from event), transaction_id = pg_current_xact_id(),
     notification_id = 'ffffffff-ffff-ffff-ffff-ffffffffffff', seq = 0 where $1::uuid[] is not null`,
]

export async function fillForConsole(
  { url, admin, account }: Subject,
  count: number,
  signal: AbortSignal,
  progress: (text: string) => void,
): Promise<string[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const owner = await admin.connect()
  const unlimited = (text: string, values: unknown[] = []): pg.QueryConfig =>
    ({ text, values, query_timeout: HOUR_MS }) as unknown as pg.QueryConfig
  try {
    await client.query("set synchronous_commit = off; set timezone = 'UTC'; set statement_timeout = 0")
    await owner.query('set statement_timeout = 0')
    for (let ago = 0; ago <= DAYS; ago += 20) await owner.query(`select ensure_month(now() - ${ago} * interval '1 day')`)
    const { rows } = await client.query<{ id: string }>(
      `insert into account (id, entity_id, name)
       select uuidv7(), case when n = 2 then e.id else (select id from entity limit 1) end, 'Conta ' || n
       from generate_series(2, 5) n, (select entity_id as id from account) e returning id`,
    )
    const accounts = [account, ...rows.map(({ id }) => id)]
    for (let stored = 0; stored < count; stored += CHUNK) {
      signal.throwIfAborted()
      progress(`stored ${stored} of ${count}`)
      await client.query(NOTIFICATIONS, [stored + 1, Math.min(stored + CHUNK, count), count, accounts])
    }
    progress('counts, webhooks, templates, tokens, actions')
    for (const statement of COUNTS) await client.query(statement)
    for (const statement of OTHERS) await owner.query(unlimited(statement, [accounts]))
    await owner.query(unlimited('vacuum analyze'))
    await owner.query('checkpoint')
    return accounts
  } finally {
    owner.release(true)
    await client.end()
  }
}
