import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import type { Clock } from '../../domain/clock.js'
import { type CopyCause, judgeCopy, type Memory } from '../../domain/database-copy.js'
import { finishRestoration, type HeldCopy, holdCopy } from '../../engine/unknown/restored.js'
import { readArchives } from '../../evidence/exported.js'
import { readVerifier } from '../../evidence/note.js'
import { hasGrownFrom, readTreeHead, type TreeHead } from '../../evidence/tree-head.js'
import { findLogKey } from '../../store/evidence/log-keys.js'
import { confirmHomeServer, type HomeServer, readHomeServer } from '../../store/home-server.js'
import type { Pool } from '../../store/postgres.js'
import type { Log } from '../log.js'
import { type DatabaseMemory, readMemory, writeMemory } from './database-memory.js'

export interface WatchParts {
  pool: Pool
  clock: Clock
  log: Log
  /** The file in which this node remembers; null: only while it runs. */
  memoryFile: string | null
  /** The database is in the same folder as the memory. */
  isEmbedded: boolean
  /** Files to which checkpoints are exported. */
  archives: readonly string[]
  /** How long a node that remembers nothing leaves the decision to others. */
  graceMs?: number
}

const GRACE_MS = 10_000
/** Between two writes of the file. */
const WRITE_EVERY_MS = 5_000

const details: Record<CopyCause, string> = {
  backup: 'Restaurado por carteiro restore.',
  server: 'O banco está em outro servidor, ou foi restaurado com outro nome, e nada prova que é o mais novo.',
  timeline: 'O servidor foi recuperado ou promovido, e este nó não sabe até onde o banco tinha ido.',
  behind: 'O banco é mais antigo do que este nó, ou um checkpoint exportado, lembra.',
  folder: 'A pasta de dados inteira é uma cópia, e nada prova que é a mais nova.',
}

/**
 * Looks, every second, whether the database is still the living one. After every start of the server nothing is claimed until a node has
 * looked (store/delivery/holds.ts), so that an older copy sends nothing, not even for a moment.
 */
export class DatabaseWatch {
  readonly #parts: WatchParts
  #memory: DatabaseMemory | null = null
  #isCopied = false
  #isLoaded = false
  #seenStart: string | null = null
  #unsureSince: number | null = null
  #writtenAt = Number.NEGATIVE_INFINITY
  #written = ''
  #isWarned = false
  #isFinal = false

  constructor(parts: WatchParts) {
    this.#parts = parts
  }

