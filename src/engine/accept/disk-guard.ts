import { Refusal } from '../../domain/errors.js'
import { remember } from '../../runtime/remember.js'

export interface DiskGuardOptions {
  /** 0: the disk is not watched. */
  minFreeBytes: number
  /** null: there is nothing to watch. */
  readFree(): Promise<number | null>
  onChange(isLow: boolean, freeBytes: number): void
}

/** How long an answer counts: a second of sends at full speed is some megabytes. */
const MAX_AGE_MS = 1_000
const RETRY_AFTER_SECONDS = 60

/**
 * Refuses what would fill the disk before it is full: a database without space for its log stops, and with it the deliveries of what
 * was accepted. Resolves again by itself once there is space.
 */
export function createDiskGuard({ minFreeBytes, readFree, onChange }: DiskGuardOptions): () => Promise<void> {
  let wasLow = false
  const isLow = remember(MAX_AGE_MS, async () => {
    const freeBytes = await readFree()
    const low = freeBytes !== null && freeBytes < minFreeBytes
    if (low !== wasLow) onChange(low, freeBytes ?? 0)
    wasLow = low
    return low
  })
  if (minFreeBytes === 0) return async () => {}
  return async () => {
    // A file system that cannot be asked is the write's own trouble.
    if (await isLow().catch(() => false)) throw new Refusal('diskLow', [], { retryAfter: RETRY_AFTER_SECONDS })
  }
}
