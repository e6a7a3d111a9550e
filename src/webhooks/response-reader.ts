import { SECOND_MS } from '../domain/units.js'
import { BoundedCache } from '../runtime/bounded-cache.js'

export interface ResponseHead {
  status: number
  /** The names in lower case. Values of one name that comes several times are joined as RFC 9110 5.3 says. */
  headers: Readonly<Record<string, string>>
}

export interface ReaderLimits {
  /** Of status lines, headers, chunk sizes and trailers. */
  maxHeaderBytes: number
  /** A response with a larger body is abandoned: `push` returns 'too large'. */
  maxBodyBytes: number
  /** The first bytes of the body, which are kept. */
  keptBodyBytes: number
}

/** The bytes are no HTTP/1.x response, or two readers could see its end at different places. */
export class MalformedResponse extends Error {}
export class HeadersTooLarge extends Error {}

type State = 'head' | 'length' | 'until close' | 'chunk size' | 'chunk' | 'chunk end' | 'trailers' | 'complete'

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: .*)?$/
const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/
/** RFC 9112 2.2 and 5.5. In a line also CR or LF alone, which one reader takes for an end and another does not. */
const FORBIDDEN = /[^\t\x20-\x7e\x80-\xff]/
const BEGINNING = 'HTTP/1.'
const CHUNK_SIZE = /^([0-9a-fA-F]{1,8})[\t ]*(?:;.*)?$/
const CONTENT_LENGTH = /^\d{1,15}$/
const KEEP_ALIVE_TIMEOUT = /(?:^|[,\s])timeout=(\d{1,9})/i

/**
 * Reads one response to a POST or PUT from the bytes of a connection (RFC 9112). It is strict about everything that says where the
 * response ends: what follows on the connection is taken for the response to the next request.
 */
export class ResponseReader {
  head: ResponseHead | null = null
  /** Whether another request may follow on the connection, according to the server. */
  keepsAlive = false
  /** How long the server keeps the idle connection (Keep-Alive: timeout); null: it does not say. */
  idleMs: number | null = null
  readonly #limits: ReaderLimits
  readonly #kept: Buffer[] = []
  #state: State = 'head'
  /** Of a head or a line that has not ended yet. */
  #text = ''
  #headerBytes = 0
  /** Bytes of the body or the chunk that are still missing. */
  #missing = 0
  #size = 0

  constructor(limits: ReaderLimits) {
    this.#limits = limits
  }

  /** The first bytes of the body. */
  get body(): Buffer {
    return this.#kept.length === 1 ? this.#kept[0]! : Buffer.concat(this.#kept)
  }

  /** Whether this response ends with the connection. */
  get endsWithConnection(): boolean {
    return this.#state === 'until close'
  }

  /**
   * 'complete': the response ended with these bytes. 'surplus': it ended before their end, so the connection cannot be used again.
   * Throws MalformedResponse or HeadersTooLarge.
   */
  push(bytes: Buffer): 'incomplete' | 'complete' | 'surplus' | 'too large' {
    let at = 0
    while (at < bytes.length && this.#state !== 'complete') {
      at = this.#read(bytes, at)
      if (this.#size > this.#limits.maxBodyBytes) return 'too large'
    }
    if (this.#state !== 'complete') return 'incomplete'
    return at < bytes.length ? 'surplus' : 'complete'
  }

  /** Returns the position after what was read. */
  #read(bytes: Buffer, at: number): number {
    switch (this.#state) {
      case 'head':
        return this.#readText(bytes, at, '\r\n\r\n', text => this.#takeHead(text))
      case 'chunk size':
        return this.#readText(bytes, at, '\r\n', text => this.#takeChunkSize(text))
      case 'chunk end':
        return this.#readText(bytes, at, '\r\n', text => this.#takeChunkEnd(text))
      case 'trailers':
        return this.#readText(bytes, at, '\r\n', text => this.#takeTrailer(text))
      case 'until close':
        this.#keep(bytes, at, bytes.length)
        return bytes.length
      default:
        return this.#readCounted(bytes, at)
    }
  }

  /** Text up to an end that may be cut into pieces anywhere. */
  #readText(bytes: Buffer, at: number, end: '\r\n' | '\r\n\r\n', take: (text: string) => void): number {
    const before = this.#text.length
    const most = this.#limits.maxHeaderBytes - this.#headerBytes
    // One byte more than allowed shows that there is too much; the rest is not looked at.
    this.#text += bytes.toString('latin1', at, Math.min(bytes.length, at + most - before + 1))
    const found = this.#text.indexOf(end, Math.max(0, before - end.length + 1))
    const length = found === -1 ? this.#text.length : found + end.length
    // A server of another protocol may greet and then wait for our answer.
    if (this.#state === 'head' && !this.#text.startsWith(BEGINNING.slice(0, this.#text.length)))
      throw new MalformedResponse('no HTTP/1 response')
    if (length > most) throw new HeadersTooLarge('the headers are too large')
    if (found === -1) return bytes.length
    const text = this.#text.slice(0, found)
    this.#text = ''
    this.#headerBytes += length
    take(text)
    return at + length - before
  }

  #readCounted(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#missing)
    this.#keep(bytes, at, end)
    this.#missing -= end - at
    if (this.#missing === 0) this.#state = this.#state === 'chunk' ? 'chunk end' : 'complete'
    return end
  }

  #keep(bytes: Buffer, at: number, end: number): void {
    const room = this.#limits.keptBodyBytes - this.#size
    // Copied, because the bytes are a small part of a large buffer.
    if (room > 0) this.#kept.push(Buffer.from(bytes.subarray(at, Math.min(end, at + room))))
    this.#size += end - at
  }

