import { randomUUID } from 'node:crypto'
import { sha256 } from '../../../domain/evidence/evidence.js'
import type { Upload } from './lot-journal.js'
import type { Sftp } from './sftp.js'

/** The server has a different file under the lot's name: another installation numbers lots under the same contract. */
export class LotNumberTaken extends Error {
  override readonly name = 'LotNumberTaken'
}

/**
 * Uploads a lot exactly once. The file is written completely under a name unique to the attempt, `begin` commits that name and the
 * file's hash, and only then is the file renamed to the name that Correios reads. A file can be renamed only once, so a lot that
 * was begun is never written again: it is searched for on the server. When `begin` returns false, the file is removed.
 */
export async function uploadLot(
  session: Sftp,
  path: string,
  bytes: Uint8Array,
  begin: (upload: Upload) => Promise<boolean>,
): Promise<boolean> {
  const upload = { part: `${path}.${randomUUID()}.part`, size: bytes.length, sha256: sha256(bytes) }
  if ((await session.size(path)) !== null) {
    if (!(await hasContent(session, path, upload))) throw new LotNumberTaken(`${path} exists with another content`)
    // A restored database creates the same lot from the same letters again, and Correios already has it.
    return begin(upload)
  }
  await session.write(upload.part, bytes)
  // If begin() throws, the file stays on the server: its presence proves that the lot was not renamed.
  if (!(await begin(upload))) {
    await session.remove(upload.part).catch(() => {})
    return false
  }
  if (!(await session.move(upload.part, path))) throw new Error('the file of the lot was gone before it had its name')
  return true
}

/** Finds out whether a begun lot was uploaded; `settle` commits the outcome. Throws while the outcome is unknown. */
export async function findLot(
  session: Sftp,
  path: string,
  upload: Upload,
  settle: (outcome: 'left' | 'stayed') => Promise<void>,
): Promise<void> {
  if (await hasContent(session, path, upload)) return settle('left')
  // The worker that began the lot may still be alive. The file is moved first, because only one of the two can move it.
  const voided = `${upload.part}.void`
  const moved = await session.move(upload.part, voided).catch(() => false)
  // Another worker may have moved it before.
  if (!moved && (await session.size(voided)) === null) {
    throw new Error(`${path} was begun and is gone: Correios may have fetched it`)
  }
  await settle('stayed')
  await session.remove(voided).catch(() => {})
}

async function hasContent(session: Sftp, path: string, { size, sha256: hash }: Upload): Promise<boolean> {
  return (await session.size(path)) === size && sha256(await session.read(path)) === hash
}
