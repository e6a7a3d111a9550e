import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { addressGroup } from '../../domain/address-range.js'
import { Turnstile, Turnstiles } from '../../runtime/semaphore.js'

/**
 * Large answers, each of which is in memory whole until its reader has it: few at once, few of them for one address, and none
 * for whoever takes it more slowly than a phone with a bad connection. A place is held until the answer is out or its reader
 * gone.
 */
export interface OutflowLimits {
  atOnce: number
  waiting: number
  perAddress: { atOnce: number; waiting: number }
  longestMs: number
  /** What a reader has to take, on the whole, once the first moments are over. */
  slowest: { bytesPerSecond: number; graceMs: number }
}

const PIECE = 65_536
const LOOK_EVERY_MS = 1_000

export class Outflow {
  readonly #places: Turnstile
  readonly #perAddress: Turnstiles
  readonly #longestMs: number
  readonly #slowest: OutflowLimits['slowest']

  constructor({ atOnce, waiting, perAddress, longestMs, slowest }: OutflowLimits) {
    this.#places = new Turnstile(atOnce, waiting)
    this.#perAddress = new Turnstiles(perAddress.atOnce, perAddress.waiting)
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
      this.#perAddress.pass(addressGroup(address), () => this.#places.pass(stay)).catch(reject)
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
