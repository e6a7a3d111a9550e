import type { Claim } from '../../store/claims.js'

/** How the tries of a delivery are spaced, and when they end. All carriers' tries of a round count as one. */
type Tried = Pick<Claim, 'attempt' | 'detours'>

const JITTER = 0.2

/** null: it was the last. */
export function delayAfter(delaysMs: readonly number[], { attempt, detours }: Tried): number | null {
  const planned = delaysMs[attempt - detours - 1]
  return planned === undefined ? null : jittered(planned)
}

/** The last round is every carrier's too; should none of them stand in, one more try ends it. */
export const lastDelay = (delaysMs: readonly number[], { attempt, detours }: Tried): number | null =>
  attempt - detours - 1 === delaysMs.length ? (delaysMs.at(-1) ?? 0) : null

/** What is postponed for longer than the whole plan lasts uses up tries like what is refused: everything ends. */
export const isYoung = (delaysMs: readonly number[], { acceptedAt }: Pick<Claim, 'acceptedAt'>, now: number): boolean =>
  now - acceptedAt.getTime() < delaysMs.reduce((sum, delay) => sum + delay, 0)

/** Retries of many deliveries that failed together must not come back together. */
export const jittered = (delayMs: number): number => Math.round(delayMs * (1 - JITTER + Math.random() * 2 * JITTER))
