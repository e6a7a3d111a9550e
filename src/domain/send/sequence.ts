import type { Channel } from '../channel.js'

/**
 * An account's sequence (régua): ordered steps, each a channel, a wait after the step before it, and the condition under
 * which it is still needed. It orders only the channels that a request asked for.
 */
export const stepConditions = ['always', 'failed', 'not delivered', 'not read', 'not confirmed'] as const
export type StepCondition = (typeof stepConditions)[number]

export interface SequenceStep {
  channel: Channel
  waitMinutes: number
  condition: StepCondition
}

/** The place of a fallback: outside the order, and it depends on the one channel that it is the fallback for. */
export const FALLBACK_STEP = -1

export const MAX_WAIT_MINUTES = 129_600

/** The place of a channel in the order, the wait after the acceptance, and the condition. */
export type Turn = { step: number; waitMinutes: number; condition: StepCondition }

/** The turns of the requested channels; a channel that the sequence does not name is sent at once. */
export function turnsOf(sequence: readonly SequenceStep[], asked: ReadonlySet<Channel>): Map<Channel, Turn> {
  const turns = new Map<Channel, Turn>()
  let elapsed = 0
  for (const { channel, waitMinutes, condition } of sequence) {
    if (!asked.has(channel)) continue
    const first = turns.size === 0
    // The first step has nothing to wait for or to depend on.
    elapsed += first ? 0 : waitMinutes
    turns.set(channel, { step: turns.size + 1, waitMinutes: elapsed, condition: first ? 'always' : condition })
  }
  return turns
}
