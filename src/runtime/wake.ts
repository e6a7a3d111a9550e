/** Lets loops sleep until they are notified of work, or until a time-out. */
export class Wake {
  #waiters = new Set<() => void>()

  notify(): void {
    const waiters = this.#waiters
    this.#waiters = new Set()
    for (const wake of waiters) wake()
  }

  wait(timeoutMs: number): Promise<void> {
    return new Promise(resolve => {
      const wake = (): void => {
        clearTimeout(timer)
        this.#waiters.delete(wake)
        resolve()
      }
      const timer = setTimeout(wake, timeoutMs)
      this.#waiters.add(wake)
    })
  }
}

/** Calls at once, then at most every `everyMs`, and always once more after the last request. */
export function throttle(everyMs: number, call: () => Promise<unknown>): () => void {
  let timer: NodeJS.Timeout | undefined
  let again = false
  const run = (): void => {
    again = false
    // The receivers of this call also poll, so a lost call costs only a second.
    call().catch(() => {})
    timer = setTimeout(() => {
      timer = undefined
      if (again) run()
    }, everyMs)
    timer.unref()
  }
  return () => {
    if (timer === undefined) run()
    else again = true
  }
}
