import type { Change } from '../../domain/change.js'
import type { Fact } from '../../domain/transition.js'
import { type Note, readNotes } from '../../store/event-log.js'
import type { Queryable } from '../../store/postgres.js'

/** Of one source about one notification. A carrier may repeat itself for ever: the last note says that no more are kept. */
export const MAX_CARRIER_NOTES = 100

/** The notes that the chains hold already. Valid only while their notifications are locked. */
export class KeptNotes {
  readonly #kept = new Map<string, Set<string>>()

  static async read(db: Queryable, changes: readonly Change[]): Promise<KeptNotes> {
    const notes = new KeptNotes()
    const wanted = changes.filter(isRepeatable)
    if (wanted.length === 0) return notes
    const ids = [...new Set(wanted.map(({ notification }) => notification))]
    const sources = [...new Set(wanted.map(({ fact }) => fact.source))]
    for (const note of await readNotes(db, ids, sources)) notes.#of(note).add(wordsOf(note.data ?? {}))
    return notes
  }

  /** The fact as it is to be kept; null: the same note is there already, or there is no room for more. */
  admit(notification: string, fact: Fact): Fact | null {
    const kept = this.#of({ notification, source: fact.source })
    const words = wordsOf({ channel: fact.channel, ...fact.data })
    if (kept.has(words) || kept.size >= MAX_CARRIER_NOTES) return null
    kept.add(words)
    return kept.size === MAX_CARRIER_NOTES ? { ...fact, data: { ...fact.data, lastNote: true } } : fact
  }

  #of({ notification, source }: Pick<Note, 'notification' | 'source'>): Set<string> {
    const key = `${notification} ${source}`
    const known = this.#kept.get(key) ?? new Set()
    this.#kept.set(key, known)
    return known
  }
}

export const isRepeatable = ({ kind, fact }: Change): boolean => kind === 'report' && fact.type === 'note'

/** Two notes are the same if these members are, whenever the notes came. */
const wordsOf = ({ channel, ordinal, part, answer, reason }: NonNullable<Note['data']>): string =>
  JSON.stringify([channel, ordinal, part, answer, reason].map(member => member ?? null))
