import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { deriveKeys } from '../../domain/access/keys.js'
import { OperatorError, StoreUnavailable } from '../../domain/errors.js'
import { MIB } from '../../domain/units.js'
import type { ObjectStore } from '../../runtime/objects/object-store.js'
import { openStream, SealedStreamFault } from '../../runtime/sealed-stream.js'
import { copyIn } from '../../store/backup/copy-stream.js'
import { restoreFiles } from '../../store/backup/files.js'
import { releaseInstallation, takeInstallation } from '../../store/backup/restore-lock.js'
import {
  type BackupConnection,
  beginRestoring,
  clearTables,
  commitRestoring,
  connectUnhurried,
  copyInText,
  findInstallation,
  finishTables,
  listAppliedMigrations,
  listCopiedTables,
} from '../../store/backup/tables.js'
import { openRestoration } from '../../store/home-server.js'
import { ownsSchema } from '../../store/migrate.js'
import { isOutage, sqlState } from '../../store/postgres.js'
import { explainStoreFault } from '../database/store-fault.js'
import { type Frame, FrameFault, type Manifest, readFrames } from './frames.js'

export interface ReadingParts {
  file: string
  passphrase: string
  onProgress?(done: number, of: number): void
}

export interface RestoreParts extends ReadingParts {
  ownerUrl: string
  /** Where the files of the backup go; null: into the database. */
  files: ObjectStore | null
  /** Brings an empty database to the schema of the backup. */
  migrate(upTo: number): Promise<unknown>
  /** Refuses a master key where another one is in its place. */
  checkKey(masterKey: Buffer): void
  /** Puts the master key in its place; refuses where another one is there. Before the commit: a key without a database does no harm. */
  keepKey(masterKey: Buffer): void
}

export interface RestoreReport {
  version: string
  createdAt: Date
  tables: number
  rows: number
  /** Those that are outside of the database. */
  files: number
  /** Files that were missing or damaged, or deleted, when the backup was made: nothing of them is restored. */
  filesMissing: number
  events: number
}

/**
 * Everything is written in one transaction: an interrupted restore leaves an empty database, and can be repeated. Files outside are taken
 * back; those of a restore that was killed, or has no answer to its commit, stay in a folder that perhaps no database knows.
 */
export async function restoreBackup(parts: RestoreParts): Promise<RestoreReport> {
  const client = await connectUnhurried(parts.ownerUrl)
  const files = restoreFiles(parts.files)
  try {
    if (!(await ownsSchema(client))) throw new OperatorError(OWNER_NEEDED)
    await refuseUsed(client)
    await takeInstallation(client)
    return await readBackup(parts, {
      begin: manifest => beginRestore(client, manifest, parts),
      table: async (table, data) => copyIn(client, copyInText(table), data),
      file: (sha256, bytes) => files.keep(client, sha256, bytes),
      async finish(manifest) {
        await finishTables(client, manifest.sequences)
        await files.finish(client)
        const moment = new Date(manifest.createdAt)
        await openRestoration(client, 'backup', `Cópia de ${moment.toISOString()}, restaurada por carteiro restore.`)
        parts.keepKey(Buffer.from(manifest.masterKey, 'hex'))
        await commitRestoring(client)
      },
    })
  } catch (error) {
    // The database may have been committed, and then it needs its files.
    if (error instanceof StoreUnavailable && error.maybeCommitted) throw new OperatorError(UNKNOWN_COMMIT, { cause: error })
    await files.undo().catch(() => {})
    throw explainRefusal(error)
  } finally {
    // Before the session ends, which may take the server a moment: the command itself goes on with the database.
    await releaseInstallation(client).catch(() => {})
    await client.end().catch(() => {})
  }
}

const OWNER_NEEDED =
  'Restaurar pede o dono do banco: defina DATABASE_OWNER_URL com a URL dele e rode "carteiro restore" outra vez. Nada foi gravado, e "carteiro migrate" não é preciso.'

