import type { Change, ChangeOutcome } from '../../domain/change.js'
import { sha256 } from '../../domain/evidence.js'
import type { LinkTarget } from '../../domain/link.js'
import type { Fact, FactType } from '../../domain/transition.js'

/** What recipients, and the machines around them, did: facts where it was a person, notes in any case. */
export interface Visit {
  target: LinkTarget
  at: Date
  address: string
  userAgent: string | null
  /** Why this was no person; empty when it was one. */
  signals: string[]
}

export interface VisitParts {
  record(change: Change): Promise<ChangeOutcome>
  /** A place among the notes of a notification; null when they are used up. */
  takeNote(notification: string, limit: number): Promise<number | null>
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

/** A flood must not grow a chain without end: the last note says that no more are kept. Facts are always recorded. */
export const MAX_NOTES = 100
/** The same access again within this time is the same access. */
const MERGE_MS = 10 * 60_000
const MAX_REMEMBERED = 20_000

export function createVisitRecorder({ record, takeNote }: VisitParts): VisitRecorder {
  /** When an access was last noted by this process. */
  const noted = new Map<string, number>()

  function isRepeated(key: string, atMs: number): boolean {
    const before = noted.get(key)
    if (before !== undefined && atMs - before < MERGE_MS) return true
    noted.delete(key)
    if (noted.size >= MAX_REMEMBERED) noted.delete(noted.keys().next().value!)
    noted.set(key, atMs)
    return false
  }

  const change = (
    { target, at, address, userAgent, signals }: Visit,
    step: VisitStep,
    type: FactType,
    data: Fact['data'],
  ): Change => ({
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
    if (isRepeated(key, visit.at.getTime())) return
    try {
      const place = await takeNote(target.notification, MAX_NOTES)
      if (place !== null) await record(change(visit, step, 'note', place === MAX_NOTES ? { ...data, lastNote: true } : data))
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
