export interface GroupCommitOptions<Item, Result> {
  /** Writes the whole group atomically and returns one result per item, in order. */
  write(group: readonly Item[]): Promise<readonly Result[]>
  /** Whether a single item may have caused the error, so that the others can be written without it. Default: never. */
  isItemFault?(error: unknown): boolean
  maxItems: number
  /** Limits the weight of a group; `weigh` returns the weight of an item, by default 1. */
  maxWeight?: number
  weigh?(item: Item): number
  /** Groups written at the same time. */
  parallel: number
  /** How long a group collects items. Without it a group is written after the current iteration of the event loop. */
  gatherMs?: number
  /** With more waiting items `submit` throws the error of `overloaded`. */
  maxWaiting: number
  overloaded(): Error
}

interface Pending<Item, Result> {
  item: Item
  resolve(result: Result): void
  reject(error: unknown): void
}

/**
 * Writes concurrent items in groups. While a group is being written the next one collects items, so an idle system adds no
 * delay and a busy one writes few large groups.
 */
export class GroupCommit<Item, Result> {
  readonly #options: GroupCommitOptions<Item, Result>
  #waiting: Pending<Item, Result>[] = []
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

  /** Items of the same iteration of the event loop join the first group. */
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

  #take(): Pending<Item, Result>[] {
    const { maxItems, maxWeight = Number.POSITIVE_INFINITY, weigh = () => 1 } = this.#options
    let count = 0
    for (let weight = 0; count < this.#waiting.length && count < maxItems; count++) {
      weight += weigh(this.#waiting[count]!.item)
      if (count > 0 && weight > maxWeight) break
    }
    return this.#waiting.splice(0, count)
  }

  /** Never rejects: every member of the group gets its own result or error. */
  async #write(group: Pending<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#options.write(group.map(member => member.item))
      this.groups++
      this.items += group.length
      for (const [index, member] of group.entries()) member.resolve(results[index]!)
    } catch (error) {
      if (group.length === 1 || this.#options.isItemFault?.(error) !== true) {
        for (const member of group) member.reject(error)
        return
      }
      // Halving isolates the bad item in a few rounds and writes the others.
      const middle = group.length >> 1
      await this.#write(group.slice(0, middle))
      await this.#write(group.slice(middle))
    }
  }
}
