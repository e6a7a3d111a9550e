import { setTimeout as sleep } from 'node:timers/promises'
import { cpuSeconds, parentOf } from '../support/cpu.js'
import { countedLoad, type Target } from '../support/load.js'
import type { Server, Subject, Workspace } from '../support/workspace.js'
import { REQUEST, SENDER, WARM_UP } from './message.js'
import type { SigningKey } from './signing.js'
import type { Sink } from './sink.js'

/** The cost of one measurement. */
export interface Used {
  seconds: number
  /** Milliseconds of processor time, and what was asked of the database, each for one notification. */
  cpu: Record<string, number>
  statements: number
  transactions: number
  /** Bytes for one notification: written to the log of the database, and kept in it. */
  logged: number
  stored: number
}

const POOL = 10
/** Polled rarely: every poll takes processor time from the processes that are measured. */
const POLL_MS = 10

/** The gateway as a whole, its api and its worker in processes of their own, delivering to the sink. */
export class DeliveringGateway {
  readonly target: Target
  readonly #subject: Subject
  readonly #sink: Sink
  readonly #api: Server
  readonly #worker: Server
  readonly #postmaster: number

  private constructor(subject: Subject, sink: Sink, api: Server, worker: Server, postmaster: number) {
    this.#subject = subject
    this.#sink = sink
    this.#api = api
    this.#worker = worker
    this.#postmaster = postmaster
    const headers = { authorization: subject.token, 'content-type': 'application/json' }
    this.target = { address: api.address, method: 'POST', path: '/gw/email', headers, body: JSON.stringify(REQUEST) }
  }

  static async start(workspace: Workspace, subject: Subject, sink: Sink, key: SigningKey | null): Promise<DeliveringGateway> {
    const env = {
      EMAIL_URL: `smtp://127.0.0.1:${sink.port}?tls=off`,
      EMAIL_FROM: SENDER,
      SIMULATOR: 'off',
      ...(key === null ? {} : { DKIM_DOMAIN: key.domain, DKIM_SELECTOR: key.selector, DKIM_KEY_FILE: key.file }),
    }
    const api = await workspace.startRole('api', subject, { poolSize: POOL, env })
    const worker = await workspace.startRole('worker', subject, { poolSize: POOL, env })
    const { rows } = await subject.pool.query<{ pid: number }>('select pg_backend_pid() as pid')
    const gateway = new DeliveringGateway(subject, sink, api, worker, parentOf(rows[0]!.pid))
    await gateway.pipeline(WARM_UP)
    return gateway
  }

  /** Everything is queued before the first leaves. */
  async drain(count: number): Promise<Used> {
    await this.queue(count)
    return this.#measure(count, { worker: this.#worker }, async () => this.#worker.signal('SIGCONT'))
  }

  /** Accepted and delivered at the same time. */
  pipeline(count: number): Promise<Used> {
    return this.#measure(count, { api: this.#api, worker: this.#worker }, () => countedLoad(this.target, count))
  }

  /** Accepts while the worker sleeps; it holds nothing, so that nothing can run out. */
  async queue(count: number): Promise<void> {
    this.#worker.signal('SIGSTOP')
    await countedLoad(this.target, count)
    await this.#subject.admin.query('checkpoint')
  }

  wake(): void {
    this.#worker.signal('SIGCONT')
  }

  async isDelivering(): Promise<boolean> {
    const { rows } = await this.#subject.pool.query<{ open: boolean }>(
      "select exists (select from delivery where state in ('queued', 'sending')) as open",
    )
    return rows[0]!.open
  }

  async untilDelivered(): Promise<void> {
    while (await this.isDelivering()) await sleep(POLL_MS)
  }

  async stop(): Promise<void> {
    await this.#worker.stop()
    await this.#api.stop()
  }

  async #measure(count: number, roles: Record<string, Server>, work: () => Promise<void>): Promise<Used> {
    const before = await this.#sent()
    const received = this.#sink.received
    const cpuNow = (): Record<string, number> => ({
      ...Object.fromEntries(Object.entries(roles).map(([name, { pid }]) => [name, cpuSeconds(pid)])),
      postgres: cpuSeconds(this.#postmaster),
    })
    // A sleeping worker answers nothing; what it asked so far is what it had asked when it fell asleep.
    const queriesNow = async (): Promise<{ statements: number; transactions: number }[]> =>
      Promise.all(Object.values(roles).map(role => role.countQueries()))
    const bytes = await this.#bytes()
    const start = performance.now()
    const cpu = cpuNow()
    const counting = queriesNow()
    await work()
    const queries = await counting
    await this.#sink.until(received + count)
    await this.untilDelivered()
    const seconds = (performance.now() - start) / 1000
    const cpuAfter = cpuNow()
    const queriesAfter = await queriesNow()
    const bytesAfter = await this.#bytes()
    if ((await this.#sent()) < before + count) throw new Error('the gateway lost notifications')
    const perNotification = (pick: 'statements' | 'transactions'): number =>
      queriesAfter.reduce((sum, after, index) => sum + after[pick] - queries[index]![pick], 0) / count
    return {
      seconds,
      cpu: Object.fromEntries(Object.entries(cpuAfter).map(([name, after]) => [name, ((after - cpu[name]!) * 1000) / count])),
      statements: perNotification('statements'),
      transactions: perNotification('transactions'),
      logged: (bytesAfter.logged - bytes.logged) / count,
      stored: (bytesAfter.stored - bytes.stored) / count,
    }
  }

  async #bytes(): Promise<Pick<Used, 'logged' | 'stored'>> {
    const { rows } = await this.#subject.pool.query<Pick<Used, 'logged' | 'stored'>>(
      `select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8 as logged, pg_database_size(current_database())::float8 as stored`,
    )
    return rows[0]!
  }

  async #sent(): Promise<number> {
    const { rows } = await this.#subject.pool.query<{ sent: number }>(
      'select count(*)::int as sent from delivery where sent_at is not null',
    )
    return rows[0]!.sent
  }
}