/** Nothing of the restore is left: what the server said, or that the connection broke, is told with the cure. */
function explainRefusal(error: unknown): unknown {
  const isAnswer = sqlState(error) !== ''
  const isRaw = !(error instanceof StoreUnavailable) && (isAnswer || isOutage(error))
  const fault = explainStoreFault(isRaw ? new StoreUnavailable(error, { reachable: isAnswer }) : error)
  return fault === null ? error : new OperatorError(`A restauração parou, e nada foi restaurado. ${fault}`, { cause: error })
}

const UNKNOWN_COMMIT =
  'A conexão com o banco caiu enquanto ele confirmava a restauração, e não se sabe se ela valeu. Os arquivos gravados fora do banco ficam. Repita o comando: se ele disser que o banco já tem uma instalação, ela valeu, e o que a cópia tinha por enviar fica retido quando o serviço iniciar; se não, ela é refeita.'

/** Reads all of it and compares every digest; nothing is written anywhere. */
export const checkBackup = (parts: ReadingParts): Promise<RestoreReport> =>
  readBackup(parts, {
    begin: async () => {},
    async table(_, data) {
      for await (const _part of data);
      return null
    },
    file: async () => {},
    finish: async () => {},
  })

async function refuseUsed(client: BackupConnection): Promise<void> {
  const found = await findInstallation(client)
  if (found !== null)
    throw new OperatorError(
      `Este banco já tem uma instalação (${found.accounts} contas), e nada é restaurado por cima dela. Aponte CARTEIRO_DATA para uma pasta vazia, ou DATABASE_URL e DATABASE_OWNER_URL para um banco vazio.`,
    )
}

async function beginRestore(client: BackupConnection, manifest: Manifest, { migrate, checkKey }: RestoreParts): Promise<void> {
  checkKey(Buffer.from(manifest.masterKey, 'hex'))
  const newest = manifest.migrations.at(-1)?.number ?? 0
  await migrate(newest)
  const applied = await listAppliedMigrations(client)
  const isSame = manifest.migrations.every(({ number, sha256 }) =>
    applied.some(own => own.number === number && own.sha256 === sha256),
  )
  if (!isSame)
    throw new OperatorError(
      `A cópia foi feita pela versão ${manifest.version}, com outro esquema do banco. Restaure com essa versão e atualize depois.`,
    )
  // What a newer migration does to rows would not be done to those of the backup.
  const beyond = applied.find(({ number }) => number > newest)
  if (beyond !== undefined)
    throw new OperatorError(
      `Este banco já tem a migração ${beyond.name}, mais nova do que a cópia, feita pela versão ${manifest.version}. Nada foi restaurado: restaure num banco vazio, que "carteiro restore" atualiza depois.`,
    )
  const here = await listCopiedTables(client)
  const missing = manifest.tables.filter(({ name }) => !here.some(table => table.name === name))
  if (missing.length > 0) throw new FrameFault(`there is no table ${missing[0]!.name}`)
  const tables = [...here].reverse()
  await beginRestoring(client, tables)
  // Only now nothing more can come: a node that was about to connect when the restore looked has done so.
  await takeInstallation(client)
  await refuseUsed(client)
  await clearTables(client, tables, manifest.months)
}

interface Writer {
  begin(manifest: Manifest): Promise<void>
  /** Resolves with the rows that were written; null: none was to be. */
  table(table: Manifest['tables'][number], data: AsyncIterable<Buffer>): Promise<number | null>
  /** A whole file, after all tables. */
  file(sha256: string, bytes: Buffer): Promise<void>
  finish(manifest: Manifest): Promise<void>
}

/** Reads a backup: into an empty database, or only to see whether it is whole. */
export async function readBackup(parts: ReadingParts, writer: Writer): Promise<RestoreReport> {
  const { file, passphrase, onProgress = () => {} } = parts
  const size = await stat(file).then(
    found => found.size,
    () => {
      throw new OperatorError(`O arquivo ${file} não existe, ou não pode ser lido. Verifique o caminho e as permissões.`)
    },
  )
  const source = createReadStream(file, { highWaterMark: MIB })
  let report: RestoreReport | undefined
  try {
    await pipeline(
      source,
      bytes => openStream(bytes, passphrase),
      createGunzip(),
      async (plain: AsyncIterable<Buffer>) => {
        report = await readContents(readFrames(plain), writer, () => onProgress(source.bytesRead, size))
      },
    )
  } catch (error) {
    throw explainFault(error, file)
  }
  return report!
}

