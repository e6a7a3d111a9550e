import type { Chore } from '../../runtime/chores.js'
import {
  addTarget,
  type ClaimedTarget,
  claimTarget,
  failTarget,
  releaseTarget,
  settleTarget,
} from '../../store/evidence/checkpoint-targets.js'
import { listCosignatures } from '../../store/evidence/cosignatures.js'
import type { Pool } from '../../store/postgres.js'

/** Somewhere that checkpoints go: an archive, a witness, a time-stamp authority. */
export interface CheckpointTarget {
  /** Stored, and shown to operators: without secrets. */
  readonly name: string
  /** Between two checkpoints that it gets. */
  readonly everyMs: number
  /** Throws where the target does not have it for sure; the message is Portuguese. */
  deliver(checkpoint: ClaimedTarget, signal: AbortSignal): Promise<void>
}

export interface TargetParts {
  pool: Pool
  onFailure(target: string, error: Error): void
  pollMs?: number
  leaseMs?: number
  retryMs?: readonly number[]
}

const POLL_MS = 1_000
/** Longer than any delivery takes; after a crash another node goes on. */
const LEASE_MS = 60_000
const RETRY_MS = [5_000, 15_000, 60_000, 300_000]

/**
 * Brings a target the newest checkpoint again and again: the newest vouches for all before it, so that after an outage nothing has to be
 * caught up. Each target has a chore of its own, so that a slow one delays no other; of several nodes one serves it.
 */
export function targetChore(target: CheckpointTarget, parts: TargetParts): Chore {
  const { pool, onFailure, pollMs = POLL_MS, leaseMs = LEASE_MS, retryMs = RETRY_MS } = parts
  const { name, everyMs } = target
  let isKnown = false
  return {
    name: `checkpoints for ${name}`,
    everyMs: pollMs,
    async run(stop) {
      if (!isKnown) await addTarget(pool, name)
      isKnown = true
      const claimed = await claimTarget(pool, name, leaseMs)
      if (claimed === null) return
      // Before the lease runs out, so that two nodes are never at it.
      const limit = AbortSignal.timeout(leaseMs / 2)
      try {
        const cosignatures = await listCosignatures(pool, claimed.size)
        const note = claimed.note + cosignatures.map(({ line }) => line).join('')
        const signal = stop === undefined ? limit : AbortSignal.any([stop, limit])
        await Promise.race([target.deliver({ ...claimed, note }, signal), aborted(signal)])
        await settleTarget(pool, name, claimed.size, everyMs)
      } catch (error) {
        // The process ends: whether the target has it or not, the next one sends it.
        if (stop?.aborted === true) return releaseTarget(pool, name)
        const delayMs = retryMs[Math.min(claimed.failures, retryMs.length - 1)]!
        await failTarget(pool, name, (error as Error).message.slice(0, 500), delayMs)
        onFailure(name, error as Error)
      }
    },
  }
}

/** A server that answers slowly does not hold up the end of the process. */
const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('Sem resposta a tempo.')), { once: true }))

/** What a target's server answered. */
export interface TargetReply {
  status: number
  body: Buffer
}

/** HTTP under the rules for addresses that webhooks have. */
export type TargetRequest = (
  method: 'POST' | 'PUT',
  url: string,
  headers: Record<string, string>,
  body: string,
) => Promise<TargetReply>

export const isSuccess = (reply: TargetReply): boolean => Math.floor(reply.status / 100) === 2

/** The answer of a server that refused, cut, in words. */
export const refusalOf = (reply: TargetReply): string => {
  const words = reply.body.toString('utf8').replace(/\s+/g, ' ').trim().slice(0, 200)
  return `O servidor respondeu HTTP ${reply.status}${words === '' ? '.' : `: ${words}`}`
}
