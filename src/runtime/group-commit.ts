/**
 * Concurrent items share one write. While a write is under way the next group gathers, so an idle system adds no wait
 * and a busy one writes few, large groups.
 */
export interface GroupCommitOptions<Item, Result> {
  /** Writes the whole group or nothing, and gives one result per item, in order. */
  write(group: readonly Item[]): Promise<readonly Result[]>
  /** Whether an error is the fault of some item, so that the others may pass without it. */
  isItemFault(error: unknown): boolean
  weigh(item: Item): number
  maxItems: number
  maxWeight: number
  /** Groups written at the same time. */
  parallel: number
  /** How long a group gathers, where no caller waits for its answer; without it, one turn of the event loop. */
  gatherMs?: number
  /** Items that may wait; `submit` throws the error that `overloaded` makes for one more. */
  maxWaiting: number
  overloaded(): Error
}

interface Waiting<Item, Result> {
  item: Item
  resolve(result: Result): void
  reject(error: unknown): void
}

export class GroupCommit<Item, Result> {
  readonly #options: GroupCommitOptions<Item, Result>
  #waiting: Waiting<Item, Result>[] = []
  #writing = 0
  /** For metrics: groups and items written so far. */
  groups = 0
  items = 0

  constructor(options: GroupCommitOptions<Item, Result>) {
    this.#options = options
  }

  get waiting(): number {
    return this.#waiting.length
  }

  submit(item: Item): Promise<Result> {
    if (this.#waiting.length >= this.#options.maxWaiting) throw this.#options.overloaded()
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject })
      if (this.#writing < this.#options.parallel && this.#waiting.length === 1) this.#gather()
    })
  }

  /** Requests that arrived in the same turn of the event loop join the first group. */
  #gather(): void {
    const { gatherMs } = this.#options
    if (gatherMs === undefined) setImmediate(() => this.#next())
    else setTimeout(() => this.#next(), gatherMs)
  }

  #next(): void {
    while (this.#waiting.length > 0 && this.#writing < this.#options.parallel) {
      const group = this.#take()
      this.#writing++
      this.#write(group).finally(() => {
        this.#writing--
        if (this.#options.gatherMs === undefined) this.#next()
        else if (this.#waiting.length > 0) this.#gather()
      })
    }
  }

  #take(): Waiting<Item, Result>[] {
    const { maxItems, maxWeight, weigh } = this.#options
    let count = 0
    for (let weight = 0; count < this.#waiting.length && count < maxItems; count++) {
      weight += weigh(this.#waiting[count]!.item)
      if (count > 0 && weight > maxWeight) break
    }
    return this.#waiting.splice(0, count)
  }

  /** Never rejects: every member of the group gets its own answer. */
  async #write(group: Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#options.write(group.map(member => member.item))
      this.groups++
      this.items += group.length
      for (const [index, member] of group.entries()) member.resolve(results[index]!)
    } catch (error) {
      if (group.length === 1 || !this.#options.isItemFault(error)) {
        for (const member of group) member.reject(error)
        return
      }
      // Halving finds the bad one in a few rounds and lets its neighbours through.
      const middle = group.length >> 1
      await this.#write(group.slice(0, middle))
      await this.#write(group.slice(middle))
    }
  }
}
