import type { QueueDepth } from '../../store/delivery/queue-depth.js'

/** An operator is warned of deliveries that are due for longer than this. */
const OVERDUE_SECONDS = 15 * 60
const UNFINISHED = new Set(['waiting', 'queued', 'sending'])

/** The deliveries that are due, not finished, and that no worker takes up. */
export const findOverdue = (depths: readonly QueueDepth[]): QueueDepth[] =>
  depths.filter(({ state, oldestSeconds }) => UNFINISHED.has(state) && oldestSeconds > OVERDUE_SECONDS)
