import { execFileSync } from 'node:child_process'
import { chmodSync, closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Cluster } from './cluster.js'
import type { Load } from './drill.js'

/** A file system small enough to be filled. The database starts with about 200 MiB. */
const DISK_MIB = 512
const CHUNK = Buffer.alloc(1_048_576)
/** Nobody waits longer for a database whose disk has room again. */
const BACK_MS = 120_000

/** A tmpfs: only root may mount one, and it must be taken away again. */
export function mountSmallDisk(): { folder: string; unmount(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'carteiro-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MIB}m,mode=755`, 'tmpfs', folder], { stdio: 'pipe' })
  } catch (cause) {
    rmSync(folder, { recursive: true, force: true })
    throw new Error('the disk drill mounts a small tmpfs, which takes root and the right to mount', { cause })
  }
  chmodSync(folder, 0o755)
  return {
    folder,
    unmount() {
      // Not all processes of a killed server are gone at once.
      execFileSync('umount', ['--lazy', folder])
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Takes all the room that is left. */
function fill(path: string): void {
  const file = openSync(path, 'a')
  try {
    for (let size = CHUNK.length; size >= 1; ) {
      try {
        writeSync(file, CHUNK, 0, size)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
        size = Math.floor(size / 2)
      }
    }
  } finally {
    closeSync(file)
  }
}

/** What the keeper of the server did while the disk was full. */
export interface DiskOutage {
  attempts: number
  reason: string
  /** From the moment when there was room again to the first answer to a client. */
  backMs: number
}

/** The disk fills up, the server is killed, and for a while every start of it fails; then there is room again. */
export async function runOutOfDisk(
  cluster: Cluster,
  { fullMs, onProgress }: { fullMs: number; onProgress?: ((done: number, of: number) => void) | undefined },
  load: Load,
): Promise<DiskOutage> {
  await load.reach(50)
  const filler = join(cluster.folder, 'filler')
  fill(filler)
  cluster.killDatabase()
  for (const fullAt = Date.now(); Date.now() - fullAt < fullMs; ) {
    await sleep(1_000)
    // What the server or the log gave back is taken as well.
    fill(filler)
    onProgress?.(Math.round((Date.now() - fullAt) / 1_000), Math.round(fullMs / 1_000))
  }
  const failures = cluster.reports.filter(({ message }) => message.includes('does not start'))
  const answered = load.answered.length
  rmSync(filler)
  const roomAt = Date.now()
  while (load.answered.length === answered && Date.now() - roomAt < BACK_MS) await sleep(50)
  if (load.answered.length === answered) throw new Error('nobody is answered, although the disk has room again')
  const backMs = Date.now() - roomAt
  await load.reach(answered + 50)
  return { attempts: failures.length, reason: String(failures.at(-1)?.err ?? ''), backMs }
}
