import type { Claim } from '../../store/delivery/claims.js'

/** The plan of attempts of a delivery. Attempts that failed over to another carrier do not count: a round of all carriers is one. */
type Attempted = Pick<Claim, 'attempt' | 'failovers'>

const JITTER = 0.2

/** null: it was the last. */
export function delayAfter(delaysMs: readonly number[], { attempt, failovers }: Attempted): number | null {
  const planned = delaysMs[attempt - failovers - 1]
  return planned === undefined ? null : jittered(planned)
}

/** In the last round every carrier has its turn too. If none of them takes the delivery, one more attempt ends it. */
export const lastDelay = (delaysMs: readonly number[], { attempt, failovers }: Attempted): number | null =>
  attempt - failovers - 1 === delaysMs.length ? (delaysMs.at(-1) ?? 0) : null

/** A delivery that was put off for longer than the whole plan uses up attempts like one that is refused: every delivery ends. */
export const isYoung = (delaysMs: readonly number[], { acceptedAt }: Pick<Claim, 'acceptedAt'>, now: number): boolean =>
  now - acceptedAt.getTime() < delaysMs.reduce((sum, delay) => sum + delay, 0)

/** Retries of many deliveries that failed together must not come back together. */
export const jittered = (delayMs: number): number => Math.round(delayMs * (1 - JITTER + Math.random() * 2 * JITTER))
