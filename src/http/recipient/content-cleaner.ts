import { overloaded } from '../../domain/errors.js'
import { sha256 } from '../../domain/evidence/evidence.js'
import { MIB } from '../../domain/units.js'
import { BoundedCache } from '../../runtime/bounded-cache.js'
import { answerQuestions, isThreadOf, OutOfTime, ThreadDied, ThreadPool } from '../../runtime/thread-pool.js'
import { cleanContent } from './content.js'

export type ContentCleaner = ReturnType<typeof createContentCleaner>

const PURPOSE = 'carteiro-content-cleaner'
const MAX_CONTENT = 4 * MIB
const LIMIT_MS = 3_000
/** Contents are cleaned one after the other, each perhaps for the whole time, so a visitor that would wait for long is refused. */
const MAX_PENDING = 9
const CACHE_CHARACTERS = 16 * MIB
const CACHE_ENTRIES = 10_000
const THREAD_HEAP_MIB = 256
/**
 * A content that could not be cleaned is not tried again for so long: each try may take the thread's whole time. No longer, because the
 * fault may have been a moment's, of a machine that was too busy.
 */
const FAILED_MS = 60_000

const startThread = () =>
  new ThreadPool<string, string>({
    file: import.meta.url,
    purpose: PURPOSE,
    threads: 1,
    limitMs: LIMIT_MS,
    heapMib: THREAD_HEAP_MIB,
    maxPending: MAX_PENDING,
    overloaded,
  })

/**
 * Cleans contents in a thread: cleaning takes 0.3 s a MiB, and for some contents time that grows with the square of their
 * length. A content that takes too long is not shown. This file is both ends of that thread.
 */
export function createContentCleaner({
  thread = startThread(),
  now = () => performance.now(),
}: {
  thread?: Pick<ThreadPool<string, string>, 'ask' | 'close'>
  now?(): number
} = {}) {
  const cleaned = new BoundedCache<string, string | null>({
    maxEntries: CACHE_ENTRIES,
    maxWeight: CACHE_CHARACTERS,
    weigh: content => content?.length ?? 0,
    now,
  })
  return {
    /** null: too large or too complex to be shown. */
    async clean(content: string): Promise<string | null> {
      if (content.length > MAX_CONTENT) return null
      const key = sha256(content)
      const known = cleaned.get(key)
      if (known !== undefined) return known
      const answer = await thread.ask(content).catch(error => {
        if (error instanceof OutOfTime || error instanceof ThreadDied) return null
        throw error
      })
      if (answer === null) cleaned.set(key, answer, FAILED_MS)
      else cleaned.set(key, answer)
      return answer
    },
    close: () => thread.close(),
  }
}

if (isThreadOf(PURPOSE)) answerQuestions(cleanContent)
