import { createHash } from 'node:crypto'
import { chownSync, lstatSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { OperatorError } from '../../domain/errors.js'
import { makeFolders } from '../../runtime/folder.js'
import { canReach, type ServerUser, serverUser } from './binaries.js'

/** Where the files and the socket of an embedded server are, and who owns them. */
export interface Location {
  folder: string
  database: string
  sockets: string
  /** null: the server runs as the current user. */
  user: ServerUser | null
  durable: boolean
}

const SOCKET_FILE = '/.s.PGSQL.5432'
/** The length of sun_path on Linux and macOS without the final NUL. */
const MAX_SOCKET_PATH = process.platform === 'darwin' ? 103 : 107
/** Looked at as a sample of the files: each of them is written at every start. */
const OWNED = ['', 'PG_VERSION', 'global', 'global/pg_control', 'pg_wal', 'base']

export function prepareLocation(dataFolder: string, durable: boolean): Location {
  const folder = resolve(dataFolder)
  const user = serverUser()
  makeFolder(folder, null, user === null ? 0o700 : 0o755)
  if (user !== null && !canReach(user, folder)) {
    throw new OperatorError(
      `O usuário do banco de dados (${user.name}) não consegue entrar em ${folder}. Como root, defina CARTEIRO_DATA com uma pasta em que todos possam entrar, como /var/lib/carteiro.`,
    )
  }
  let sockets = join(folder, 'run')
  if (Buffer.byteLength(sockets + SOCKET_FILE) > MAX_SOCKET_PATH) {
    sockets = join(tmpdir(), `carteiro-${createHash('sha256').update(folder).digest('hex').slice(0, 16)}`)
  }
  makeFolder(sockets, user, 0o700)
  return { folder, database: join(folder, 'postgres'), sockets, user, durable }
}

function makeFolder(path: string, owner: ServerUser | null, mode: number): void {
  try {
    makeFolders(path, mode)
    if (owner !== null) chownSync(path, owner.uid, owner.gid)
  } catch (cause) {
    throw new OperatorError(
      `Não foi possível criar a pasta ${path} (${(cause as NodeJS.ErrnoException).code}). Defina CARTEIRO_DATA com uma pasta em que você possa escrever.`,
      { cause },
    )
  }
  const wanted = owner?.uid ?? process.getuid?.()
  const found = lstatSync(path)
  // In a shared temporary folder another user may have created it.
  if (!found.isDirectory() || (owner !== null && found.uid !== wanted)) {
    throw new OperatorError(`${path} não é uma pasta nossa. Remova-a ou defina CARTEIRO_DATA com outra pasta.`)
  }
}

/** A copy made without "cp -a" belongs to whoever made it, and PostgreSQL refuses files that are not its own. */
export function checkOwnership({ database, user }: Location): void {
  const wanted = user?.uid ?? process.getuid?.()
  if (wanted === undefined) return
  for (const name of OWNED) {
    const path = join(database, name)
    const found = statSync(path, { throwIfNoEntry: false })
    if (found === undefined)
      throw new OperatorError(`A cópia do banco em ${database} está incompleta: falta ${path}. Copie a pasta de dados inteira.`)
    if (found.uid !== wanted)
      throw new OperatorError(
        `${path} pertence ao usuário ${found.uid}, e o PostgreSQL roda como ${user?.name ?? wanted}: a cópia da pasta perdeu os donos dos arquivos. Corrija com: chown -R ${user?.name ?? wanted} ${database}`,
      )
  }
  if ((statSync(database).mode & 0o027) !== 0)
    throw new OperatorError(
      `Outros usuários podem entrar em ${database}, e o PostgreSQL recusa isso. Corrija com: chmod 700 ${database}`,
    )
}
