import type { QueueDepth } from '../../store/queue.js'

/** What waits longer than this although it could go is worth waking somebody. */
const OVERDUE_SECONDS = 15 * 60
const MOVING = new Set(['waiting', 'queued', 'sending'])

/** What should be moving and is not: accepted, not finished, and nobody has taken it up. */
export const findStandingStill = (depths: readonly QueueDepth[]): QueueDepth[] =>
  depths.filter(({ state, oldestSeconds }) => MOVING.has(state) && oldestSeconds > OVERDUE_SECONDS)
