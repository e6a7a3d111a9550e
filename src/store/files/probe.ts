import { hash, randomBytes } from 'node:crypto'
import { FilesUnavailable } from '../../domain/errors.js'
import type { ObjectStore } from '../../runtime/objects/object-store.js'
import type { Queryable } from '../postgres.js'
import { readFilesFolder } from './leftovers.js'
import { askFiles, newObjectName } from './outside.js'

/** Writes an object, reads it back, lists and deletes it. One that is left behind is found as any other without a row. */
export async function probeFiles(db: Queryable, files: ObjectStore): Promise<void> {
  const bytes = randomBytes(1_024)
  const sha256 = hash('sha256', bytes, 'hex')
  const folder = await readFilesFolder(db)
  const object = newObjectName(folder, sha256)
  await askFiles(files, async () => {
    await files.put(object, bytes, sha256)
    if (!(await files.read(object, 0, bytes.length))?.equals(bytes))
      throw new FilesUnavailable(
        `${files.name} não devolveu o que acabou de ser gravado. Outro programa muda ou apaga os arquivos?`,
      )
    // Only the first page: that it is allowed is enough.
    for await (const _ of files.list(folder)) break
    await files.delete(object)
  })
}
