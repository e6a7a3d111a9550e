import type { FastifyReply } from 'fastify'
import { addressGroup } from '../../domain/address-range.js'
import { Turnstile, Turnstiles } from '../../engine/turnstile.js'

/**
 * Large answers, each of which is in memory whole until its reader has it: few at once, few of them for one address, and none
 * for longer than a slow phone needs. A place is held until the answer is out or its reader gone.
 */
export interface OutflowLimits {
  atOnce: number
  waiting: number
  perAddress: { atOnce: number; waiting: number }
  longestMs: number
}

export class Outflow {
  readonly #places: Turnstile
  readonly #perAddress: Turnstiles
  readonly #longestMs: number

  constructor({ atOnce, waiting, perAddress, longestMs }: OutflowLimits) {
    this.#places = new Turnstile(atOnce, waiting)
    this.#perAddress = new Turnstiles(perAddress.atOnce, perAddress.waiting)
    this.#longestMs = longestMs
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
        make().then(() => resolve(), reject)
        await closed
        clearTimeout(deadline)
      }
      this.#perAddress.pass(addressGroup(address), () => this.#places.pass(stay)).catch(reject)
    })
  }
}
