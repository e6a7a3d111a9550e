import type { LearnedFact, NoteLimit, Recorder } from '../../domain/delivery/change.js'
import type { Fact, FactType } from '../../domain/delivery/transition.js'
import { sha256 } from '../../domain/evidence/evidence.js'
import type { LinkTarget } from '../../domain/recipient/link.js'
import { BoundedCache } from '../../runtime/bounded-cache.js'

/** One access to a link, by the recipient or by a program such as a mail scanner. */
export interface Visit {
  target: LinkTarget
  at: Date
  address: string
  userAgent: string | null
  /** The signs of a program; empty: the visitor is taken for a person. */
  signals: string[]
}

type PageStep = 'landing' | 'open' | 'question' | 'reply' | 'message' | 'confirm' | 'receipt' | 'not me'
export type VisitStep = PageStep | 'image' | 'file'

/** program: the visitor looked like one; noted: a person's act that cannot count now (domain/delivery/transition.ts). */
export type Counted = 'counted' | 'noted' | 'program'

export type VisitRecorder = ReturnType<typeof createVisitRecorder>

/** The same visit may come twice, from two people behind one address: both are noted. */
export const VISIT_NOTES: NoteLimit = { most: 100, once: false }
/** Equal accesses within this time are recorded once. */
const MERGE_MS = 10 * 60_000
const MAX_CACHED = 20_000

export interface VisitRecorderParts extends Recorder {
  /** Whether the sender of a notification has registered this address: such a visit may be the sender's own. */
  isSenders(notification: string, address: string): Promise<boolean>
}

export function createVisitRecorder({ record, isSenders }: VisitRecorderParts) {
  /** When an access was last noted by this process. */
  const noted = new BoundedCache<string, number>({ maxEntries: MAX_CACHED })
  /** Notifications whose notes are used up: a flood of visits costs no more transactions. */
  const full = new BoundedCache<string, true>({ maxEntries: MAX_CACHED })

  async function change(visit: Visit, step: VisitStep, type: FactType, given: Fact['data']): Promise<LearnedFact> {
    const { channel, notification } = visit.target
    const { at, address, userAgent, signals } = visit
    const data = { ...given, by: step, address, userAgent, signals, ...(signals.length === 0 ? {} : { automated: true }) }
    // Decided now and kept with the event: the account may register other addresses later.
    const fromSender = (await isSenders(notification, address)) ? { fromSender: true } : {}
    const fact = { channel, type, at, source: 'recipient', data: { ...data, ...fromSender } }
    return { kind: 'fact', notification, fact }
  }

  async function note(visit: Visit, step: VisitStep, data: Fact['data'] = {}): Promise<void> {
    const { target, address, userAgent, signals } = visit
    const key = sha256(JSON.stringify([target.notification, target.channel, step, address, userAgent, signals, data]))
    const atMs = visit.at.getTime()
    if (full.get(target.notification) || atMs - (noted.get(key) ?? Number.NEGATIVE_INFINITY) < MERGE_MS) return
    noted.set(key, atMs)
    try {
      const outcome = await record({ ...(await change(visit, step, 'note', data)), noteLimit: VISIT_NOTES })
      if (outcome === 'last note' || outcome === 'nothing new') full.set(target.notification, true)
    } catch (error) {
      noted.delete(key)
      throw error
    }
  }

  return {
    note,
    /** Records a fact for a person and a note for a program. */
    async count(
      visit: Visit,
      step: VisitStep,
      type: FactType,
      data: Fact['data'] = {},
      suppresses?: LearnedFact['suppresses'],
    ): Promise<Counted> {
      if (visit.signals.length > 0) {
        await note(visit, step)
        return 'program'
      }
      const fact = await change(visit, step, type, data)
      const outcome = await record({ ...fact, noteLimit: VISIT_NOTES, ...(suppresses === undefined ? {} : { suppresses }) })
      if (outcome === 'nothing new') await note(visit, step)
      return outcome === 'noted' || outcome === 'last note' ? 'noted' : 'counted'
    },
  }
}