async function readContents(frames: AsyncGenerator<Frame>, writer: Writer, onFrame: () => void): Promise<RestoreReport> {
  const next = async (): Promise<Frame> => {
    const { value, done } = await frames.next()
    if (done === true) throw new FrameFault('the frames end too early')
    onFrame()
    return value
  }
  const first = await next()
  if (first.kind !== 'manifest' || first.value.format !== 1) throw new FrameFault('the first frame is no manifest of this format')
  const manifest = first.value
  if (deriveKeys(Buffer.from(manifest.masterKey, 'hex')).fingerprint !== manifest.fingerprint) throw new FrameFault('another key')
  await writer.begin(manifest)
  const report: RestoreReport = {
    version: manifest.version,
    createdAt: new Date(manifest.createdAt),
    tables: 0,
    rows: 0,
    files: 0,
    filesMissing: 0,
    events: manifest.log.size,
  }
  for (let frame = await next(); ; frame = await next()) {
    if (frame.kind === 'whole') {
      const { tables, rows, files } = frame.value
      if (tables !== report.tables || rows !== report.rows || files !== report.files)
        throw new FrameFault('tables or files are missing')
      // Reads the file to its end first: only its last sealed chunk proves that nothing was cut off or added.
      if ((await frames.next()).done !== true) throw new FrameFault('frames follow the last one')
      await writer.finish(manifest)
      return report
    }
    const read = readData(next)
    if (frame.kind === 'file') {
      const { sha256 } = frame.value
      const parts: Buffer[] = []
      for await (const part of read.data()) parts.push(part)
      const end = read.end()
      if (end.stated.sha256 === '') {
        report.filesMissing++
        continue
      }
      if (end.sha256 !== sha256 || end.stated.sha256 !== sha256) throw new FrameFault(`the file ${sha256} is another one`)
      await writer.file(sha256, Buffer.concat(parts))
      report.files++
      continue
    }
    const name = frame.kind === 'table' ? frame.value.name : null
    const table = manifest.tables.find(known => known.name === name)
    if (table === undefined) throw new FrameFault(`no table begins with a frame ${frame.kind}`)
    const written = await writer.table(table, read.data())
    const { sha256, stated } = read.end()
    if (sha256 !== stated.sha256 || (written !== null && written !== stated.rows))
      throw new FrameFault(`the rows of ${table.name} are not those of the backup`)
    report.tables++
    report.rows += stated.rows
  }
}

/** The data of a table or a file, and what its end says of them. */
function readData(next: () => Promise<Frame>) {
  const hash = createHash('sha256')
  let stated = { rows: 0, sha256: '' }
  async function* data(): AsyncGenerator<Buffer> {
    for (let part = await next(); ; part = await next()) {
      if (part.kind === 'end') {
        stated = part.value
        return
      }
      if (part.kind !== 'data') throw new FrameFault(`data are interrupted by a frame ${part.kind}`)
      hash.update(part.bytes)
      yield part.bytes
    }
  }
  return { data, end: () => ({ sha256: hash.digest('hex'), stated }) }
}

const faults: Record<SealedStreamFault['kind'], string> = {
  foreign: 'não é uma cópia feita por carteiro backup',
  passphrase: 'não abre: a senha não é a desta cópia, ou ele foi alterado ou cortado',
  damaged: 'foi alterado depois de gravado: nada foi restaurado',
  cut: 'termina antes do fim, ou o fim foi alterado: nada foi restaurado',
}

function explainFault(error: unknown, file: string): unknown {
  if (error instanceof SealedStreamFault) return new OperatorError(`O arquivo ${file} ${faults[error.kind]}.`, { cause: error })
  if (error instanceof FrameFault)
    return new OperatorError(`O arquivo ${file} não é uma cópia inteira (${error.message}): nada foi restaurado.`, {
      cause: error,
    })
  return error
}
