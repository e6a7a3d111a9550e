import type { Keys } from '../../domain/access/keys.js'
import { FilesUnavailable, OperatorError } from '../../domain/errors.js'
import { type ObjectStore, ObjectStoreFault } from '../../runtime/objects/object-store.js'
import { openObjectStore } from '../../runtime/objects/settings.js'
import { watchStore } from '../../runtime/objects/watched-store.js'
import { mayRewriteHistory, readUser } from '../../store/application-role.js'
import { joinInstallation } from '../../store/backup/restore-lock.js'
import { openEmbedded } from '../../store/embedded/server.js'
import { claimInstallation, readFingerprint } from '../../store/installation.js'
import { migrate } from '../../store/migrate.js'
import { sharesSessions } from '../../store/pooler.js'
import { isOutage, openPool, type Pool, readServerVersion, serversOf } from '../../store/postgres.js'
import { Servers } from '../../store/servers.js'
import { readReplication } from '../../store/standby.js'
import type { Config } from '../config.js'
import type { Log } from '../log.js'
import { findRoot } from './master-key-rotation.js'

export interface Database {
  /** With the program's role, which may add to the history and may not change it. */
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
  loadKeys: (isNew: boolean, fingerprint: string | null) => Keys,
): Promise<{ keys: Keys; migrations: string[] }> {
  await refuseSharedSessions([database.ownerUrl, database.url])
  const owner = openPool({ url: database.ownerUrl, size: 2, asOwner: true, onError: () => {} })
  try {
    if ((await readServerVersion(owner)) < 150_000)
      throw new OperatorError(
        'É preciso o PostgreSQL 15 ou mais novo; o servidor de DATABASE_URL é mais antigo. Atualize-o ou informe outro em DATABASE_URL.',
      )
    return await unlessRestoring(owner, async () => {
      const migrations = await migrate(owner, await readApplication(owner, database))
      const fingerprint = await readFingerprint(owner)
      const keys = loadKeys(fingerprint === null, fingerprint)
      await claimKeys(owner, keys)
      return { keys: await findRoot(owner, keys), migrations }
    })
  } finally {
    await owner.end()
  }
}

async function unlessRestoring<T>(owner: Pool, work: () => Promise<T>): Promise<T> {
  const client = await owner.connect()
  client.on('error', () => {})
  try {
    await joinInstallation(client)
    return await work()
  } finally {
    // Closing the connection also releases the lock.
    client.release(true)
  }
}

/** The schema alone, without a key: for an empty database that a backup is restored into. `upTo`: the last migration of the backup. */
export async function migrateOnly(database: Pick<Database, 'url' | 'ownerUrl'>, upTo: number): Promise<string[]> {
  const owner = openPool({ url: database.ownerUrl, size: 1, asOwner: true, onError: () => {} })
  try {
    return await migrate(owner, await readApplication(owner, database), { upTo })
  } finally {
    await owner.end()
  }
}

/** Of a database, or of one of its replicas. */
export async function refuseSharedSessions(
  urls: Iterable<string>,
  setting = 'DATABASE_URL (e DATABASE_OWNER_URL)',
): Promise<void> {
  for (const url of new Set(urls))
    if (await sharesSessions(new Servers(url)))
      throw new OperatorError(
        `A URL do banco leva a um PgBouncer (ou outro pool de conexões) em modo de transação, que troca a conexão a cada transação. O Carteiro precisa de sessões: LISTEN, comandos preparados, papel e prazos da sessão. Use pool_mode=session para este banco no PgBouncer, ou aponte ${setting} direto ao PostgreSQL: o Carteiro já mantém o seu próprio pool (DATABASE_POOL).`,
      )
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

/** Where recordings and letters are kept; null: in the database. */
export const openFiles = ({ files }: Config): ObjectStore | null => files && openObjectStore(files)

/**
 * The log has one line when the database, or the place of the files outside of it, is lost and one when it is back; what fails in between
 * says so at the level "debug".
 */
export function openRolePool(config: Config, url: string, log: Log): Pool {
  const servers = new Servers(url, {
    onLost: err => log.error({ err }, 'the database is lost: sends are answered 503 and workers wait until it is back'),
    onBack: downMs => log.warn({ downMs }, 'the database is back'),
  })
  const files = openFiles(config)
  return openPool({
    url,
    servers,
    size: config.databasePool,
    files:
      files &&
      watchStore(files, {
        onLost: (err, access) => log.error({ err, access }, 'the files are lost: what needs them waits until they are back'),
        onBack: (downMs, access) => log.warn({ downMs, access }, 'the files are back'),
      }),
    onError: reportTo(log, 'an idle database connection broke'),
  })
}

/** For work that is done again after a failure. */
export const reportTo =
  (log: Log, message: string, details: object = {}) =>
  (err: unknown): void =>
    log[isOutage(err) || isFilesOutage(err) ? 'debug' : 'warn']({ ...details, err }, message)

/** openRolePool tells of it once. */
const isFilesOutage = (err: unknown): boolean => err instanceof FilesUnavailable && err.cause instanceof ObjectStoreFault

/**
 * What is wrong with the replication, in Portuguese; null: nothing. A standby that lags holds less than was answered, and its promotion
 * loses the difference without a word.
 */
export async function describeReplication(pool: Pool): Promise<string | null> {
  const { standbys, synchronous } = await readReplication(pool)
  const several = (serversOf(pool)?.count ?? 1) > 1
  if (synchronous || (standbys === 0 && !several)) return null
  return several ? 'DATABASE_URL tem vários servidores e a replicação é assíncrona' : `há ${standbys} réplica(s) assíncrona(s)`
}

export const REPLICATION_ADVICE =
  'Se uma réplica for promovida, envios já respondidos com 200 podem se perder. Defina synchronous_standby_names no servidor primário (docs/operacao.md, "Réplicas e troca de servidor").'

export async function warnAsynchronous(pool: Pool, log: Log): Promise<void> {
  const found = await describeReplication(pool)
  if (found !== null) log.warn(`Banco de dados: ${found}. ${REPLICATION_ADVICE}`)
}

/** See "Dono e usuário do banco" in docs/operacao.md. */
export async function warnUnprotected(pool: Pool, log: Log): Promise<void> {
  if (await mayRewriteHistory(pool))
    log.warn(
      'the role of DATABASE_URL owns the history or may change it: only triggers protect it (docs/operacao.md, "Dono e usuário do banco")',
    )
}
