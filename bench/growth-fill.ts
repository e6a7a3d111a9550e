import pg from 'pg'
import type { Subject } from './workspace.js'

/** A store of some age: finished notifications spread evenly over months and accounts, and of each account one that is due now. */
export interface GrowthSize {
  stored: number
  months: number
  accounts: number
}

const CHUNK = 50_000

/** $1, $2: from and to, $3: of how many, $4: over how many seconds, $5: the accounts, $6: the state. */
const NOTIFICATIONS = `
  with made as materialized (
    select n, uuidv7(-interval '1 second' * ($4::float8 * (1 - n / $3::float8))) as id, ($5::uuid[])[1 + n % cardinality($5::uuid[])] as account_id
    from generate_series($1::int, $2::int) as n
  ), placed as materialized (select *, uuid_extract_timestamp(id) as at from made),
  notifications as (
    insert into notification (id, account_id, mode, accepted_at, custom_id, recipient_name, subject, content)
    select id, account_id, 'live', at, 'contrato-' || n, 'Pessoa ' || n % 90000, 'Aviso do contrato ' || n, '<p>Seu contrato vence em 30 dias.</p>' from placed
  ), deliveries as (
    insert into delivery (notification_id, channel, account_id, mode, state, due_at, step, condition, recipient, request, carrier, attempt, sent_at, delivered_at)
    select id, 'email', account_id, 'live', $6, at, 1, 'always', 'pessoa' || n % 90000 || '@example.com', '{}', 'smtp:mail.example.com/1', 1,
      case when $6 = 'done' then at end, case when $6 = 'done' then at end from placed
  )
  insert into event (notification_id, seq, at, type, source, data, salt, commit, prev, hash)
  select id, 1, at, 'accepted', 'api', jsonb_build_object('account', account_id, 'notification', id),
    substr(uuid_send(id), 1, 16), sha256(uuid_send(id)), sha256(''), sha256(uuid_send(id)) from placed`

/** Returns the accounts. */
export async function fillGrowth(
  { url, admin, account }: Subject,
  { stored, months, accounts }: GrowthSize,
  signal: AbortSignal,
  progress: (text: string) => void,
): Promise<string[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const owner = await admin.connect()
  try {
    await client.query("set synchronous_commit = off; set timezone = 'UTC'")
    await owner.query("set statement_timeout = 0; set timezone = 'UTC'")
    await owner.query(`select ensure_month(now() - n * interval '1 month') from generate_series(0, ${months - 1}) n`)
    const { rows } = await owner.query<{ id: string }>(
      `insert into account (id, entity_id, name) select uuidv7(), (select entity_id from account limit 1), 'Conta ' || n
       from generate_series(2, ${accounts}) n returning id`,
    )
    const all = [account, ...rows.map(({ id }) => id)]
    const { rows: span } = await owner.query<{ seconds: number }>(
      `select extract(epoch from now() - (date_trunc('month', now()) - interval '${months - 1} months'))::float8 as seconds`,
    )
    const { seconds } = span[0]!
    for (let done = 0; done < stored; done += CHUNK) {
      signal.throwIfAborted()
      progress(`stored ${done} of ${stored}`)
      await client.query(NOTIFICATIONS, [done + 1, Math.min(done + CHUNK, stored), stored, seconds, all, 'done'])
    }
    await client.query(NOTIFICATIONS, [1, accounts, accounts, 60, all, 'queued'])
    await owner.query({ text: 'vacuum analyze', query_timeout: 3_600_000 } as pg.QueryConfig)
    await owner.query('checkpoint')
    return all
  } finally {
    owner.release(true)
    await client.end()
  }
}
