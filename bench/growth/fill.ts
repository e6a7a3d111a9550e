import pg from 'pg'
import { runAsOwner, type Subject } from '../support/workspace.js'

/** Finished notifications spread evenly over months and accounts, and of each account some that are due now. */
export interface GrowthShape {
  months: number
  accounts: number
}

const CHUNK = 50_000
const CONNECTIONS = 2
/** Each process that claims finds some. */
const LEAST_DUE = 100

/** $1, $2: from and to, $3: of how many, $4: over how many seconds, $5: the accounts, $6: the state, $7: how many are there already. */
const NOTIFICATIONS = `
  with made as materialized (
    select $7::int + n as n, uuidv7(-interval '1 second' * ($4::float8 * (1 - n / $3::float8))) as id,
      ($5::uuid[])[1 + n % cardinality($5::uuid[])] as account_id
    from generate_series($1::int, $2::int) as n
  ), placed as materialized (select *, uuid_extract_timestamp(id) as at from made),
  notifications as (
    insert into notification (id, account_id, mode, accepted_at, custom_id, recipient_name, subject, content)
    select id, account_id, 'live', at, 'contrato-' || n, 'Pessoa ' || n % 90000, 'Aviso do contrato ' || n, '<p>Seu contrato vence em 30 dias.</p>' from placed
  ), deliveries as (
    insert into delivery (notification_id, channel, account_id, mode, state, due_at, accepted_at, step, condition, recipient, request, carrier, attempt, sent_at, delivered_at)
    select id, 'email', account_id, 'live', $6, at, at, 1, 'always', 'pessoa' || n % 90000 || '@example.com', '{}', 'smtp:mail.example.com/1', 1,
      case when $6 = 'done' then at end, case when $6 = 'done' then at end from placed
  )
  insert into event (notification_id, seq, at, type, source, data, salt, commit, prev, hash)
  select id, 1, at, 'accepted', 'api', jsonb_build_object('account', account_id, 'notification', id),
    substr(uuid_send(id), 1, 16), sha256(uuid_send(id)), sha256(''), sha256(uuid_send(id)) from placed`

/** A store that grows: a larger one is made from a smaller one, in less time than anew. */
export class GrowingStore {
  readonly #subject: Subject
  readonly #shape: GrowthShape
  readonly accounts: string[]
  #stored = 0

  get stored(): number {
    return this.#stored
  }

  private constructor(subject: Subject, shape: GrowthShape, accounts: string[]) {
    this.#subject = subject
    this.#shape = shape
    this.accounts = accounts
  }

  static async create(subject: Subject, shape: GrowthShape): Promise<GrowingStore> {
    const { months, accounts } = shape
    await runAsOwner(
      subject.admin,
      `select ensure_month(now() - n * interval '1 month') from generate_series(0, ${months - 1}) n`,
    )
    const made = await runAsOwner<{ id: string }>(
      subject.admin,
      `insert into account (id, entity_id, name) select uuidv7(), (select entity_id from account limit 1), 'Conta ' || n
       from generate_series(2, ${accounts}) n returning id`,
    )
    return new GrowingStore(subject, shape, [subject.account, ...made.map(({ id }) => id)])
  }

  async grow(to: number, signal: AbortSignal, progress: (text: string) => void): Promise<void> {
    const span = await runAsOwner<{ seconds: number }>(
      this.#subject.admin,
      `select extract(epoch from now() - (date_trunc('month', now()) - interval '${this.#shape.months - 1} months'))::float8 as seconds`,
    )
    const { seconds } = span[0]!
    const more = to - this.#stored
    const chunks = Array.from({ length: Math.ceil(more / CHUNK) }, (_, chunk) => chunk * CHUNK)
    const fill = async (): Promise<void> => {
      const client = new pg.Client({ connectionString: this.#subject.url })
      await client.connect()
      try {
        await client.query("set synchronous_commit = off; set timezone = 'UTC'")
        const insert = (from: number, until: number, of: number, overSeconds: number, state: 'queued' | 'done') =>
          client.query(NOTIFICATIONS, [from, until, of, overSeconds, this.accounts, state, this.#stored])
        for (let done = chunks.shift(); done !== undefined; done = chunks.shift()) {
          signal.throwIfAborted()
          progress(`stored ${this.#stored + done} of ${to}`)
          await insert(done + 1, Math.min(done + CHUNK, more), more, seconds, 'done')
          const due = Math.max(LEAST_DUE, this.accounts.length)
          if (this.#stored === 0 && done === 0) await insert(1, due, due, 60, 'queued')
        }
      } finally {
        await client.end()
      }
    }
    await Promise.all(Array.from({ length: CONNECTIONS }, fill))
    this.#stored = to
    await runAsOwner(this.#subject.admin, 'vacuum analyze')
    await runAsOwner(this.#subject.admin, 'checkpoint')
  }
}
