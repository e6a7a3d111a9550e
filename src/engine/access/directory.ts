import type { AccountSettings } from '../../domain/account.js'
import { type AddressRange, parseRange } from '../../domain/address-range.js'
import type { Clock } from '../../domain/clock.js'
import type { SequenceStep } from '../../domain/sequence.js'
import { BoundedCache } from '../../runtime/bounded-cache.js'
import type { Grant } from '../../store/tokens.js'

/**
 * What this node remembers of accounts, tokens and addresses, and the database's time. One small poll keeps both honest:
 * when the revision moved, everything remembered is forgotten; when the poll is late, nothing remembered is used. So a
 * revocation holds on every node within a second, and a request costs no query.
 */
export interface DirectoryStore {
  readRevision(): Promise<{ revision: number; nowMs: number }>
  findGrant(jti: string): Promise<Grant | null>
  isRegistered(address: string): Promise<boolean>
}

export interface Caller {
  account: string
  settings: AccountSettings
  sequence: readonly SequenceStep[] | null
  ranges: readonly AddressRange[]
}

const POLL_MS = 400
/** A poll that started longer ago proves nothing any more; with the query's own time this stays below one second. */
const TRUST_MS = 900
const MAX_REMEMBERED = 20_000

export class Directory {
  readonly #store: DirectoryStore
  readonly #callers = new BoundedCache<string, Promise<Caller | null>>({ maxEntries: MAX_REMEMBERED })
  readonly #registered = new BoundedCache<string, Promise<boolean>>({ maxEntries: MAX_REMEMBERED })
  #revision = -1
  #confirmedAt = Number.NEGATIVE_INFINITY
  #anchor = { databaseMs: Date.now(), monotonicMs: performance.now() }
  #timer: NodeJS.Timeout | undefined
  #polling: Promise<void> | undefined

  constructor(store: DirectoryStore) {
    this.#store = store
  }

  async open(): Promise<void> {
    await this.#poll()
    this.#timer = setInterval(() => this.#poll().catch(() => {}), POLL_MS)
    this.#timer.unref()
  }

  close(): void {
    clearInterval(this.#timer)
  }

  /** The database's time, immune to jumps of this machine's clock. */
  readonly clock: Clock = () => Math.round(this.#anchor.databaseMs + (performance.now() - this.#anchor.monotonicMs))

  /** Who holds the token, or null when it is unknown, revoked or expired. */
  async findCaller(jti: string): Promise<Caller | null> {
    await this.#beCurrent()
    return remember(this.#callers, jti, async () => {
      const grant = await this.#store.findGrant(jti)
      return grant && { ...grant, ranges: grant.ranges.map(parseRange) }
    })
  }

  /** Whether any account registered the address. */
  async isRegistered(address: string): Promise<boolean> {
    await this.#beCurrent()
    return remember(this.#registered, address, () => this.#store.isRegistered(address))
  }

  async #beCurrent(): Promise<void> {
    if (performance.now() - this.#confirmedAt > TRUST_MS) await this.#poll()
  }

  #poll(): Promise<void> {
    this.#polling ??= this.#readRevision().finally(() => {
      this.#polling = undefined
    })
    return this.#polling
  }

  async #readRevision(): Promise<void> {
    const startedAt = performance.now()
    const { revision, nowMs } = await this.#store.readRevision()
    if (revision !== this.#revision) {
      this.#callers.clear()
      this.#registered.clear()
      this.#revision = revision
    }
    this.#confirmedAt = startedAt
    // Half the round trip is the best guess of when the database looked at its clock.
    this.#anchor = { databaseMs: nowMs, monotonicMs: (startedAt + performance.now()) / 2 }
  }
}

/** Concurrent questions share one query; failures are not remembered. */
function remember<T>(known: BoundedCache<string, Promise<T>>, key: string, ask: () => Promise<T>): Promise<T> {
  const answer = known.get(key)
  if (answer !== undefined) return answer
  const asked = ask()
  known.set(key, asked)
  asked.catch(() => known.delete(key))
  return asked
}
