import { OperatorError } from '../domain/errors.js'
import type { Keys } from '../domain/keys.js'
import { openEmbedded } from '../store/embedded/server.js'
import { claimInstallation } from '../store/installation.js'
import { migrate } from '../store/migrate.js'
import { openPool, type Pool, readServerVersion } from '../store/postgres.js'
import type { Config } from './config.js'
import type { Log } from './log.js'

/** The database of DATABASE_URL, or the embedded one in the data folder. */
export const openDatabase = async (config: Config, exclusive: boolean): Promise<{ url: string; close(): Promise<void> }> =>
  config.databaseUrl === null ? openEmbedded(config.dataFolder, exclusive) : { url: config.databaseUrl, close: async () => {} }

/** Brings the schema up to date and makes sure that this node holds the key that the data was made with. Returns the new migrations. */
export async function prepareDatabase(pool: Pool, keys: Keys): Promise<string[]> {
  if ((await readServerVersion(pool)) < 150_000)
    throw new OperatorError('É preciso o PostgreSQL 15 ou mais novo; o servidor de DATABASE_URL é mais antigo.')
  const migrations = await migrate(pool)
  const fingerprint = await claimInstallation(pool, keys.fingerprint)
  if (fingerprint !== keys.fingerprint)
    throw new OperatorError(
      `Este banco foi criado com outra chave mestra (impressão ${fingerprint}; este nó tem ${keys.fingerprint}). Defina CARTEIRO_MASTER_KEY com a chave certa ou restaure master.key na pasta de dados.`,
    )
  return migrations
}

export const openRolePool = (config: Config, url: string, log: Log): Pool =>
  openPool({ url, size: config.databasePool, onError: err => log.warn({ err }, 'an idle database connection broke') })
