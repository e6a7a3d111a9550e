export interface BodyBudgetOptions {
  /** Bytes of bodies held at once. */
  bytes: number
  /** Bytes that the bodies of one holder, an account or an address, hold at once. */
  share: number
  /** Bodies of one holder that wait for room. One more is refused at once, and so is every body that waits for `maxWaitMs`. */
  waiting: number
  maxWaitMs: number
  /** The lowest average speed of a sender after the grace time. */
  slowest: { bytesPerSecond: number; graceMs: number }
  overloaded(): Error
  tooSlow(): Error
}

interface Holder {
  name: string
  bytes: number
  /** The bytes of bodies that have arrived and belong to requests that are not answered yet. They are counted in `bytes` too. */
  arrived: number
  waiting: number
  /** Oldest first. */
  readonly arriving: Set<ArrivingBody>
  bodies: number
}

interface Waiter {
  since: number
  timer: NodeJS.Timeout
  grant(): void
}

/** What one read of a socket brings at most. */
const CHUNK = 65_536
const LOOK_EVERY_MS = 100
/** Refusing hundreds of senders in one turn of the event loop would keep all others waiting (measured: 645 in 0.4 s). */
const MOST_ENDED_AT_ONCE = 16

/**
 * The memory that request bodies hold. A body costs the bytes that have arrived, whatever it declares. While there is no room,
 * its sender's socket is not read. The oldest body that is still arriving does not wait for younger ones that are arriving too:
 * otherwise bodies could wait for each other without end. So one body, and a chunk of each other, may be held beyond `bytes`.
 */
export class BodyBudget {
  readonly #options: BodyBudgetOptions
  readonly #holders = new Map<string, Holder>()
  /** Oldest first. */
  readonly #arriving = new Set<ArrivingBody>()
  readonly #waiting = new Map<ArrivingBody, Waiter>()
  #held = 0
  #arrived = 0
  #look: NodeJS.Timeout | undefined

  constructor(options: BodyBudgetOptions) {
    this.#options = options
  }

  get heldBytes(): number {
    return this.#held
  }

  /** A body that begins to arrive. `onTooSlow` is called if its sender is slower than it may be. */
  open(name: string, onTooSlow: (error: Error) => void): ArrivingBody {
    const holder = this.#holders.get(name) ?? { name, bytes: 0, arrived: 0, waiting: 0, arriving: new Set(), bodies: 0 }
    if (holder.bodies++ === 0) this.#holders.set(name, holder)
    const body = new ArrivingBody(this, holder, onTooSlow)
    this.#arriving.add(body)
    holder.arriving.add(body)
    this.#look ??= setInterval(() => this.#endSlow(), LOOK_EVERY_MS).unref()
    return body
  }

  charge(body: ArrivingBody, bytes: number): void {
    body.bytes += bytes
    body.holder.bytes += bytes
    this.#held += bytes
  }

  room(body: ArrivingBody): Promise<void> | null {
    if (this.#hasRoom(body, 0)) return null
    const { waiting, overloaded } = this.#options
    return body.holder.waiting >= waiting ? Promise.reject(overloaded()) : this.#wait(body)
  }

  complete(body: ArrivingBody): void {
    this.#arrived += body.bytes
    body.holder.arrived += body.bytes
    this.#leaveArriving(body)
  }

  release(body: ArrivingBody): void {
    const { holder } = body
    const waiter = this.#waiting.get(body)
    if (waiter !== undefined) this.#leave(body, waiter)
    this.#held -= body.bytes
    holder.bytes -= body.bytes
    if (!this.#arriving.has(body)) {
      this.#arrived -= body.bytes
      holder.arrived -= body.bytes
    }
    if (--holder.bodies === 0) this.#holders.delete(holder.name)
    this.#leaveArriving(body)
  }

  #leaveArriving(body: ArrivingBody): void {
    this.#arriving.delete(body)
    body.holder.arriving.delete(body)
    // There is more room, or another body is the oldest now.
    if (this.#waiting.size > 0) this.#serve()
  }

  #hasRoom(body: ArrivingBody, promised: number): boolean {
    const { bytes: room, share } = this.#options
    const { holder } = body
    return (
      (this.#held + promised <= room || (isFirst(this.#arriving, body) && fitsBeside(this.#arrived, body, room))) &&
      (holder.bytes <= share || (isFirst(holder.arriving, body) && fitsBeside(holder.arrived, body, share)))
    )
  }

  #wait(body: ArrivingBody): Promise<void> {
    const { maxWaitMs, overloaded } = this.#options
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        since: performance.now(),
        timer: setTimeout(() => {
          this.#leave(body, waiter)
          reject(overloaded())
        }, maxWaitMs),
        grant: () => {
          this.#leave(body, waiter)
          resolve()
        },
      }
      body.holder.waiting++
      this.#waiting.set(body, waiter)
    })
  }

  #leave(body: ArrivingBody, { since, timer }: Waiter): void {
    clearTimeout(timer)
    body.holder.waiting--
    body.waitedMs += performance.now() - since
    this.#waiting.delete(body)
  }

  #serve(): void {
    // Bodies that were let go on have not brought their next chunk yet.
    let promised = 0
    for (const [body, waiter] of this.#waiting) {
      if (!this.#hasRoom(body, promised)) continue
      promised += CHUNK
      waiter.grant()
    }
  }

  /** The time in which its socket was not read is not the sender's. */
  #endSlow(): void {
    const { slowest, tooSlow } = this.#options
    const now = performance.now()
    let ended = 0
    for (const body of this.#arriving) {
      const takenMs = now - body.openedAt - body.waitedMs - slowest.graceMs
      if (this.#waiting.has(body) || body.bytes >= (takenMs / 1_000) * slowest.bytesPerSecond) continue
      body.onTooSlow(tooSlow())
      if (++ended === MOST_ENDED_AT_ONCE) break
    }
    if (this.#arriving.size > 0) return
    clearInterval(this.#look)
    this.#look = undefined
  }
}

const isFirst = (bodies: Iterable<ArrivingBody>, body: ArrivingBody): boolean => {
  for (const first of bodies) return first === body
  return false
}

/** A body that is larger than all of the room is held alone. */
const fitsBeside = (others: number, { bytes }: ArrivingBody, room: number): boolean => others === 0 || others + bytes <= room

/** A body, from its first byte until its request is answered. */
export class ArrivingBody {
  readonly openedAt = performance.now()
  readonly holder: Holder
  readonly onTooSlow: (error: Error) => void
  bytes = 0
  waitedMs = 0
  readonly #budget: BodyBudget
  #released = false

  constructor(budget: BodyBudget, holder: Holder, onTooSlow: (error: Error) => void) {
    this.#budget = budget
    this.holder = holder
    this.onTooSlow = onTooSlow
  }

  /** Counts bytes that have arrived. */
  charge(bytes: number): void {
    if (!this.#released) this.#budget.charge(this, bytes)
  }

  /** null: more may be read; otherwise once the promise resolves. */
  room(): Promise<void> | null {
    return this.#released ? null : this.#budget.room(this)
  }

  /** All of it has arrived. */
  complete(): void {
    if (!this.#released) this.#budget.complete(this)
  }

  release(): void {
    if (this.#released) return
    this.#released = true
    this.#budget.release(this)
  }
}
