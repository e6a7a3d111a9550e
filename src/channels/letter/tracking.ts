import type { Change, ChangeOutcome } from '../../domain/delivery/change.js'
import { sha256 } from '../../domain/evidence/evidence.js'
import type { Pool } from '../../store/postgres.js'
import { claimTracked, saveSeen, type TrackedLetter, type TrackedLetters } from './letter-store.js'
import { MAX_TRACKED, type PostEvent, type Rastro } from './rastro.js'

export interface TrackingParts {
  pool: Pool
  record(change: Change): Promise<ChangeOutcome>
  rastro: Rastro
  tracked: TrackedLetters
  /** How often Correios is asked about each letter. */
  everyMs: number
}

const TIMEOUT_MS = 20_000
const NOTES = { most: 100, once: true }

/** Asks Correios where registered letters are, and records the events. */
export async function trackLetters(parts: TrackingParts): Promise<void> {
  const { pool, tracked, everyMs, rastro } = parts
  for (let count = MAX_TRACKED; count === MAX_TRACKED; ) {
    const letters = await claimTracked(pool, tracked, everyMs, MAX_TRACKED)
    count = letters.length
    if (count === 0) return
    const known = await rastro.track(
      letters.map(({ code }) => code),
      AbortSignal.timeout(TIMEOUT_MS),
    )
    await Promise.all(letters.map(letter => recordEvents(parts, letter, known.get(letter.code) ?? [])))
  }
}

/**
 * All events are recorded again when the history has changed, because Correios may add an older one. A fact counts once, and a note
 * is known by its time and its words. The digest is saved last: after a failure the events are recorded again.
 */
async function recordEvents({ pool, record }: TrackingParts, letter: TrackedLetter, events: readonly PostEvent[]): Promise<void> {
  const { notification, code, seen } = letter
  const digest = sha256(JSON.stringify(events))
  if (events.length === 0 || digest === seen) return
  for (const { at, type, text, failure, reason } of events) {
    const failed = failure === undefined ? {} : { failure, failureDetail: reason!, reason: reason! }
    const data = { carrier: 'correios', answer: text, trackingCode: code, reportedAt: at.toISOString(), ...failed }
    const fact = { channel: 'letter', type, at, source: 'report:correios', data }
    await record({ kind: 'fact', notification, fact, noteLimit: NOTES })
  }
  await saveSeen(pool, notification, digest)
}
