import { HOUR_MS } from '../units.js'

/** One wrong header must not hold a queue for a day. */
const MAX_MS = HOUR_MS

/** Reads Retry-After (RFC 9110, 10.2.3): seconds, or a date. null: absent, unreadable or past. An hour at most. */
export function readRetryAfter(text: unknown, nowMs: number): number | null {
  if (typeof text !== 'string') return null
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - nowMs
  return ms > 0 ? Math.min(ms, MAX_MS) : null
}
