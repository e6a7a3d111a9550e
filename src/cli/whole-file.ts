import { rename } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { type Draft, explainWriteFailure, openDraft } from '../runtime/draft.js'

/** The mode of a file that nobody else may read. */
export const PRIVATE = 0o600

/** Writes a file under another name until it is whole: half a file must not be taken for one. */
export async function writeWhole(
  file: string,
  source: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  mode = 0o666,
): Promise<void> {
  let draft: Draft | null = null
  try {
    draft = await openDraft(file, mode)
    await pipeline(source, draft.handle.createWriteStream())
    await rename(draft.path, file)
  } catch (error) {
    throw explainWriteFailure(error, file)
  } finally {
    await draft?.remove()
  }
}
