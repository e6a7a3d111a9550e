import { OperatorError } from '../domain/errors.js'
import type { Keys } from '../domain/keys.js'
import { openEmbedded } from '../store/embedded/server.js'
import { claimInstallation } from '../store/installation.js'
import { migrate } from '../store/migrate.js'
import { openPool, type Pool, readServerVersion } from '../store/postgres.js'
import type { Config } from './config.js'
import type { Log } from './log.js'

/** The database alone: all that most commands need, so that they start quickly. */

export interface Database {
  url: string
  close(): Promise<void>
}

/** The database of this configuration: the one given, or our own on the data folder. */
export async function openDatabase(config: Config, exclusive: boolean): Promise<Database> {
  if (config.databaseUrl !== null) return { url: config.databaseUrl, close: async () => {} }
  return openEmbedded(config.dataFolder, exclusive)
}

/** Brings the schema up to date and makes sure that this node holds the key that the data was made with. Returns the new migrations. */
export async function prepareDatabase(pool: Pool, keys: Keys): Promise<string[]> {
  await checkServerVersion(pool)
  const migrations = await migrate(pool)
  const fingerprint = await claimInstallation(pool, keys.fingerprint)
  if (fingerprint !== keys.fingerprint) {
    throw new OperatorError(
      `Este banco foi criado com outra chave mestra (impressão ${fingerprint}; este nó tem ${keys.fingerprint}). Defina CARTEIRO_MASTER_KEY com a chave certa ou restaure master.key na pasta de dados.`,
    )
  }
  return migrations
}

async function checkServerVersion(pool: Pool): Promise<void> {
  if ((await readServerVersion(pool)) < 150_000)
    throw new OperatorError('É preciso o PostgreSQL 15 ou mais novo; o servidor de DATABASE_URL é mais antigo.')
}

export const openRolePool = (config: Config, url: string, log: Log): Pool =>
  openPool({ url, size: config.databasePool, onError: err => log.warn({ err }, 'an idle database connection broke') })
