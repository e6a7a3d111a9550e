import { rename } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { type Draft, explainWriteFailure, openDraft } from '../runtime/draft.js'

/** The mode of a file that nobody else may read. */
export const PRIVATE = 0o600

type Source = Iterable<Uint8Array> | AsyncIterable<Uint8Array>

/** Writes a file under another name until it is whole: half a file must not be taken for one. */
export const writeWhole = (file: string, source: Source, mode = 0o666): Promise<void> =>
  write(file, source, mode, draft => rename(draft.path, file))

/** Writes a new file in the same way. An existing file of that name stays, and the write is refused. */
export const writeNew = (file: string, source: Source, mode: number): Promise<void> =>
  write(file, source, mode, draft => draft.placeNew())

async function write(file: string, source: Source, mode: number, place: (draft: Draft) => Promise<void>): Promise<void> {
  let draft: Draft | null = null
  try {
    draft = await openDraft(file, mode)
    await pipeline(source, draft.handle.createWriteStream())
    await place(draft)
  } catch (error) {
    throw explainWriteFailure(error, file)
  } finally {
    await draft?.remove()
  }
}