  #takeHead(text: string): void {
    const { status, headers, keepsAlive, idleMs, length, state } = headOf(text)
    // Interim responses (RFC 9110 15.2) come before the one that counts.
    if (status < 200) return
    this.head = { status, headers }
    this.keepsAlive = keepsAlive
    this.idleMs = idleMs
    this.#missing = length
    this.#state = state
  }

  #takeChunkSize(text: string): void {
    const [, size] = CHUNK_SIZE.exec(text) ?? []
    if (size === undefined || FORBIDDEN.test(text)) throw new MalformedResponse('no size of a chunk')
    this.#missing = Number.parseInt(size, 16)
    this.#state = this.#missing === 0 ? 'trailers' : 'chunk'
  }

  #takeChunkEnd(text: string): void {
    if (text !== '') throw new MalformedResponse('a chunk is longer than its size')
    this.#state = 'chunk size'
  }

  /** Trailers are not used; an empty line ends them. */
  #takeTrailer(text: string): void {
    if (text === '') this.#state = 'complete'
    else readHeaders(['', text])
  }
}

interface ParsedHead extends ResponseHead {
  keepsAlive: boolean
  idleMs: number | null
  /** Of the body; 0: it is not counted. */
  length: number
  state: State
}

/** A server answers with the same head for a second, until its date changes: to read it again took a thirtieth of a worker's time. */
const heads = new BoundedCache<string, ParsedHead>({ maxEntries: 64 })

function headOf(text: string): ParsedHead {
  const known = heads.get(text)
  if (known !== undefined) return known
  const head = parseHead(text)
  heads.set(text, head)
  return head
}

function parseHead(text: string): ParsedHead {
  const lines = text.split('\r\n')
  const [, minor, status] = STATUS_LINE.exec(lines[0]!) ?? []
  if (status === undefined || FORBIDDEN.test(lines[0]!)) throw new MalformedResponse('no HTTP/1 response')
  const headers = readHeaders(lines)
  const { 'content-length': length, 'transfer-encoding': encoding } = headers
  if (status === '101') throw new MalformedResponse('another protocol, which was not asked for')
  const isInterim = status.startsWith('1')
  if (!isInterim && length !== undefined && (encoding !== undefined || !CONTENT_LENGTH.test(length)))
    throw new MalformedResponse('the end of the body is not clear')
  const state = framing(status, length, encoding)
  const [, seconds] = KEEP_ALIVE_TIMEOUT.exec(headers['keep-alive'] ?? '') ?? []
  return {
    status: Number(status),
    headers,
    // RFC 9112 6.1: a server of HTTP/1.0 that sends chunks may have passed on the headers of another.
    keepsAlive:
      state !== 'until close' && (minor === '1' || encoding === undefined) && keepsAlive(minor === '1', headers.connection),
    idleMs: seconds === undefined ? null : Number(seconds) * SECOND_MS,
    length: Number(length ?? 0),
    state,
  }
}

/** The first line is not a header. */
function readHeaders(lines: readonly string[]): Record<string, string> {
  // Without a prototype, any name is an ordinary member.
  const headers: Record<string, string> = Object.create(null)
  for (let n = 1; n < lines.length; n++) {
    const line = lines[n]!
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(0, colon)).toLowerCase()
    // Also refuses folded lines and a blank before the colon.
    if (!NAME.test(name) || FORBIDDEN.test(line)) throw new MalformedResponse('no name of a header')
    const value = line.slice(colon + 1).trim()
    const known = headers[name]
    headers[name] = known === undefined ? value : `${known}, ${value}`
  }
  return headers
}

function keepsAlive(isVersion11: boolean, connection: string | undefined): boolean {
  if (connection === undefined) return isVersion11
  const options = connection.toLowerCase().split(/[\s,]+/)
  return isVersion11 ? !options.includes('close') : options.includes('keep-alive') && !options.includes('close')
}

/** RFC 9112 6.3. */
function framing(status: string, length: string | undefined, encoding: string | undefined): State {
  if (status === '204' || status === '304') return 'complete'
  if (encoding !== undefined) return encoding.toLowerCase() === 'chunked' ? 'chunk size' : 'until close'
  if (length === undefined) return 'until close'
  return Number(length) === 0 ? 'complete' : 'length'
}
