import { BoundedCache, type BoundedCacheOptions } from './bounded-cache.js'

export interface MakeOnceOptions<Value> extends BoundedCacheOptions<Value> {
  /** Whether a value is kept for later calls. Without this option every value is kept. */
  isKept?(value: Value): boolean
}

/**
 * Returns a function that makes the value of a key once. Calls that come while the value is being made share the work, and later
 * calls find the value in a bounded cache. An error reaches every call that shares the work and is not kept, so that the next call
 * makes the value again.
 */
export function makeOnce<Value>({ isKept = () => true, ...bounds }: MakeOnceOptions<Value>) {
  const made = new BoundedCache<string, Value>(bounds)
  const inProgress = new Map<string, Promise<Value>>()

  async function makeAndKeep(key: string, make: () => Promise<Value>): Promise<Value> {
    const value = await make()
    if (isKept(value)) made.set(key, value)
    return value
  }

  return async (key: string, make: () => Promise<Value>): Promise<Value> => {
    const known = made.get(key)
    if (known !== undefined) return known
    const shared = inProgress.get(key)
    if (shared !== undefined) return shared
    const making = makeAndKeep(key, make).finally(() => inProgress.delete(key))
    inProgress.set(key, making)
    return making
  }
}
