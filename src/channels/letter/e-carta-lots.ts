import { randomUUID } from 'node:crypto'
import { sha256 } from '../../domain/evidence.js'
import type { Sftp } from './sftp.js'

/**
 * How a lot reaches the post exactly once. Its file is written whole under a name that no other try has; that name and what the
 * file holds are committed; only then it gets the name that the post reads. One file can be given that name once, whoever does it
 * and however often it is tried: a lot that was begun is never written again, it is looked for.
 */
export interface LotJournal {
  /** Opens a lot for those of the letters that are in none that left or is leaving; says where each of them is now. */
  open(references: readonly string[]): Promise<{ lot: number; places: Map<string, LotPlace> }>
  /** Commits that the lot is about to leave. false: its letters are no longer these, it must not. */
  begin(lot: number, upload: Upload, letters: readonly { reference: string; object: number }[]): Promise<boolean>
  uploaded(lot: number): Promise<void>
  /** Takes letters out of lots that are not leaving; says where those are that stay where they are. */
  leave(references: readonly string[]): Promise<Map<string, LotPlace>>
  find(reference: string): Promise<LotPlace | null>
  /** The lot never left, nor ever will. */
  dissolve(lot: number): Promise<void>
  /** No lot gets a lower number from now on. */
  startAt(first: number): Promise<void>
}

export interface LotPlace {
  lot: number
  object: number
  begun: boolean
  uploaded: boolean
  /** null: not begun, or by a version that did not write it down. */
  upload: Upload | null
}

/** The file of a lot: what it holds, and its name until it is the post's. */
interface Upload {
  part: string
  size: number
  sha256: string
}

/** Under the lot's name lies another file: somebody else counts lots under the same contract. */
export class LotTaken extends Error {
  constructor(name: string) {
    super(`${name} exists with another content`)
    this.name = 'LotTaken'
  }
}

/**
 * Puts a lot into the post's folder. `begin` is asked once the file is there whole, under a name that the post does not read;
 * false: it must not leave, and does not.
 */
export async function placeLot(
  session: Sftp,
  path: string,
  bytes: Uint8Array,
  begin: (upload: Upload) => Promise<boolean>,
): Promise<boolean> {
  const upload = { part: `${path}.${randomUUID()}.part`, size: bytes.length, sha256: sha256(bytes) }
  if ((await session.size(path)) !== null) {
    if (!(await holds(session, path, upload))) throw new LotTaken(path)
    // A database that was restored makes the same lot of the same letters: the post has it.
    return begin(upload)
  }
  await session.write(upload.part, bytes)
  // Where nobody knows whether it was begun, the file stays: it proves that the lot did not leave.
  if (!(await begin(upload))) {
    await session.remove(upload.part).catch(() => {})
    return false
  }
  if (!(await session.move(upload.part, path))) throw new Error('the file of the lot was gone before it had its name')
  return true
}

/** What became of a lot that was begun; `settle` commits it. Throws while nobody can tell. */
export async function lookForLot(
  session: Sftp,
  path: string,
  upload: Upload,
  settle: (outcome: 'left' | 'stayed') => Promise<void>,
): Promise<void> {
  if (await holds(session, path, upload)) return settle('left')
  // Taken out of the way first: whoever began it may still live, and only one of us can move it.
  const aside = `${upload.part}.void`
  const moved = await session.move(upload.part, aside).catch(() => false)
  // Somebody else may have moved it there before.
  if (!moved && (await session.size(aside)) === null) {
    throw new Error(`${path} was begun and is gone: the post has taken it, or nobody`)
  }
  await settle('stayed')
  await session.remove(aside).catch(() => {})
}

async function holds(session: Sftp, path: string, { size, sha256: hash }: Upload): Promise<boolean> {
  return (await session.size(path)) === size && sha256(await session.read(path)) === hash
}
