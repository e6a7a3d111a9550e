import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'

/** The mode of a file that nobody else may read. */
export const PRIVATE = 0o600

/** Writes a file under another name until it is whole: half a file must not be taken for one. */
export async function writeWhole(
  file: string,
  source: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  mode = 0o666,
): Promise<void> {
  const draft = `${file}.part`
  try {
    await pipeline(source, createWriteStream(draft, { mode }))
    await rename(draft, file)
  } finally {
    await rm(draft, { force: true })
  }
}
