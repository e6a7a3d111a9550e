import { createHash, createPrivateKey, type KeyObject, sign as signBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { OperatorError } from '../../domain/errors.js'
import { answerQuestions, ThreadPool, threadData } from '../thread-pool.js'

/**
 * DKIM signatures (RFC 6376, relaxed/relaxed), made in threads of their own: an RSA signature takes one to three
 * milliseconds of processor time, during which nothing else would move. This file is both ends of those threads.
 */
export interface SignerSettings {
  domain: string
  selector: string
  /** RSA (at least 1024 bits, RFC 8301) or Ed25519 (RFC 8463). */
  privateKeyPem: string
  /** Default: one less than there are processors. */
  threads?: number
}

export interface Signer {
  /** The message with its signature in front. */
  sign(raw: Buffer): Promise<Buffer>
  close(): Promise<void>
}

interface Signature {
  domain: string
  selector: string
  key: KeyObject
}

/** Marks the threads of this file among others. */
const PURPOSE = 'carteiro-dkim'

export function createSigner({ domain, selector, privateKeyPem, threads = availableParallelism() - 1 }: SignerSettings): Signer {
  if (!/^[A-Za-z0-9.-]+$/.test(domain) || !/^[A-Za-z0-9._-]+$/.test(selector)) {
    throw new OperatorError('DKIM: o domínio e o seletor devem ser nomes de DNS')
  }
  const signature: Signature = { domain, selector, key: readKey(privateKeyPem) }
  const pool = new ThreadPool<Uint8Array, string>({ file: import.meta.url, purpose: PURPOSE, data: signature, threads })
  return {
    sign: async raw => Buffer.concat([Buffer.from(await pool.ask(raw)), raw]),
    close: () => pool.close(),
  }
}

function readKey(pem: string): KeyObject {
  let key: KeyObject
  try {
    key = createPrivateKey(pem)
  } catch (cause) {
    throw new OperatorError('DKIM: a chave privada não é um PEM que se possa ler', { cause })
  }
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0
  if (key.asymmetricKeyType === 'ed25519' || (key.asymmetricKeyType === 'rsa' && bits >= 1024)) return key
  throw new OperatorError('DKIM: a chave privada deve ser RSA de 1024 bits ou mais, ou Ed25519')
}

/** Signed where present. The first four are listed once more than present, so that none can be added (RFC 6376 8.15). */
const ONCE = ['from', 'to', 'subject', 'date']
const SIGNED = [
  ...ONCE,
  'message-id',
  'reply-to',
  'mime-version',
  'content-type',
  'list-unsubscribe',
  'list-unsubscribe-post',
  'disposition-notification-to',
  'auto-submitted',
]

/** The DKIM-Signature header of a message. */
function signatureHeader(raw: Buffer, { domain, selector, key }: Signature): string {
  const end = raw.indexOf('\r\n\r\n')
  const fields = readFields(raw.toString('latin1', 0, end === -1 ? raw.length : end + 2))
  const names: string[] = []
  const chosen: string[] = []
  for (const name of SIGNED) {
    // RFC 6376 5.4.2: of several, the last first.
    const present = fields.filter(field => field.startsWith(`${name}:`)).reverse()
    chosen.push(...present)
    names.push(...present.map(() => name), ...(ONCE.includes(name) ? [name] : []))
  }
  const body = relaxedBody(end === -1 ? Buffer.alloc(0) : raw.subarray(end + 4))
  const rsa = key.asymmetricKeyType === 'rsa'
  const unsigned = [
    `v=1; a=${rsa ? 'rsa' : 'ed25519'}-sha256; c=relaxed/relaxed;`,
    ` d=${domain}; s=${selector};`,
    ` h=${fold(names, ':')};`,
    ` bh=${createHash('sha256').update(body).digest('base64')};`,
    ' b=',
  ].join('\r\n')
  const signed = Buffer.from([...chosen, relaxedField('DKIM-Signature', unsigned)].join('\r\n'), 'latin1')
  // Ed25519 signs the hash (RFC 8463 3), RSA the text itself.
  const signature = rsa ? signBytes('sha256', signed, key) : signBytes(null, createHash('sha256').update(signed).digest(), key)
  return `DKIM-Signature: ${unsigned}${fold(signature.toString('base64').match(/.{1,64}/g) ?? [], '')}\r\n`
}

/** Joined in lines of 76 at most. */
function fold(words: string[], joint: string): string {
  let column = 3
  return words
    .map((word, index) => {
      const piece = index === words.length - 1 ? word : word + joint
      column += piece.length
      if (column <= 75 || index === 0) return piece
      column = piece.length + 1
      return `\r\n ${piece}`
    })
    .join('')
}

/** The header's fields, each in relaxed form (RFC 6376 3.4.2). */
function readFields(header: string): string[] {
  return header
    .replace(/\r\n(?=[ \t])/g, '')
    .split('\r\n')
    .filter(line => line.includes(':'))
    .map(line => relaxedField(line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)))
}

const relaxedField = (name: string, value: string): string =>
  `${name.trimEnd().toLowerCase()}:${value
    .replace(/\r\n/g, '')
    .replace(/[ \t]+/g, ' ')
    .replace(/^ | $/g, '')}`

/** RFC 6376 3.4.4: runs of blanks as one, none at the end of a line, no empty lines at the end. */
function relaxedBody(body: Buffer): Buffer {
  // What we compose needs no relaxing but at its end; to see that takes a quarter of the time of doing it.
  if (endsLine(body, body.length) && !/\t| {2}| \r/.test(body.toString('latin1'))) {
    let last = body.length - 2
    while (endsLine(body, last)) last -= 2
    return body.subarray(0, last === 0 ? 0 : last + 2)
  }
  const target = Buffer.allocUnsafe(body.length + 2)
  let length = 0
  let blank = false
  let end = 0
  for (let at = 0; at < body.length; at++) {
    const byte = body[at]!
    if (byte === 0x20 || byte === 0x09) {
      blank = true
      continue
    }
    if (byte === 0x0d && body[at + 1] === 0x0a) {
      blank = false
      target[length++] = 0x0d
      target[length++] = 0x0a
      at++
      continue
    }
    if (blank) target[length++] = 0x20
    blank = false
    target[length++] = byte
    end = length
  }
  if (end === 0) return Buffer.alloc(0)
  target[end] = 0x0d
  target[end + 1] = 0x0a
  return target.subarray(0, end + 2)
}

const endsLine = (bytes: Buffer, end: number): boolean => bytes[end - 2] === 0x0d && bytes[end - 1] === 0x0a

const thread = threadData<Signature>(PURPOSE)
if (thread !== null) {
  answerQuestions((raw: Uint8Array) => signatureHeader(Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength), thread.data))
}
