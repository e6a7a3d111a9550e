import { hash } from 'node:crypto'
import { setImmediate as letOthersRun } from 'node:timers/promises'
import { promisify } from 'node:util'
import { deflateRaw, deflateRawSync } from 'node:zlib'
import { type ContentDictionary, dictionaryOf } from '../domain/delivery/content-dictionary.js'
import {
  type ContentStatement,
  findSecrets,
  maskRanges,
  mergeRanges,
  outside,
  type PackedContent,
  type Range,
  type SentContent,
} from '../domain/delivery/sent-content.js'
import { takeRandom } from '../domain/random.js'
import { MIB } from '../domain/units.js'
import { digest } from '../runtime/digest.js'

/** A larger message is compressed in another thread: it would block the event loop. */
const SMALL = 65_536
/** Shorter contents do not become shorter by being compressed. */
const LEAST_DEFLATED = 256
/** The best level makes an e-mail a tenth smaller in more than twice the time. */
const LEVEL = 1
/** The secret of an SMS has 50 bits, which somebody could try out: the salt prevents it. */
const SALT_BYTES = 16
/** By default zlib allocates 16 KiB for every call. */
const SMALL_CHUNK = 4_096
/** Searched in about a millisecond. The overlap is longer than any secret. */
const WINDOW = MIB
const OVERLAP = 256
const deflateLater = promisify(deflateRaw)

/** Makes of a message what is stored of it and what its event says of it. */
export async function packContent(content: SentContent): Promise<PackedContent> {
  const bytes = asBuffer(content.bytes)
  const files = content.files ?? []
  const fileRanges = files.map(({ at, length }): Range => [at, length])
  const shared = { files: files.length === 0 ? null : files, hidden: null, salt: null, message: null }
  if (content.copy !== undefined) {
    const { type, extension } = content
    const copy = asBuffer(content.copy.bytes)
    const message = { type, size: bytes.length, sha256: await digest(bytes) }
    const statement = { type: content.copy.type, size: copy.length, sha256: await digest(copy), message }
    const rest = await pack([copy])
    return { ...shared, statement, extension: content.copy.extension, message: { ...message, extension }, ...rest }
  }
  const inline = [...outside(bytes, fileRanges)]
  const hidden = await findHidden(bytes, inline, content.secrets ?? [])
  const stated = {
    type: content.type,
    size: bytes.length,
    sha256: await digestOfCopy(bytes, hidden),
  }
  const rest = await pack(inline, content.dictionary)
  if (hidden.length === 0) return { ...shared, statement: stated, extension: content.extension, ...rest }
  const salt = takeRandom(SALT_BYTES)
  const secrets = hidden.map(([at, length]) => bytes.subarray(at, at + length))
  const count = secrets.reduce((sum, { length }) => sum + length, 0)
  const statement: ContentStatement = {
    ...stated,
    hidden: count,
    // With their places: asterisks of the message itself could otherwise be taken for hidden bytes.
    secret: hash('sha256', Buffer.concat([salt, Buffer.from(JSON.stringify(hidden)), ...secrets]), 'hex'),
  }
  return { ...shared, statement, extension: content.extension, hidden, salt, ...rest }
}

/** A shared buffer: a small message is copied and hashed at once, and to allocate the copy takes half as long as to hash it. */
const scratch = Buffer.allocUnsafeSlow(SMALL)

/** Of the sender's copy. */
function digestOfCopy(bytes: Buffer, hidden: readonly Range[]): Promise<string> {
  if (hidden.length === 0) return digest(bytes)
  return digest(maskRanges(bytes, hidden, bytes.length <= SMALL ? scratch.subarray(0, bytes.length) : undefined))
}

const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer => Buffer.from(buffer, byteOffset, byteLength)

/** In the pieces outside of files alone, and a large piece in windows: a search of many megabytes would block the event loop. */
async function findHidden(bytes: Buffer, pieces: readonly Buffer[], secrets: readonly string[]): Promise<Range[]> {
  const found: Range[] = []
  for (const piece of secrets.length === 0 ? [] : pieces) {
    for (let start = 0; start < piece.length; start += WINDOW) {
      const window = piece.subarray(start, start + WINDOW + OVERLAP)
      const from = window.byteOffset - bytes.byteOffset
      found.push(...findSecrets(window, secrets).map(([at, length]): Range => [from + at, length]))
      if (piece.length > WINDOW) await letOthersRun()
    }
  }
  return mergeRanges(found)
}

async function pack(pieces: readonly Buffer[], name?: ContentDictionary): Promise<Pick<PackedContent, 'packing' | 'bytes'>> {
  const bytes = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
  if (bytes.length < LEAST_DEFLATED) return { packing: 'none', bytes }
  const options = name === undefined ? { level: LEVEL } : { level: LEVEL, dictionary: dictionaryOf(name) }
  const deflated =
    bytes.length <= SMALL ? deflateRawSync(bytes, { ...options, chunkSize: SMALL_CHUNK }) : await deflateLater(bytes, options)
  return deflated.length < bytes.length ? { packing: name ?? 'deflate', bytes: deflated } : { packing: 'none', bytes }
}
