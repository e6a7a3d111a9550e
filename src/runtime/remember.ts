/** Calls `load` at most once per `maxAgeMs`. Calls in between, and those that come while it runs, share its result or its error. */
export function remember<T>(maxAgeMs: number, load: () => Promise<T>): () => Promise<T> {
  let current: Promise<T> | undefined
  let freshUntil = 0
  return () => {
    if (current === undefined || performance.now() > freshUntil) {
      freshUntil = Number.POSITIVE_INFINITY
      current = load().finally(() => {
        freshUntil = performance.now() + maxAgeMs
      })
    }
    return current
  }
}
