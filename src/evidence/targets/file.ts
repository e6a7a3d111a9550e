import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { makeFolders, syncFolder } from '../../runtime/folder.js'

const END = Buffer.from('\n\n')

/**
 * Appends a note to an archive. A crash while a note is written leaves a part of it at the end: the next note begins after an empty
 * line, and readers pass over the part. Nothing is ever cut off, so that the file may be one that can only grow.
 */
export async function appendToArchive(path: string, note: string): Promise<void> {
  makeFolders(dirname(path))
  const file = await open(path, 'a+', 0o644)
  try {
    const { size } = await file.stat()
    const tail = Buffer.alloc(Math.min(size, END.length))
    await file.read(tail, 0, tail.length, size - tail.length)
    await file.appendFile(`${size === 0 || tail.equals(END) ? '' : END.toString()}${note}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  await syncFolder(dirname(path))
}
