import { OperatorError } from '../domain/errors.js'
import type { Keys } from '../domain/keys.js'
import { mayRewriteHistory, readUser } from '../store/application-role.js'
import { openEmbedded } from '../store/embedded/server.js'
import { claimInstallation, readFingerprint } from '../store/installation.js'
import { migrate } from '../store/migrate.js'
import { openPool, type Pool, readServerVersion } from '../store/postgres.js'
import type { Config } from './config.js'
import type { Log } from './log.js'

export interface Database {
  /** For the program, whose role adds to the history and cannot change it. */
  url: string
  /** For migrations: the owner of the tables. */
  ownerUrl: string
  close(): Promise<void>
}

/** The database of DATABASE_URL, or the embedded one in the data folder. `signal` ends a start that is under way. */
export async function openDatabase(config: Config, exclusive: boolean, log: Log, signal?: AbortSignal): Promise<Database> {
  const { databaseUrl: url, databaseOwnerUrl } = config
  if (url !== null) return { url, ownerUrl: databaseOwnerUrl ?? url, close: async () => {} }
  return openEmbedded(config.dataFolder, exclusive, {
    report: (details, message) => log.warn(details, message),
    ...(signal === undefined ? {} : { signal }),
  })
}

/**
 * Brings the schema up to date and makes sure that this node holds the key that the data was made with. `loadKeys` may create a
 * key only for a database that has none yet.
 */
export async function prepareDatabase(
  database: Pick<Database, 'url' | 'ownerUrl'>,
  loadKeys: (isNew: boolean) => Keys,
): Promise<{ keys: Keys; migrations: string[] }> {
  const owner = openPool({ url: database.ownerUrl, size: 1, asOwner: true, onError: () => {} })
  try {
    if ((await readServerVersion(owner)) < 150_000)
      throw new OperatorError('É preciso o PostgreSQL 15 ou mais novo; o servidor de DATABASE_URL é mais antigo.')
    const migrations = await migrate(owner, await readApplication(owner, database))
    const keys = loadKeys((await readFingerprint(owner)) === null)
    await claimKeys(owner, keys)
    return { keys, migrations }
  } finally {
    await owner.end()
  }
}

/** The user that the program connects as; null: the same user as the owner. */
async function readApplication(owner: Pool, { url, ownerUrl }: Pick<Database, 'url' | 'ownerUrl'>): Promise<string | null> {
  if (url === ownerUrl) return null
  const pool = openPool({ url, size: 1, asOwner: true, onError: () => {} })
  try {
    const [user, ownerUser] = await Promise.all([pool, owner].map(readUser))
    return user === ownerUser ? null : user!
  } finally {
    await pool.end()
  }
}

export async function claimKeys(pool: Pool, keys: Keys): Promise<void> {
  const fingerprint = await claimInstallation(pool, keys.fingerprint)
  if (fingerprint !== keys.fingerprint)
    throw new OperatorError(
      `Este banco foi criado com outra chave mestra (impressão ${fingerprint}; este nó tem ${keys.fingerprint}). Defina CARTEIRO_MASTER_KEY com a chave certa ou restaure master.key na pasta de dados.`,
    )
}

export const openRolePool = (config: Config, url: string, log: Log): Pool =>
  openPool({ url, size: config.databasePool, onError: err => log.warn({ err }, 'an idle database connection broke') })

/** See "Dono e usuário do banco" in docs/operacao.md. */
export async function warnUnprotected(pool: Pool, log: Log): Promise<void> {
  if (await mayRewriteHistory(pool))
    log.warn(
      'the role of DATABASE_URL owns the history or may change it: only triggers protect it (docs/operacao.md, "Dono e usuário do banco")',
    )
}
