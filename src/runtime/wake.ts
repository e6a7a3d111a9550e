/** Lets loops sleep until they are notified of work, or until a time-out. */
export class Wake {
  #waiters = new Set<() => void>()
  #notified = 0

  /** How often it was notified: taken before looking for work, it tells `wait` whether there may be more since. */
  get notified(): number {
    return this.#notified
  }

  notify(): void {
    this.#notified++
    const waiters = this.#waiters
    this.#waiters = new Set()
    for (const wake of waiters) wake()
  }

  /**
   * `since`: a notification after that moment ends the wait at once. Without it, one that came during the search for work is lost.
   * `sooner`: ends the wait as well.
   */
  wait(timeoutMs: number, since = this.#notified, sooner?: Promise<void>): Promise<void> {
    if (since !== this.#notified) return Promise.resolve()
    return new Promise(resolve => {
      const wake = (): void => {
        clearTimeout(timer)
        this.#waiters.delete(wake)
        resolve()
      }
      const timer = setTimeout(wake, timeoutMs)
      this.#waiters.add(wake)
      void sooner?.then(wake)
    })
  }
}

/** A wake for each topic. */
export class Wakes<Topic extends string> {
  readonly #wakes = new Map<Topic, Wake>()
  /** How often all topics were notified at once. */
  rounds = 0

  of(topic: Topic): Wake {
    const wake = this.#wakes.get(topic) ?? new Wake()
    this.#wakes.set(topic, wake)
    return wake
  }

  /** Without topics, all of them. Topics that nobody asked for have nobody to wake. */
  notify(topics?: Iterable<Topic>): void {
    if (topics === undefined) this.rounds++
    for (const topic of topics ?? this.#wakes.keys()) this.#wakes.get(topic)?.notify()
  }
}

/** Calls at once, then at most every `everyMs` with all topics since, and always once more after the last request. */
export function throttle(
  everyMs: number,
  call: (topics: ReadonlySet<string>) => Promise<unknown>,
): (topics: Iterable<string>) => void {
  let timer: NodeJS.Timeout | undefined
  let waiting = new Set<string>()
  const run = (): void => {
    const topics = waiting
    waiting = new Set()
    // The receivers of this call also poll, so a lost call costs only a second.
    call(topics).catch(() => {})
    timer = setTimeout(() => {
      timer = undefined
      if (waiting.size > 0) run()
    }, everyMs)
    timer.unref()
  }
  return topics => {
    for (const topic of topics) waiting.add(topic)
    if (timer === undefined && waiting.size > 0) run()
  }
}
