import { lstat, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sha256 } from '../../domain/evidence/evidence.js'

/** The recording of a call that is over. There is no other copy. */
export interface HeldRecording {
  reference: string
  seconds: number
  bytes: Buffer
}

const PREFIX = 'carteiro-recording-'
const NAME = /^carteiro-recording-([0-9a-f]{16})_([\w.-]+)_(\d+)\.wav$/
/** A recording that nobody took within a week is deleted, because it is personal data. */
const LONGEST_MS = 7 * 24 * 3_600_000

/** By trunk: only the carrier that made a call may tell of it. */
const trunkName = (trunk: string): string => sha256(Buffer.from(trunk)).slice(0, 16)

/** Holds a recording in a file of its own until the returned function is called, so that it outlives this process. */
export async function holdRecording(trunk: string, { reference, seconds, bytes }: HeldRecording): Promise<() => Promise<void>> {
  const path = join(tmpdir(), `${PREFIX}${trunkName(trunk)}_${reference}_${seconds}.wav`)
  const part = `${path}.part`
  try {
    await rm(part, { force: true })
    // Fails where somebody else has put a file or a link there.
    await writeFile(part, bytes, { mode: 0o600, flag: 'wx' })
    await rename(part, path)
  } catch {
    // Without room for it on the disk, the recording is held in memory only.
    await rm(part, { force: true }).catch(() => {})
  }
  return () => rm(path, { force: true })
}

/** Offers the recordings that were held and not released. Those that `take` rejects stay. */
export async function offerHeldRecordings(trunk: string, take: (recording: HeldRecording) => Promise<void>): Promise<void> {
  for (const name of (await readdir(tmpdir())).filter(candidate => candidate.startsWith(PREFIX))) {
    const path = join(tmpdir(), name)
    const file = await lstat(path).catch(() => null)
    // Every user of the machine can put files into this folder.
    if (file === null || !file.isFile() || file.uid !== process.getuid?.()) continue
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
