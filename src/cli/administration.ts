import { userInfo } from 'node:os'
import { type Config, readConfig } from '../app/config.js'
import { openDatabase, openRolePool, prepareDatabase } from '../app/database.js'
import { loadKeys } from '../app/keys.js'
import { openLog } from '../app/log.js'
import { OperatorError } from '../domain/errors.js'
import type { Keys } from '../domain/keys.js'
import { type Account, findAccount } from '../store/accounts/accounts.js'
import { recordAudit } from '../store/installation.js'
import type { Pool, Queryable } from '../store/postgres.js'

/** What every administrative command does: open the database, running or not, work, and leave it as it was found. */
export interface Administration {
  config: Config
  keys: Keys
  pool: Pool
}

export async function withDatabase<T>(work: (administration: Administration) => Promise<T>): Promise<T> {
  const config = readConfig(process.env)
  const database = await openDatabase(config, false)
  const pool = openRolePool(config, database.url, openLog('silent', 'command'))
  try {
    const keys = loadKeys(config)
    await prepareDatabase(pool, keys)
    return await work({ config, keys, pool })
  } finally {
    await pool.end()
    await database.close()
  }
}

export async function requireAccount(db: Queryable, nameOrId: string): Promise<Account> {
  const account = await findAccount(db, nameOrId)
  if (account === null) throw new OperatorError(`Não existe a conta "${nameOrId}". Veja as contas com: carteiro account list`)
  return account
}

/** Who did what, for later questions. */
export const audit = (db: Queryable, action: string, subject: string, detail: Record<string, unknown> = {}): Promise<void> =>
  recordAudit(db, { actor: `command:${userInfo().username}`, action, subject, detail })
