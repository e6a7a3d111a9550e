import { readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { sha256 } from '../../domain/evidence/evidence.js'
import { HOUR_MS } from '../../domain/units.js'
import { openDraft } from '../../runtime/draft.js'
import { makeFolders, syncFolder } from '../../runtime/folder.js'

/** The recording of a call that is over. There is no other copy. */
export interface HeldRecording {
  reference: string
  seconds: number
  bytes: Buffer
}

/** Where recordings are held. Not a temporary folder, which services and containers empty at every start. */
export interface HeldFolder {
  folder: string
  /** Only the carrier that made a call may tell of it. */
  trunk: string
}

const NAME = /^([0-9a-f]{16})_([\w.-]+)_(\d+)\.wav$/
/** A recording that nobody took within a week is deleted, because it is personal data. */
const LONGEST_MS = 7 * 24 * HOUR_MS

const trunkName = (trunk: string): string => sha256(Buffer.from(trunk)).slice(0, 16)

/** Holds a recording in a file of its own until the returned function is called, so that it outlives this process. */
export async function holdRecording(
  { folder, trunk }: HeldFolder,
  { reference, seconds, bytes }: HeldRecording,
): Promise<() => Promise<void>> {
  const path = join(folder, `${trunkName(trunk)}_${reference}_${seconds}.wav`)
  try {
    makeFolders(folder, 0o700)
    const draft = await openDraft(path, 0o600)
    try {
      await draft.handle.writeFile(bytes)
      await draft.handle.sync()
      await rename(draft.path, path)
      await syncFolder(folder)
    } finally {
      await draft.remove()
    }
  } catch {
    // Without room for it on the disk, the recording is held in memory only.
  }
  return () => rm(path, { force: true })
}

/** Offers the recordings that were held and not released. Those that `take` rejects stay. */
export async function offerHeldRecordings(
  { folder, trunk }: HeldFolder,
  take: (recording: HeldRecording) => Promise<void>,
): Promise<void> {
  // The folder is made for the first recording.
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name)
    const file = await stat(path).catch(() => null)
    if (file === null) continue
    const [, owner, reference, seconds] = NAME.exec(name) ?? []
    if (owner === trunkName(trunk)) {
      const bytes = await readFile(path).catch(() => null)
      if (bytes === null) continue
      const isTaken = await take({ reference: reference!, seconds: Number(seconds), bytes }).then(
        () => true,
        () => false,
      )
      if (isTaken) await rm(path, { force: true })
    }
    if (file.mtimeMs < Date.now() - LONGEST_MS) await rm(path, { force: true })
  }
}
