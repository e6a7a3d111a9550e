import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { isBundlePath, LOCAL_HEADER, localHeader, type ZipMember, zipDirectory } from '../verify/zip-form.js'

/** A file of the bundle, whose bytes are read when they are needed, and twice: once for its hashes, once to be written. */
export interface BundleFile {
  path: string
  read(): AsyncIterable<Uint8Array>
}

export interface MeasuredFile extends BundleFile, ZipMember {
  sha256: string
}

/** 32-bit sizes and offsets: one byte less than the value that means "see elsewhere". */
const MAX_ZIP = 0xffff_fffe
const MAX_MEMBERS = 0xfffe

export const textFile = (path: string, content: string | Uint8Array): BundleFile => {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  return {
    path,
    async *read() {
      yield bytes
    },
  }
}

export async function measure(file: BundleFile): Promise<MeasuredFile> {
  if (!isBundlePath(file.path)) throw new Error(`no name for a file of a bundle: ${file.path}`)
  const { sha256, size, crc } = await digest(file)
  return { ...file, sha256, size, crc }
}

async function digest(file: BundleFile): Promise<{ sha256: string; size: number; crc: number }> {
  const hash = createHash('sha256')
  let [size, crc] = [0, 0]
  for await (const piece of file.read()) {
    hash.update(piece)
    size += piece.length
    crc = crc32(piece, crc)
  }
  return { sha256: hash.digest('hex'), size, crc }
}

export const sortFiles = <T extends { path: string }>(files: readonly T[]): T[] =>
  files.toSorted((a, b) => (a.path < b.path ? -1 : 1))

export function zipSize(files: readonly MeasuredFile[]): number {
  const size = files.reduce((sum, file) => sum + LOCAL_HEADER + file.path.length + file.size, zipDirectory(files).length)
  if (size > MAX_ZIP || files.length > MAX_MEMBERS) throw new Error('a bundle of more than 4 GiB cannot be written')
  return size
}

/** The ZIP of sorted files, piece by piece. What changed since it was measured ends the writing: a wrong proof is worse than none. */
export async function* writeZip(files: readonly MeasuredFile[]): AsyncGenerator<Uint8Array> {
  for (const file of files) {
    yield localHeader(file)
    let [size, crc] = [0, 0]
    for await (const piece of file.read()) {
      size += piece.length
      crc = crc32(piece, crc)
      yield piece
    }
    if (size !== file.size || crc !== file.crc) throw new Error(`${file.path} changed while the bundle was written`)
  }
  yield zipDirectory(files)
}
