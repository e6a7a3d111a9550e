import { closeSync, existsSync, fsyncSync, mkdirSync, openSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Creates a folder and those above it. Not with Node's "recursive": below a folder in which none can be created (/proc, some
 * network file systems) it tries again without end.
 */
export function makeFolders(path: string, mode?: number): void {
  if (existsSync(path)) return
  const parent = dirname(path)
  if (parent !== path) makeFolders(parent, mode)
  try {
    mkdirSync(path, mode)
    // What is kept in it survives a power failure only if the folder does.
    syncFolderNow(parent)
  } catch (error) {
    // EEXIST: another process was faster. EACCES: a folder that may be written to and not be read cannot be synced.
    if (!['EEXIST', existsSync(path) ? 'EACCES' : ''].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}

/** The name of a new or renamed file survives a power failure only once its folder is on the disk. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  await folder.sync().finally(() => folder.close())
}

/** The same where the program waits: at its start, and in commands. */
export function syncFolderNow(path: string): void {
  const folder = openSync(path, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}
