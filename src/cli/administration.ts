import { setTimeout as sleep } from 'node:timers/promises'
import { actor } from '../app/actor.js'
import { type Config, readConfig } from '../app/config.js'
import { openDatabase, openRolePool, prepareDatabase } from '../app/database/database.js'
import { loadKeys } from '../app/database/keys.js'
import { openLog } from '../app/log.js'
import type { CommandContext } from '../channels/channel.js'
import type { Keys } from '../domain/access/keys.js'
import type { Scope } from '../domain/scope.js'
import { KNOWN_EVERYWHERE_MS } from '../engine/access/directory.js'
import { type Account, findAccount } from '../store/accounts/accounts.js'
import { recordAudit } from '../store/audit.js'
import { readRevision } from '../store/installation.js'
import { openPool, type Pool, type PoolOptions, type Queryable, type Transaction, transaction } from '../store/postgres.js'
import { type AccountOptions, required, type ScopeOptions } from './options.js'
import { type OutputOptions, printList, printRecord, printResult, type Result } from './output.js'

export interface Administration {
  config: Config
  keys: Keys
  pool: Pool
  databaseUrl: string
  /** The URL for the owner of the tables, where it is known; otherwise the same as `databaseUrl`. */
  ownerUrl: string
  /** The migrations that were applied when the database was opened. */
  migrations: string[]
}

/** Opens the database, running or not, and stops it again if no other process uses it. Pending migrations are applied first. */
export async function withDatabase<T>(work: (administration: Administration) => Promise<T>): Promise<T> {
  const config = readConfig(process.env)
  const log = openLog('silent', 'command')
  const database = await openDatabase(config, false, log)
  const pool = openRolePool(config, database.url, log)
  try {
    const { keys, migrations } = await prepareDatabase(database, (isNew, fingerprint) => loadKeys(config, isNew, fingerprint))
    return await work({ config, keys, pool, databaseUrl: database.url, ownerUrl: database.ownerUrl, migrations })
  } finally {
    await pool.end()
    await database.close()
  }
}

type LongPoolOptions = Pick<PoolOptions, 'url' | 'files' | 'asOwner'> & Required<Pick<PoolOptions, 'timeoutFactor'>>

/** Works with a pool that gives statements more time than a send gets. A broken idle connection is not reported: the next statement opens another. */
export async function withLongTimeouts<T>(options: LongPoolOptions, work: (pool: Pool) => Promise<T>): Promise<T> {
  const pool = openPool({ ...options, size: 2, onError: () => {} })
  try {
    return await work(pool)
  } finally {
    await pool.end()
  }
}

/** Prints the result of the work. */
export const run = (options: OutputOptions, work: (administration: Administration) => Promise<Result>): Promise<void> =>
  withDatabase(async administration => printResult(await work(administration), options))

export const runForAccount = (
  options: AccountOptions,
  work: (administration: Administration, account: Account) => Promise<Result>,
): Promise<void> =>
  run(options, async administration => work(administration, await requireAccount(administration.pool, options.account)))

export const runForScope = (
  options: ScopeOptions,
  work: (administration: Administration, scope: Scope) => Promise<Result>,
): Promise<void> => runForAccount(options, (administration, { id }) => work(administration, { account: id, mode: options.mode }))

/** Works in one transaction and prints the result after the commit. */
export const change = (
  options: OutputOptions,
  work: (db: Queryable, administration: Administration) => Promise<Result>,
): Promise<void> => run(options, administration => transaction(administration.pool, db => work(db, administration)))

/** Ends when the change counts on every node: the request that follows the command is the first one under it. */
export const changeAccount = (
  options: AccountOptions,
  work: (db: Queryable, account: Account) => Promise<Result>,
): Promise<void> =>
  run(options, async ({ pool }) => {
    const { result, changed } = await transaction(pool, async db => {
      const { revision } = await readRevision(db)
      const result = await work(db, await requireAccount(db, options.account))
      return { result, changed: (await readRevision(db)).revision !== revision }
    })
    if (changed) await sleep(KNOWN_EVERYWHERE_MS)
    return result
  })

export const requireAccount = async (db: Queryable, nameOrId: string): Promise<Account> =>
  required(await findAccount(db, nameOrId), `Não existe a conta "${nameOrId}". Veja as contas com: carteiro account list`)

export const audit = (db: Transaction, action: string, subject: string, detail: Record<string, unknown> = {}): Promise<void> =>
  recordAudit(db, { actor: actor(), action, subject, detail })

/** For the commands of channels. */
export const commandContext: CommandContext = { withDatabase, audit, printRecord, printList }
