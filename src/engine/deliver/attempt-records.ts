import type { AttemptOutcome } from '../../domain/delivery/change.js'
import type { Fact } from '../../domain/delivery/transition.js'
import type { Claim } from '../../store/delivery/claims.js'
import { describeFailure, type FailedAttempt } from './failed-attempt.js'
import type { LaneOptions } from './lane-options.js'

/** Records how the attempts of one lane ended, each fenced by its claim, and counts them. */
export class AttemptRecords<Message> {
  readonly #options: LaneOptions<Message>
  /** For metrics. */
  readonly counts = { sent: 0, failed: 0, retried: 0, uncertain: 0, fenced: 0 }

  constructor(options: LaneOptions<Message>) {
    this.#options = options
  }

  async record(
    claim: Claim,
    fact: Fact,
    more: Omit<AttemptOutcome, 'kind' | 'notification' | 'fact' | 'fence'> = {},
  ): Promise<void> {
    const { notification, owner, attempt, ordinal } = claim
    const fence = { owner, attempt, ordinal }
    const suppressed = this.#options.suppresses?.(fact) === true ? { suppresses: true } : {}
    const outcome = await this.#options.record({ kind: 'attempt', notification, fact, fence, ...more, ...suppressed })
    if (outcome === 'fenced') this.counts.fenced++
    else if (fact.type === 'processed') this.counts.sent++
    else if (fact.type in this.counts) this.counts[fact.type as keyof AttemptRecords<Message>['counts']]++
  }

  recordFailed(claim: Claim, failed: FailedAttempt): Promise<void> {
    const { type, data, more, unresolved } = failed
    const { identity, mode, provider } = this.#options
    this.#options.onFailed?.(describeFailure({ identity, mode, channel: provider.channel }, claim, failed))
    const fact = this.fact(claim, type, data)
    if (unresolved === null) return this.record(claim, fact, more)
    const { reference, attempt } = claim
    const why = this.fact(claim, 'unresolved', { carrier: identity, reference, attempt, reason: unresolved })
    return this.record(claim, fact, { ...more, unresolved: why })
  }

  fact(claim: Claim, type: Fact['type'], data: Fact['data'], atMs = this.#options.clock()): Fact {
    return { channel: claim.channel, type, at: new Date(atMs), source: this.#options.identity, data }
  }
}
