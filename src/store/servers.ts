import pg from 'pg'
import { type DatabaseServers, readDatabaseUrl } from './database-url.js'

/**
 * The client's side of a connection. Without an initial delay the system probes a silent connection only after two hours, and a
 * server that vanished would be noticed as late as that.
 */
export const CLIENT_SOCKET = { connectionTimeoutMillis: 3_000, keepAlive: true, keepAliveInitialDelayMillis: 10_000 } as const

/** Hears of an outage once when it begins and once when it ends, whatever the number of pools and of failed statements. */
interface ServerEvents {
  onLost?(error: unknown): void
  onBack?(downMs: number): void
}

interface ServerTiming {
  /** The waits between two searches for a server that was lost: they double from the first to the longest, less up to a half by chance. */
  pauseMs: { first: number; longest: number }
  random(): number
  now(): number
}

// Nodes that lost the same server do not return in the same moment, and find it at most two seconds late.
const TIMING: ServerTiming = { pauseMs: { first: 100, longest: 2_000 }, random: Math.random, now: () => performance.now() }

interface Outage {
  since: number
  error: unknown
  pauseMs: number
  retryAt: number
}

/** SQLSTATE read_only_sql_transaction. */
export const READ_ONLY = '25006'

/** The server answers and may not be written to. It counts as an answer of the server, which says that nothing was committed. */
export class NoPrimary extends pg.DatabaseError {
  constructor(message: string) {
    super(message, message.length, 'error')
    this.code = READ_ONLY
    this.severity = 'ERROR'
  }
}

/**
 * The servers of one DATABASE_URL as this process knows them: which one accepts writes, and whether none can be reached. Shared by all
 * connections of a process, so that one search for the primary serves them all, and a lost server is not stormed by every caller.
 */
export class Servers {
  readonly #servers: DatabaseServers
  readonly #events: ServerEvents
  readonly #timing: ServerTiming
  /** The server that new connections go to; null: unknown. */
  #chosen: string | null
  /** The last one that was good. */
  #last: string
  /** The newest timeline that was seen: every promotion begins a new one, so a server on an older one was replaced. */
  #timeline = 0
  #epoch = 0
  #outage: Outage | null = null
  #look: Promise<void> | undefined

  constructor(url: string, events: ServerEvents = {}, timing: Partial<ServerTiming> = {}) {
    const servers = readDatabaseUrl(url)
    if (servers === null) throw new Error('not a URL of PostgreSQL')
    this.#servers = servers
    this.#events = events
    this.#timing = { ...TIMING, ...timing }
    this.#last = servers.urls[0]
    this.#chosen = servers.urls.length === 1 ? this.#last : null
  }

  get count(): number {
    return this.#servers.urls.length
  }

  /** Whether a connection to a server that only reads is refused. */
  get mustWrite(): boolean {
    return this.#servers.writable
  }

  get isLost(): boolean {
    return this.#outage !== null
  }

  /** Where a new connection goes. */
  get url(): string {
    return this.#chosen ?? this.#last
  }

  /** Connections of an earlier epoch lead to a server that was replaced. */
  get epoch(): number {
    return this.#epoch
  }

  /** Resolves when a server can be connected to. During an outage only one caller looks, at intervals; the others are refused at once. */
  async ready(): Promise<void> {
    if (this.#chosen !== null && this.#outage === null) return
    if (this.#outage !== null && this.#look === undefined && this.#timing.now() < this.#outage.retryAt) throw this.#outage.error
    this.#look ??= this.#find().finally(() => {
      this.#look = undefined
    })
    await this.#look
  }

  /** A connection could not be made. True: another server may be asked at once. */
  failed(error: unknown): boolean {
    // Too many connections, or no memory for one more: those that exist go on.
    if (error instanceof pg.DatabaseError && error.code?.startsWith('53')) return false
    if (this.count > 1) {
      this.#chosen = null
      return this.#outage === null
    }
    this.#lose(error)
    return false
  }

  /** A server that was the primary answered that it only reads: all connections to it are given up. */
  demoted(): void {
    if (!this.mustWrite) return
    this.#epoch++
    if (this.count > 1) this.#chosen = null
  }

  async #find(): Promise<void> {
    const { urls } = this.#servers
    const asked = await Promise.allSettled(urls.map(url => this.#ask(url)))
    const found = asked
      .flatMap((answer, index) => (answer.status === 'fulfilled' ? [{ url: urls[index]!, timeline: answer.value }] : []))
      .sort((a, b) => b.timeline - a.timeline || Number(b.url === this.#last) - Number(a.url === this.#last))
    const [best] = found
    if (best === undefined) {
      // A server that answers says more than one that does not.
      const reasons = asked.flatMap(answer => (answer.status === 'rejected' ? [answer.reason as unknown] : []))
      const error = reasons.find(reason => reason instanceof pg.DatabaseError) ?? reasons[0]
      this.#lose(error)
      throw error
    }
    this.#timeline = best.timeline
    if (best.url !== this.#last) this.#epoch++
    this.#last = best.url
    this.#chosen = best.url
    if (this.#outage === null) return
    const downMs = Math.round(this.#timing.now() - this.#outage.since)
    this.#outage = null
    this.#events.onBack?.(downMs)
  }

  #lose(error: unknown): void {
    const { now, random, pauseMs } = this.#timing
    const isNew = this.#outage === null
    const pause = Math.min(pauseMs.longest, this.#outage === null ? pauseMs.first : this.#outage.pauseMs * 2)
    const retryAt = now() + pause * (1 - random() / 2)
    this.#outage = { since: this.#outage?.since ?? now(), error, pauseMs: pause, retryAt }
    if (isNew) this.#events.onLost?.(error)
  }

  /** The timeline of a server that may be used; 0 where there is only one. */
  async #ask(url: string): Promise<number> {
    const client = new pg.Client({ connectionString: url, application_name: 'carteiro', query_timeout: 3_000, ...CLIENT_SOCKET })
    client.on('error', () => {})
    try {
      await client.connect()
      if (!this.mustWrite) return 0
      const { rows } = await client.query<{ readOnly: boolean }>(
        `select current_setting('transaction_read_only') = 'on' as "readOnly"`,
      )
      if (rows[0]!.readOnly) throw new NoPrimary('the server accepts no writes: it is a standby, or was made read-only')
      return this.count === 1 ? 0 : await this.#readTimeline(client)
    } finally {
      await client.end().catch(() => {})
    }
  }

  /** From the name of the file being written: the control file tells of a promotion only after the next checkpoint. */
  async #readTimeline(client: pg.Client): Promise<number> {
    const { rows } = await client.query<{ file: string }>('select pg_walfile_name(pg_current_wal_lsn()) as file')
    const timeline = Number.parseInt(rows[0]!.file.slice(0, 8), 16)
    if (timeline < this.#timeline)
      throw new NoPrimary(
        `a server on timeline ${timeline} accepts writes and was replaced by one on ${this.#timeline}: it is not used`,
      )
    return timeline
  }
}
