/** However often the metrics are read, the database is queried at most this often. */
const ASK_EVERY_MS = 5_000

/** Gives null while the database is unavailable: the figures of the process are shown then, and no old figures. */
export function cacheRead<T>(read: () => Promise<T>): () => Promise<T | null> {
  let asked = Number.NEGATIVE_INFINITY
  let answer: Promise<T | null> = Promise.resolve(null)
  return () => {
    if (performance.now() - asked > ASK_EVERY_MS) {
      asked = performance.now()
      answer = read().catch(() => null)
    }
    return answer
  }
}

/** For a read that takes longer than a reader of the metrics waits: the latest value, null before the first and after a failure. */
export function inBackground<T>(ms: number, read: () => Promise<T>): () => T | null {
  let asked = Number.NEGATIVE_INFINITY
  let latest: T | null = null
  return () => {
    if (performance.now() - asked > ms) {
      asked = performance.now()
      read().then(
        value => {
          latest = value
        },
        () => {
          latest = null
          asked = Number.NEGATIVE_INFINITY
        },
      )
    }
    return latest
  }
}
