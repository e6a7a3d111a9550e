import type { Change, ChangeOutcome } from '../../domain/delivery/change.js'
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

/** An event that changes the status is recorded at every call, because an older one may arrive late; it counts only once. */
async function recordEvents({ pool, record }: TrackingParts, letter: TrackedLetter, events: readonly PostEvent[]): Promise<void> {
  const { notification, code, seen } = letter
  for (const { at, type, text, failure, reason } of events.filter(({ type }, place) => type !== 'note' || place >= seen)) {
    const failed = failure === undefined ? {} : { failure, failureDetail: reason!, reason: reason! }
    const data = { carrier: 'correios', answer: text, trackingCode: code, ...failed }
    await record({ kind: 'fact', notification, fact: { channel: 'letter', type, at, source: 'report:correios', data } })
  }
  if (events.length > seen) await saveSeen(pool, notification, events.length)
}
