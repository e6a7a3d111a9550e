import type { Change, ChangeOutcome } from '../../domain/change.js'
import type { Mode } from '../../domain/token.js'
import type { Pool } from '../../store/postgres.js'
import { claimTracked, saveSeen, type TrackedLetter } from './letter-store.js'
import { MAX_TRACKED, type PostEvent, type Rastro } from './rastro.js'

/** Asks the post where registered letters are, and records what it tells. */
export interface TrackingParts {
  pool: Pool
  record(change: Change): Promise<ChangeOutcome>
  rastro: Rastro
  mode: Mode
  /** How often each letter is asked about. */
  everyMs: number
}

const TIMEOUT_MS = 20_000
const SOURCE = 'report:correios'

export async function trackLetters(parts: TrackingParts): Promise<void> {
  const { pool, mode, everyMs, rastro } = parts
  for (;;) {
    const letters = await claimTracked(pool, mode, everyMs, MAX_TRACKED)
    if (letters.length === 0) return
    const codes = letters.map(({ code }) => code)
    const known = await rastro.track(codes, AbortSignal.timeout(TIMEOUT_MS))
    await Promise.all(letters.map(letter => take(parts, letter, known.get(letter.code) ?? [])))
    if (letters.length < MAX_TRACKED) return
  }
}

/** In the order in which it happened. What changes the status is told at every asking, lest one that came in late be missed: it counts once. */
async function take({ pool, record }: TrackingParts, letter: TrackedLetter, events: readonly PostEvent[]): Promise<void> {
  const telling = events.filter(({ type }, place) => type !== 'note' || place >= letter.seen)
  for (const event of telling) await record(toChange(letter, event))
  if (events.length > letter.seen) await saveSeen(pool, letter.notification, events.length)
}

const toChange = ({ notification, code }: TrackedLetter, { at, type, text, failure, reason }: PostEvent): Change => ({
  kind: 'fact',
  notification,
  fact: {
    channel: 'letter',
    type,
    at,
    source: SOURCE,
    data: {
      carrier: 'correios',
      answer: text,
      trackingCode: code,
      ...(failure === undefined ? {} : { failure, failureDetail: reason!, reason: reason! }),
    },
  },
})
