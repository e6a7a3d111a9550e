import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from 'node:crypto'

const MAGIC = 'CARTEIRO-BACKUP-1'
const CHUNK = 65_536
const TAG = 16
const NONCE = 12
/** OWASP's advice for scrypt: 128 MiB and half a second for every guess. */
const COST = { n: 131_072, r: 8, p: 1 }
const MAX_LINE = 1_000

/** The file does not open: not one of ours, another passphrase, changed or cut. The message says which, in English. */
export class SealedStreamFault extends Error {
  readonly kind: 'foreign' | 'passphrase' | 'damaged' | 'cut'

  constructor(kind: SealedStreamFault['kind']) {
    super(`the sealed stream does not open: ${kind}`)
    this.kind = kind
  }
}

const keyOf = (passphrase: string, salt: Buffer, { n, r, p }: typeof COST): Buffer =>
  scryptSync(passphrase.normalize('NFC'), salt, 32, { N: n, r, p, maxmem: 256 * n * r })

function nonceOf(place: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(NONCE)
  nonce.writeUIntBE(place, 5, 6)
  nonce[NONCE - 1] = isLast ? 1 : 0
  return nonce
}

/**
 * Seals a file under a passphrase: a line that says how the key is made, then chunks of AES-256-GCM. The nonce counts the chunks and
 * marks the last one, and the first line is bound into every chunk: a file that was changed, cut, or put together from two does not
 * open.
 */
export async function* sealStream(source: AsyncIterable<Buffer>, passphrase: string, cost = COST): AsyncGenerator<Buffer> {
  const salt = randomBytes(16)
  const line = Buffer.from(`${MAGIC} ${JSON.stringify({ salt: salt.toString('base64'), ...cost })}\n`)
  const key = keyOf(passphrase, salt, cost)
  yield line
  let place = 0
  const seal = (chunk: Buffer, isLast: boolean): Buffer => {
    const cipher = createCipheriv('aes-256-gcm', key, nonceOf(place++, isLast)).setAAD(line)
    return Buffer.concat([cipher.update(chunk), cipher.final(), cipher.getAuthTag()])
  }
  // The last chunk is marked, so that one is kept back until it is known whether another one follows.
  let rest: Buffer = Buffer.alloc(0)
  for await (const part of source) {
    rest = rest.length === 0 ? part : Buffer.concat([rest, part])
    for (; rest.length > CHUNK; rest = rest.subarray(CHUNK)) yield seal(rest.subarray(0, CHUNK), false)
  }
  yield seal(rest, true)
}

export async function* openStream(source: AsyncIterable<Buffer>, passphrase: string): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0)
  let open: ((chunk: Buffer, isLast: boolean) => Buffer) | null = null
  for await (const part of source) {
    rest = rest.length === 0 ? part : Buffer.concat([rest, part])
    if (open === null) {
      const end = rest.indexOf('\n')
      if (end < 0 && rest.length < MAX_LINE) continue
      open = openerOf(rest.subarray(0, end + 1), passphrase)
      rest = rest.subarray(end + 1)
    }
    // More than a chunk: the first one is not the last.
    for (; rest.length > CHUNK + TAG; rest = rest.subarray(CHUNK + TAG)) yield open(rest.subarray(0, CHUNK + TAG), false)
  }
  if (open === null) throw new SealedStreamFault('foreign')
  yield open(rest, true)
}

function openerOf(line: Buffer, passphrase: string): (chunk: Buffer, isLast: boolean) => Buffer {
  const header = readHeader(line)
  const key = keyOf(passphrase, header.salt, header)
  let place = 0
  const decrypt = (chunk: Buffer, isLast: boolean): Buffer | null => {
    const decipher = createDecipheriv('aes-256-gcm', key, nonceOf(place, isLast), { authTagLength: TAG })
    decipher.setAAD(line).setAuthTag(chunk.subarray(chunk.length - TAG))
    try {
      return Buffer.concat([decipher.update(chunk.subarray(0, chunk.length - TAG)), decipher.final()])
    } catch {
      return null
    }
  }
  return (chunk, isLast) => {
    const clear = chunk.length < TAG ? null : decrypt(chunk, isLast)
    if (clear === null) {
      // What would be a chunk in the middle ends the file: the rest was cut off.
      const isCut = isLast && (chunk.length < TAG || place > 0 || decrypt(chunk, false) !== null)
      throw new SealedStreamFault(isCut ? 'cut' : place === 0 ? 'passphrase' : 'damaged')
    }
    place++
    return clear
  }
}

function readHeader(line: Buffer): typeof COST & { salt: Buffer } {
  const text = line.toString('latin1')
  try {
    const { salt, n, r, p } = JSON.parse(text.slice(MAGIC.length)) as typeof COST & { salt: string }
    // A file that asks for more would be a way to fill the memory.
    if (text.startsWith(`${MAGIC} `) && n <= COST.n && r <= COST.r && p <= COST.p)
      return { salt: Buffer.from(salt, 'base64'), n, r, p }
  } catch {}
  throw new SealedStreamFault('foreign')
}
