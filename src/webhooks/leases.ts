import type { WebhookClaim } from '../store/webhook/queue.js'

interface Lease {
  /** Messages without an end. */
  open: number
  /** A message could not be given back or left to a lease of its own. The lease must expire, so that its attempt counts as interrupted. */
  expires: boolean
}

/** The leases of a worker: a lease is prolonged while a message under it has no outcome, and ended when all have one. */
export class Leases {
  readonly #leases = new Map<number, Lease>()
  #ended: number[] = []

  get open(): number[] {
    return [...this.#leases.keys()]
  }

  get areAllFinished(): boolean {
    return this.#leases.size === 0
  }

  add({ lease }: WebhookClaim): void {
    const known = this.#leases.get(lease)
    if (known === undefined) this.#leases.set(lease, { open: 1, expires: false })
    else known.open++
  }

  /** `isSettled`: its outcome is written, or it is no longer under the lease. */
  finish({ lease }: WebhookClaim, isSettled: boolean): void {
    const known = this.#leases.get(lease)
    if (known === undefined) return
    known.expires ||= !isSettled
    known.open--
    if (known.open > 0) return
    this.#leases.delete(lease)
    if (!known.expires) this.#ended.push(lease)
  }

  /** These are not this worker's any more. */
  lose(lost: ReadonlySet<number>): void {
    for (const lease of lost) this.#leases.delete(lease)
  }

  takeEnded(): number[] {
    return this.#ended.splice(0)
  }

  /** They could not be ended. */
  putBack(ended: readonly number[]): void {
    this.#ended.push(...ended)
  }
}
