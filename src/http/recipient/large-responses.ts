import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { addressGroup } from '../../domain/access/address-range.js'
import { overloaded } from '../../domain/errors.js'
import { KeyedSemaphore, Semaphore } from '../../runtime/semaphore.js'
import { privateHeaders } from './layout.js'

export interface LargeResponseLimits {
  atOnce: number
  waiting: number
  perAddress: { atOnce: number; waiting: number }
  longestMs: number
  /** The lowest average speed of a reader after the grace time. */
  slowest: { bytesPerSecond: number; graceMs: number }
}

const PIECE = 65_536
const LOOK_EVERY_MS = 1_000

/**
 * Large responses are in memory whole until they are read: few are sent at once, few of them to one address, and a reader that
 * is slower than a phone with a bad connection is cut off. A permit is held until the response is out or the reader is gone.
 */
export class LargeResponses {
  readonly #limits: LargeResponseLimits
  readonly #places: Semaphore
  readonly #perAddress: KeyedSemaphore

  constructor(limits: LargeResponseLimits) {
    const { atOnce, waiting, perAddress } = limits
    this.#limits = limits
    this.#places = new Semaphore({ permits: atOnce, maxWaiting: waiting, refusal: overloaded })
    this.#perAddress = new KeyedSemaphore({ permits: perAddress.atOnce, maxWaiting: perAddress.waiting, refusal: overloaded })
  }

  /** Makes and sends an answer. The promise resolves when the answer was handed to the reply. */
  send(address: string, reply: FastifyReply, make: () => Promise<FastifyReply>): Promise<void> {
    return new Promise((resolve, reject) => {
      const sendAndWait = async (): Promise<void> => {
        // The reader left while it waited.
        if (reply.raw.closed) {
          reply.hijack()
          return resolve()
        }
        const closed = new Promise<void>(left => reply.raw.once('close', left))
        const deadline = setTimeout(() => reply.raw.destroy(), this.#limits.longestMs)
        const watch = this.#watch(reply)
        make().then(() => resolve(), reject)
        await closed
        clearTimeout(deadline)
        clearInterval(watch)
      }
      this.#perAddress.run(addressGroup(address), () => this.#places.run(sendAndWait)).catch(reject)
    })
  }

  /** Cuts off a reader that is too slow. Bytes in the socket's buffers count as read. */
  #watch({ raw }: FastifyReply): NodeJS.Timeout {
    const { bytesPerSecond, graceMs } = this.#limits.slowest
    const before = raw.socket?.bytesWritten ?? 0
    let began: number | null = null
    return setInterval(() => {
      // The reader is not to blame for the time that it takes to make the answer.
      if (!raw.headersSent) return
      began ??= performance.now()
      const expected = ((performance.now() - began - graceMs) / 1_000) * bytesPerSecond
      if ((raw.socket?.bytesWritten ?? before) - before < expected) raw.destroy()
    }, LOOK_EVERY_MS)
  }
}

/** Hands the bytes to the socket piece by piece. One large piece would count as written at once. */
export function sendInPieces(reply: FastifyReply, bytes: Buffer): FastifyReply {
  const pieces = Array.from({ length: Math.ceil(bytes.length / PIECE) }, (_, n) => bytes.subarray(n * PIECE, (n + 1) * PIECE))
  return reply.header('content-length', bytes.length).send(Readable.from(pieces, { objectMode: false }))
}

/** Sends a file as a download. The browser must never display it, whatever its content or name. */
export function sendDownload(reply: FastifyReply, { name, bytes }: { name: string; bytes: Buffer }): FastifyReply {
  reply.type('application/octet-stream').headers({
    ...privateHeaders,
    'content-disposition': contentDisposition(name),
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
    'x-download-options': 'noopen',
  })
  return sendInPieces(reply, bytes)
}

/** RFC 6266: an ASCII name for old browsers and the full name as in RFC 8187. */
function contentDisposition(name: string): string {
  const safe = name.replace(/[/\\\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '_').toWellFormed()
  const unaccented = safe.normalize('NFKD').replace(/\p{M}/gu, '')
  const plain = unaccented.replace(/[^\x20-\x7e]|["\\%]/g, '_')
  const percent = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`
  return `attachment; filename="${plain}"; filename*=UTF-8''${encodeURIComponent(safe).replace(/['()*]/g, percent)}`
}