  async look(): Promise<void> {
    const { pool, clock } = this.#parts
    await this.#load()
    const home = await readHomeServer(pool)
    if (this.#memory !== null && isBefore(this.#memory.atMs, home)) {
      this.#memory = null
      this.#isCopied = false
      this.#written = ''
    }
    if (home.openRestoration !== null)
      this.#warnOfUnheld(await finishRestoration(pool, clock, home.openRestoration, { by: this.#name }))
    else if (await this.#isSuspect(home)) {
      if (!(await this.#decide(home))) return
    }
    this.#seenStart = home.startedAt
    await this.#remember(home)
  }

  /**
   * When the node stops: the file says exactly where the database was, if the log has every event. Otherwise a copy that was made before the
   * last of them would seem to end there too.
   */
  async close(isLogWhole: boolean): Promise<void> {
    this.#isFinal = isLogWhole
    this.#writtenAt = Number.NEGATIVE_INFINITY
    await this.look()
  }

  get #name(): string {
    return `node:${hostname()}`
  }

  async #load(): Promise<void> {
    const { memoryFile, isEmbedded } = this.#parts
    if (this.#isLoaded || memoryFile === null) return
    const read = await readMemory(memoryFile)
    this.#isLoaded = true
    // Beside a server elsewhere a copied folder is a second node's, which has the key in it.
    if (read?.isCopied === true && !isEmbedded) return
    this.#memory = read?.memory ?? null
    this.#isCopied = read?.isCopied ?? false
  }

  /** Only a server that was started or exchanged can hold another database. A log that became shorter is suspect in any case. */
  async #isSuspect({ isConfirmed, startedAt, installation, recorded, current }: HomeServer): Promise<boolean> {
    if (!isConfirmed || recorded.timeline !== current.timeline || recorded.server !== current.server) return true
    if (this.#memory?.installation !== installation) return false
    const isSame = this.#seenStart === startedAt
    return isSame
      ? (await readTreeHead(this.#parts.pool)).size < this.#memory.size
      : !(await hasGrownFrom(this.#parts.pool, this.#memory))
  }

  /** false: it is not decided yet. */
  async #decide(home: HomeServer): Promise<boolean> {
    const { pool, clock, log, graceMs = GRACE_MS } = this.#parts
    const memory = await this.#compare(home)
    this.#unsureSince ??= performance.now()
    const verdict = judgeCopy(home.recorded, home.current, memory, performance.now() - this.#unsureSince >= graceMs)
    if (verdict === 'ask others') return false
    this.#unsureSince = null
    if (typeof verdict === 'object') {
      const { cause } = verdict
      log.error(
        { cause, memory, ...pick(home) },
        'the database is a copy: what it had under way is held for a person (carteiro restored)',
      )
      const { restoration, ...copy } = await holdCopy(pool, clock, { cause, detail: details[cause], by: this.#name })
      log.error({ restoration, held: copy.held }, 'what the copy had under way is held')
      this.#warnOfUnheld(copy)
      this.#isCopied = false
      return true
    }
    if (verdict === 'moved')
      log.warn(
        { memory, ...pick(home) },
        'the database is on another server or timeline and lacks nothing that this node remembers',
      )
    await confirmHomeServer(pool)
    return true
  }

  #warnOfUnheld({ unheld }: HeldCopy): void {
    if (unheld.length > 0)
      this.#parts.log.error(
        { unheld },
        'deliveries of the copy could not be held: their accounts are held back (carteiro hold --list)',
      )
  }

  async #compare(home: HomeServer): Promise<Memory> {
    const { pool } = this.#parts
    const { installation } = home
    const own = this.#memory?.installation === installation ? this.#memory : null
    const exported = await this.#readExported(home)
    for (const head of [own, exported]) if (head !== null && !(await hasGrownFrom(pool, head))) return 'missing'
    if (own !== null && this.#isCopied) return 'copied'
    if (own !== null) return own.isFinal && (await readTreeHead(pool)).size === own.size ? 'exact' : 'contained'
    return exported === null ? 'none' : 'contained'
  }

  /** The largest checkpoint of this log, and of this life of the database, that left for a file. */
  async #readExported(home: HomeServer): Promise<TreeHead | null> {
    const { pool, archives } = this.#parts
    const key = archives.length === 0 ? null : await findLogKey(pool)
    const log = key === null ? null : readVerifier(key.vkey)
    if (log === null) return null
    const texts = await Promise.all(
      archives.map(name =>
        readFile(name, 'utf8').then(
          text => ({ name, text }),
          () => null,
        ),
      ),
    )
    const { checkpoints } = readArchives(
      texts.filter(text => text !== null),
      log,
    )
    const newest = checkpoints.findLast(({ at }) => at === null || !isBefore(at.getTime(), home))
    return newest === undefined ? null : { size: newest.size, root: newest.root.toString('hex') }
  }

  async #remember({ installation, current, nowMs }: HomeServer): Promise<void> {
    const { pool, memoryFile, log } = this.#parts
    const memory = { installation, mark: current, isFinal: this.#isFinal, ...(await readTreeHead(pool)) }
    this.#memory = { ...memory, atMs: nowMs }
    const text = JSON.stringify(memory)
    if (memoryFile === null || text === this.#written || performance.now() - this.#writtenAt < WRITE_EVERY_MS) return
    try {
      await writeMemory(memoryFile, this.#memory)
      this.#written = text
      this.#writtenAt = performance.now()
    } catch (err) {
      if (!this.#isWarned)
        log.warn({ err, memoryFile }, 'this node cannot remember outside the database how far it has come (CARTEIRO_DATA)')
      this.#isWarned = true
    }
  }
}

/** What was remembered before a restoration that people know of says nothing about the database since. */
const isBefore = (atMs: number, { restoredAtMs }: HomeServer): boolean => restoredAtMs !== null && atMs <= restoredAtMs

const pick = ({ recorded, current }: HomeServer) => ({ recorded, current })
