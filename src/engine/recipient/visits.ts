import type { LearnedFact, NoteLimit, Recorder } from '../../domain/change.js'
import { sha256 } from '../../domain/evidence.js'
import type { LinkTarget } from '../../domain/link.js'
import type { Fact, FactType } from '../../domain/transition.js'
import { BoundedCache } from '../../runtime/bounded-cache.js'

/** What recipients, and the machines around them, did: facts where it was a person, notes in any case. */
export interface Visit {
  target: LinkTarget
  at: Date
  address: string
  userAgent: string | null
  /** Why this was no person; empty when it was one. */
  signals: string[]
}

/** What a visitor did: loaded the image, saw a page, pressed a button. */
export type VisitStep =
  | 'image'
  | 'landing'
  | 'open'
  | 'question'
  | 'reply'
  | 'message'
  | 'file'
  | 'confirm'
  | 'receipt'
  | 'not me'

export interface VisitRecorder {
  /** A person's deed becomes a fact; a machine's is noted. Returns whether it was a person. */
  count(visit: Visit, step: VisitStep, type: FactType, data?: Fact['data']): Promise<boolean>
  note(visit: Visit, step: VisitStep, data?: Fact['data']): Promise<void>
}

/** The same visit may come twice, from two people behind one address: both are noted. */
export const VISIT_NOTES: NoteLimit = { most: 100, once: false }
/** The same access again within this time is the same access. */
const MERGE_MS = 10 * 60_000
const MAX_REMEMBERED = 20_000

export function createVisitRecorder({ record }: Recorder): VisitRecorder {
  /** When an access was last noted by this process. */
  const noted = new BoundedCache<string, number>({ maxEntries: MAX_REMEMBERED })
  /** Notifications whose notes are used up: a flood of visits costs no more transactions. */
  const full = new BoundedCache<string, true>({ maxEntries: MAX_REMEMBERED })

  function isRepeated(key: string, atMs: number): boolean {
    const before = noted.get(key)
    if (before !== undefined && atMs - before < MERGE_MS) return true
    noted.set(key, atMs)
    return false
  }

  const change = (
    { target, at, address, userAgent, signals }: Visit,
    step: VisitStep,
    type: FactType,
    data: Fact['data'],
  ): LearnedFact => ({
    kind: 'fact',
    notification: target.notification,
    fact: {
      channel: target.channel,
      type,
      at,
      source: 'recipient',
      data: {
        ...data,
        by: step,
        address,
        userAgent,
        signals,
        ...(signals.length === 0 ? {} : { automated: true }),
      },
    },
  })

  async function note(visit: Visit, step: VisitStep, data: Fact['data'] = {}): Promise<void> {
    const { target, address, userAgent, signals } = visit
    const key = sha256(JSON.stringify([target.notification, target.channel, step, address, userAgent, signals, data]))
    if (full.get(target.notification) || isRepeated(key, visit.at.getTime())) return
    try {
      const outcome = await record({ ...change(visit, step, 'note', data), repeatable: VISIT_NOTES })
      if (outcome === 'last note' || outcome === 'nothing new') full.set(target.notification, true)
    } catch (error) {
      noted.delete(key)
      throw error
    }
  }

  return {
    note,
    async count(visit, step, type, data = {}) {
      if (visit.signals.length > 0) {
        await note(visit, step)
        return false
      }
      const outcome = await record(change(visit, step, type, data))
      if (outcome === 'nothing new') await note(visit, step)
      return true
    },
  }
}
