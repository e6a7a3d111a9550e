import { open, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { ServerMark } from '../../domain/database-copy.js'
import type { TreeHead } from '../../evidence/tree-head.js'
import { makeFolders } from '../../runtime/folder.js'

/** How far the database had come, kept outside of it: docs/adr/0043-an-old-copy-sends-nothing.md. */
export interface DatabaseMemory extends TreeHead {
  installation: string
  mark: ServerMark
  /** By the database's clock. */
  atMs: number
  /** Whether the node stopped after it wrote this. If it was killed or still runs, it may have done more since. */
  isFinal: boolean
}

/** In the data folder. */
export const MEMORY_FILE = 'database-memory.json'

interface StoredMemory extends DatabaseMemory {
  /** The inode of the file itself: a file that was copied with its folder has another one. */
  inode: number
}

/** null: there is none, or it cannot be read. */
export async function readMemory(path: string): Promise<{ memory: DatabaseMemory; isCopied: boolean } | null> {
  try {
    const { inode, ...memory } = JSON.parse(await readFile(path, 'utf8')) as StoredMemory
    return { memory, isCopied: (await stat(path)).ino !== inode }
  } catch {
    return null
  }
}

/** Whole or not at all, also after a power failure. */
export async function writeMemory(path: string, memory: DatabaseMemory): Promise<void> {
  makeFolders(dirname(path))
  const draft = `${path}.new-${process.pid}`
  const file = await open(draft, 'w', 0o600)
  try {
    const { ino: inode } = await file.stat()
    await file.writeFile(`${JSON.stringify({ ...memory, inode } satisfies StoredMemory)}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(draft, path).finally(() => rm(draft, { force: true }))
}
