import type { ObjectStore } from '../../runtime/objects/object-store.js'
import { type Queryable, queryValue } from '../postgres.js'
import { readFilesFolder } from './leftovers.js'
import { askFiles, readObjectName, requireFiles } from './outside.js'

/** A folder of FILES_URL that this database does not use: of an installation before a restore, or of one that shares the place. */
export interface OtherFolder {
  folder: string
  files: number
  size: number
  newest: Date
}

/** As a database draws its folder. */
const isFolderName = (name: string): boolean => /^[0-9a-f]{32}$/.test(name)

export const isOwnFolder = async (db: Queryable, folder: string): Promise<boolean> =>
  folder === (await readFilesFolder(db)) ||
  (await queryValue<boolean>(db, "select exists (select from blob where object like $1 || '/%')", [folder])) === true

/** Those that have files. */
export async function listOtherFolders(db: Queryable): Promise<OtherFolder[]> {
  const files = requireFiles(db)
  return askFiles(files, async () => {
    const found: OtherFolder[] = []
    for (const folder of (await files.listFolders()).filter(isFolderName).sort()) {
      if (await isOwnFolder(db, folder)) continue
      const measured = await measureFolder(files, folder)
      if (measured !== null) found.push(measured)
    }
    return found
  })
}

/** null: it has no files that an installation wrote. */
async function measureFolder(files: ObjectStore, folder: string): Promise<OtherFolder | null> {
  const found: OtherFolder = { folder, files: 0, size: 0, newest: new Date(0) }
  for await (const listed of files.list(folder)) {
    for (const { size, modifiedAt } of listed.filter(isOurs)) {
      found.files++
      found.size += size
      if (modifiedAt > found.newest) found.newest = modifiedAt
    }
  }
  return found.files === 0 ? null : found
}

const isOurs = ({ name }: { name: string }): boolean => readObjectName(name) !== null

/** null: there is no such folder. */
export async function findOtherFolder(db: Queryable, folder: string): Promise<OtherFolder | null> {
  const files = requireFiles(db)
  if (!isFolderName(folder) || (await isOwnFolder(db, folder))) return null
  return askFiles(files, () => measureFolder(files, folder))
}

/** May be interrupted and repeated. */
export async function deleteOtherFolder(db: Queryable, { folder }: OtherFolder): Promise<void> {
  const files = requireFiles(db)
  await askFiles(files, async () => {
    for await (const listed of files.list(folder)) for (const { name } of listed.filter(isOurs)) await files.delete(name)
  })
}
