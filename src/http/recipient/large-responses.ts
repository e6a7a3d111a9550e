import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { addressGroup } from '../../domain/address-range.js'
import { overloaded } from '../../domain/errors.js'
import { KeyedSemaphore, Semaphore } from '../../runtime/semaphore.js'

/**
 * Large responses are in memory whole until they are read: few are sent at once, few of them to one address, and a reader that
 * is slower than a phone with a bad connection is cut off. A permit is held until the response is out or the reader is gone.
 */
export interface LargeResponseLimits {
  atOnce: number
  waiting: number
  perAddress: { atOnce: number; waiting: number }
  longestMs: number
  /** What a reader has to take, on the whole, once the first moments are over. */
  slowest: { bytesPerSecond: number; graceMs: number }
}

const PIECE = 65_536
const LOOK_EVERY_MS = 1_000

export class LargeResponses {
  readonly #places: Semaphore
  readonly #perAddress: KeyedSemaphore
  readonly #longestMs: number
  readonly #slowest: LargeResponseLimits['slowest']

  constructor({ atOnce, waiting, perAddress, longestMs, slowest }: LargeResponseLimits) {
    this.#places = new Semaphore({ permits: atOnce, maxWaiting: waiting, refusal: overloaded })
    this.#perAddress = new KeyedSemaphore({ permits: perAddress.atOnce, maxWaiting: perAddress.waiting, refusal: overloaded })
    this.#longestMs = longestMs
    this.#slowest = slowest
  }

  /** Makes and sends an answer; ends, for the caller, when it has been handed over. */
  send(address: string, reply: FastifyReply, make: () => Promise<FastifyReply>): Promise<void> {
    return new Promise((resolve, reject) => {
      const stay = async (): Promise<void> => {
        // Whoever left while waiting needs nothing read any more.
        if (reply.raw.closed) {
          reply.hijack()
          return resolve()
        }
        const closed = new Promise<void>(left => reply.raw.once('close', left))
        const deadline = setTimeout(() => reply.raw.destroy(), this.#longestMs)
        const watch = this.#watch(reply)
        make().then(() => resolve(), reject)
        await closed
        clearTimeout(deadline)
        clearInterval(watch)
      }
      this.#perAddress.run(addressGroup(address), () => this.#places.run(stay)).catch(reject)
    })
  }

  /** Ends an answer whose reader lags behind. What lies in the sockets' buffers counts as taken. */
  #watch({ raw }: FastifyReply): NodeJS.Timeout {
    const { bytesPerSecond, graceMs } = this.#slowest
    const before = raw.socket?.bytesWritten ?? 0
    let began: number | null = null
    return setInterval(() => {
      // Its making takes the time that it takes: the reader has no part in that.
      if (!raw.headersSent) return
      began ??= performance.now()
      const expected = ((performance.now() - began - graceMs) / 1_000) * bytesPerSecond
      if ((raw.socket?.bytesWritten ?? before) - before < expected) raw.destroy()
    }, LOOK_EVERY_MS)
  }
}

/** Handed to the socket piece by piece, as its reader takes them: of a whole, all would count as written at once. */
export function sendInPieces(reply: FastifyReply, bytes: Buffer): FastifyReply {
  const pieces = Array.from({ length: Math.ceil(bytes.length / PIECE) }, (_, n) => bytes.subarray(n * PIECE, (n + 1) * PIECE))
  return reply.header('content-length', bytes.length).send(Readable.from(pieces, { objectMode: false }))
}
