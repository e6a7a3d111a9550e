import { moduleOf } from '../../channels/registry.js'
import type { Change, NoteLimit } from '../../domain/delivery/change.js'
import { type Fact, mayBecomeNote } from '../../domain/delivery/transition.js'
import { type Note, readNotes } from '../../store/notification/event-log.js'
import type { Queryable } from '../../store/postgres.js'

/** A carrier may repeat a report without end, with the same text or with a new one each time. */
export const CARRIER_NOTES: NoteLimit = { most: 100, once: true }

/** The notes that are already in the chains. Valid only while the notifications are locked: no other node adds a note meanwhile. */
export class KeptNotes {
  readonly #kept = new Map<string, { count: number; keys: Set<string> }>()

  static async read(db: Queryable, changes: readonly Change[]): Promise<KeptNotes> {
    const notes = new KeptNotes()
    const wanted = changes.filter(change => isNote(change) && noteLimitOf(change) !== null)
    if (wanted.length === 0) return notes
    const ids = [...new Set(wanted.map(({ notification }) => notification))]
    const sources = [...new Set(wanted.map(({ fact }) => fact.source))]
    for (const note of await readNotes(db, ids, sources)) notes.#add(note, noteKey(note.words))
    return notes
  }

  /** The fact as it is to be kept; null: the same note is there already, or there is no room for more. */
  admit(notification: string, fact: Fact, { most, once }: NoteLimit): Fact | null {
    const of = { notification, source: fact.source }
    const { count, keys: known } = this.#of(of)
    const key = noteKey({ channel: fact.channel, ...fact.data })
    if (count >= most || (once && known.has(key))) return null
    this.#add(of, key)
    return count + 1 === most ? { ...fact, data: { ...fact.data, lastNote: true } } : fact
  }

  #add(of: Pick<Note, 'notification' | 'source'>, key: string): void {
    const kept = this.#of(of)
    kept.count++
    kept.keys.add(key)
  }

  #of({ notification, source }: Pick<Note, 'notification' | 'source'>) {
    const key = `${notification} ${source}`
    const known = this.#kept.get(key) ?? { count: 0, keys: new Set() }
    this.#kept.set(key, known)
    return known
  }
}

const isNote = ({ fact }: Change): boolean => fact.type === 'note' || mayBecomeNote(fact, moduleOf(fact.channel))

/** The limit for a change that is a note; null: the change is recorded however often it comes. */
export const noteLimitOf = (change: Change): NoteLimit | null => ('noteLimit' in change && change.noteLimit) || null

/** Two notes are equal if these members are equal, whatever the dates of the notes. */
const noteKey = ({ channel, ordinal, part, answer, reason, reportedAt }: Note['words']): string =>
  JSON.stringify([channel, ordinal, part, answer, reason, reportedAt].map(member => member ?? null))
