import { DAY_MS } from '../../domain/units.js'
import { filesOf, type Queryable, queryValue, queryValues } from '../postgres.js'
import { askFiles, readObjectName } from './outside.js'

/** Longer than any store of a file takes: an object that is older and has no row will never get one. */
const OLD_MS = DAY_MS

export const readFilesFolder = async (db: Queryable): Promise<string> =>
  (await queryValue<string>(db, 'select files_folder from installation'))!

/**
 * Deletes the objects of this database that no row refers to: a process died between the two, or the place outside was away when the row
 * was deleted. Those of another database that shares the place are in another folder.
 */
export async function deleteLeftovers(db: Queryable, signal?: AbortSignal): Promise<{ deleted: number; bytes: number }> {
  const files = filesOf(db)
  const done = { deleted: 0, bytes: 0 }
  if (files === null) return done
  const folder = await readFilesFolder(db)
  await askFiles(files, async () => {
    for await (const listed of files.list(folder)) {
      const old = listed.filter(({ name, modifiedAt }) => readObjectName(name) !== null && isOld(modifiedAt))
      const owned = new Set(await findOwned(db, old))
      for (const { name, size } of old.filter(object => !owned.has(object.name))) {
        if (signal?.aborted === true) return
        await files.delete(name)
        done.deleted++
        done.bytes += size
      }
    }
  })
  return done
}

export const isOld = (at: Date): boolean => at.getTime() < Date.now() - OLD_MS

const findOwned = (db: Queryable, objects: readonly { name: string }[]): Promise<string[]> =>
  queryValues(db, 'select object from blob where sha256 = any($1) and object is not null', [
    objects.map(({ name }) => Buffer.from(readObjectName(name)!.sha256, 'hex')),
  ])
