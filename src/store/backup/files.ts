import { randomBytes } from 'node:crypto'
import type { ObjectStore } from '../../runtime/objects/object-store.js'
import { askFiles, digestPieces, newObjectName } from '../files/outside.js'
import { execute, type Queryable, run } from '../postgres.js'

/** The files that a backup brings beside the rows: they go to the FILES_URL of this machine, or into the database. */
export interface RestoredFiles {
  /** The row of the file is here already, with the name that its object had elsewhere. */
  keep(db: Queryable, sha256: string, bytes: Buffer): Promise<void>
  /** Returns how many rows have no file in the backup, and are not restored. */
  finish(db: Queryable): Promise<number>
  /** Nothing was committed: takes back what was written outside. */
  undo(): Promise<void>
}

export function restoreFiles(files: ObjectStore | null): RestoredFiles {
  // A folder of its own: the machine that made the backup may still run, with the same FILES_URL.
  const folder = randomBytes(16).toString('hex')
  return {
    async keep(db, sha256, bytes) {
      const key = Buffer.from(sha256, 'hex')
      if (files === null)
        return execute(db, 'update blob set bytes = $2, object = null, pieces = null where sha256 = $1', [key, bytes])
      const object = newObjectName(folder, sha256)
      await askFiles(files, ({ put }) => put(object, bytes, sha256))
      await execute(db, 'update blob set object = $2, pieces = $3 where sha256 = $1', [key, object, digestPieces(bytes)])
    },
    async finish(db) {
      await execute(db, 'update installation set files_folder = $1', [folder])
      const { rowCount } = await run(db, "delete from blob where object not like $1 || '/%'", [folder])
      return rowCount ?? 0
    },
    async undo() {
      if (files === null) return
      for await (const listed of files.list(folder)) for (const { name } of listed) await files.delete(name)
    },
  }
}
