import { sha256 } from '../../domain/evidence.js'
import type { LinkTarget } from '../../domain/link.js'
import type { Fact, FactType } from '../../domain/transition.js'
import type { Change, ChangeOutcome } from '../record/record.js'

/** One access to a link, by the recipient or by a program such as a mail scanner. */
export interface Visit {
  target: LinkTarget
  at: Date
  address: string
  userAgent: string | null
  /** The signs of a program; empty: the visitor is taken for a person. */
  signals: string[]
}

export interface VisitParts {
  record(change: Change): Promise<ChangeOutcome>
  /** Counts a note of the notification and returns its number; null when the limit is reached. */
  takeNote(notification: string, limit: number): Promise<number | null>
}

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
  /** Records a fact for a person and a note for a program. Returns whether the visitor is a person. */
  count(visit: Visit, step: VisitStep, type: FactType, data?: Fact['data']): Promise<boolean>
  note(visit: Visit, step: VisitStep, data?: Fact['data']): Promise<void>
}

/** Limits the event chain during a flood. The last note records that no more are kept; facts are always recorded. */
export const MAX_NOTES = 100
/** Equal accesses within this time are recorded once. */
const MERGE_MS = 10 * 60_000
const MAX_CACHED = 20_000

export function createVisitRecorder({ record, takeNote }: VisitParts): VisitRecorder {
  /** When an access was last noted by this process. */
  const noted = new Map<string, number>()

  function isRepeated(key: string, atMs: number): boolean {
    const before = noted.get(key)
    if (before !== undefined && atMs - before < MERGE_MS) return true
    noted.delete(key)
    if (noted.size >= MAX_CACHED) noted.delete(noted.keys().next().value!)
    noted.set(key, atMs)
    return false
  }

  const change = ({ target, at, address, userAgent, signals }: Visit, step: VisitStep, type: FactType, data: Fact['data']) => ({
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
    if (isRepeated(key, visit.at.getTime())) return
    try {
      const count = await takeNote(target.notification, MAX_NOTES)
      if (count !== null) await record(change(visit, step, 'note', count === MAX_NOTES ? { ...data, lastNote: true } : data))
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
