import { randomBytes } from 'node:crypto'
import { CarrierHttp } from '../../channels/carrier-http.js'
import { SendError } from '../../channels/provider.js'
import { OID } from './cms.js'
import { Members, nothing, octets, oid, readDer, sequence, TAG, unsigned, yes } from './der.js'
import { faultText, SignatureFault } from './fault.js'
import { verifyTimeStamp } from './time-stamp.js'

export interface TimeStampOptions {
  /** From the connection to the last byte of the answer. */
  timeoutMs?: number
  signal?: AbortSignal
}

/** Why an authority gave no time-stamp, in Portuguese, with the host of the authority. Another attempt may succeed. */
export class TimeStampError extends Error {
  override readonly name = 'TimeStampError'
}

const TIMEOUT_MS = 10_000
/** Tokens with a whole chain of certificates have about 6 KiB. */
const MAX_ANSWER_BYTES = 65_536
const NONCE_BYTES = 8
/** PKIStatus 0 and 1: granted, granted with modifications. */
const GRANTED = [0, 1]

/**
 * Asks an authority to stamp a SHA-256 digest (RFC 3161 3.4, over HTTP), and returns the token once it has been verified. Throws
 * TimeStampError and nothing else.
 */
export async function requestTimeStamp(url: string, digest: Uint8Array, options: TimeStampOptions = {}): Promise<Buffer> {
  const { host } = new URL(url)
  const nonce = randomBytes(NONCE_BYTES)
  try {
    return readAnswer(await post(url, timeStampQuery(digest, nonce), options), digest, nonce)
  } catch (error) {
    const why = error instanceof SendError ? error.reason : faultText(error, (error as Error).message)
    throw new TimeStampError(`A autoridade de carimbo do tempo ${host} não carimbou: ${why}`, { cause: error })
  }
}

/** A token from the first authority that gives one; null: none does. */
export async function firstTimeStamp(
  urls: readonly string[],
  digest: Uint8Array,
  onError: (error: TimeStampError) => void,
): Promise<Buffer | null> {
  for (const url of urls) {
    try {
      return await requestTimeStamp(url, digest)
    } catch (error) {
      onError(error as TimeStampError)
    }
  }
  return null
}

async function post(url: string, query: Buffer, { timeoutMs = TIMEOUT_MS, signal }: TimeStampOptions): Promise<Buffer> {
  const target = new URL(url)
  const [user, password] = [target.username, target.password].map(decodeURIComponent)
  target.username = ''
  target.password = ''
  const http = new CarrierHttp({
    timeoutMs,
    maxAnswerBytes: MAX_ANSWER_BYTES,
    connectMs: timeoutMs,
    reasons: { unsent: 'Sem conexão com o servidor.', unanswered: `Sem resposta em ${timeoutMs / 1_000} s.` },
  })
  try {
    const headers = {
      'content-type': 'application/timestamp-query',
      accept: 'application/timestamp-reply',
      ...(user === '' ? {} : { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` }),
    }
    const answer = await http.send(
      { method: 'POST', url: target.href, headers, body: query },
      signal ?? new AbortController().signal,
    )
    if (answer.status !== 200) throw new SignatureFault(`O servidor respondeu HTTP ${answer.status}.`)
    if (!answer.complete) throw new SignatureFault('A resposta é grande demais.')
    return answer.body
  } finally {
    void http.close()
  }
}

/** TimeStampReq, with the certificates asked for: the token must be verifiable by itself. */
const timeStampQuery = (digest: Uint8Array, nonce: Uint8Array): Buffer =>
  sequence(unsigned(Buffer.from([1])), sequence(sequence(oid(OID.sha256), nothing()), octets(digest)), unsigned(nonce), yes())

/** TimeStampResp: the status, and the token where it was granted. */
function readAnswer(body: Buffer, digest: Uint8Array, nonce: Buffer): Buffer {
  const { code, words, token } = readResponse(body)
  if (!GRANTED.includes(code) || token === null) throw new SignatureFault(`O pedido foi recusado (status ${code}).${words}`)
  const verdict = verifyTimeStamp(token, digest)
  if (!verdict.valid) throw new SignatureFault(verdict.fault)
  // An answer without the nonce may be an old one, replayed with an old time.
  const stated = verdict.timeStamp.nonce
  if (stated === null || !readDer(unsigned(nonce)).content.equals(stated))
    throw new SignatureFault('A resposta é de outro pedido (nonce).')
  return token
}

function readResponse(body: Buffer): { code: number; words: string; token: Buffer | null } {
  try {
    const response = new Members(readDer(body))
    const status = new Members(response.take(TAG.sequence))
    const code = status.take(TAG.integer).content.at(-1)!
    return { code, words: statusText(status), token: response.optional(TAG.sequence)?.raw ?? null }
  } catch (cause) {
    throw new SignatureFault('A resposta não é a de uma autoridade de carimbo do tempo (RFC 3161).', { cause })
  }
}

/** PKIFreeText: what the authority says, cut and without control characters. */
function statusText(status: Members): string {
  const text = status.optional(TAG.sequence)
  const words = text === null ? '' : (new Members(text).optional(TAG.utf8)?.content.toString('utf8') ?? '')
  return words === '' ? '' : ` Ela disse: ${words.slice(0, 200).replace(/[^\x20-\x7e\u00a0-\u024f]/g, '?')}`
}
