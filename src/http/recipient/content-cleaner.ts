import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import { overloaded } from '../../domain/errors.js'
import { sha256 } from '../../domain/evidence.js'
import { BoundedCache } from '../../runtime/bounded-cache.js'
import { Semaphore } from '../../runtime/semaphore.js'
import { cleanContent } from './content.js'

/**
 * Cleans contents in a thread of its own: it takes 0.3 s a MiB, and for some contents time that grows with the square of their
 * length. What takes too long is not shown. This file is both ends of that thread.
 */
const MAX_CONTENT = 4 * 1_048_576
const PATIENCE_MS = 3_000
/** One after the other, each perhaps for the whole time: who would wait for long is told at once to come back. */
const WAITING = 8
const CACHE_CHARACTERS = 16 * 1_048_576
const CACHE_ENTRIES = 10_000
const THREAD_HEAP_MIB = 256

type Answer = { cleaned: string } | { bug: string }

export class ContentCleaner {
  readonly #turns = new Semaphore({ permits: 1, maxWaiting: WAITING, refusal: overloaded })
  readonly #cache = new BoundedCache<string, string | null>({
    maxEntries: CACHE_ENTRIES,
    maxWeight: CACHE_CHARACTERS,
    weigh: cleaned => cleaned?.length ?? 0,
  })
  readonly #patienceMs: number
  #thread: Worker | undefined

  constructor(patienceMs = PATIENCE_MS) {
    this.#patienceMs = patienceMs
  }

  /** null: too large or too complex to be shown. */
  async clean(content: string): Promise<string | null> {
    if (content.length > MAX_CONTENT) return null
    const key = sha256(content)
    const known = this.#cache.get(key)
    if (known !== undefined) return known
    const cleaned = await this.#turns.run(() => this.#ask(content))
    this.#cache.set(key, cleaned)
    return cleaned
  }

  async close(): Promise<void> {
    await this.#thread?.terminate()
  }

  #ask(content: string): Promise<string | null> {
    const thread = this.#open()
    return new Promise((resolve, reject) => {
      const settle = (act: () => void): void => {
        clearTimeout(timer)
        thread.off('message', answered).off('error', failed)
        act()
      }
      const answered = (answer: Answer): void =>
        settle(() => ('cleaned' in answer ? resolve(answer.cleaned) : reject(new Error(answer.bug))))
      const failed = (): void => settle(() => this.#drop(thread, resolve))
      const timer = setTimeout(() => settle(() => this.#drop(thread, resolve)), this.#patienceMs)
      thread.once('message', answered).once('error', failed)
      thread.postMessage(content)
    })
  }

  /** A thread that is lost in a content, or died of it, is given up with it. */
  #drop(thread: Worker, resolve: (cleaned: null) => void): void {
    if (this.#thread === thread) this.#thread = undefined
    thread.terminate().finally(() => resolve(null))
  }

  #open(): Worker {
    if (this.#thread === undefined) {
      const thread = new Worker(new URL(import.meta.url), { resourceLimits: { maxOldGenerationSizeMb: THREAD_HEAP_MIB } })
      thread.unref()
      thread.on('error', () => {})
      thread.on('exit', () => {
        if (this.#thread === thread) this.#thread = undefined
      })
      this.#thread = thread
    }
    return this.#thread
  }
}

if (!isMainThread && parentPort !== null) {
  const port = parentPort
  port.on('message', (content: string) => {
    try {
      port.postMessage({ cleaned: cleanContent(content) } satisfies Answer)
    } catch (error) {
      port.postMessage({ bug: String((error as Error).stack) } satisfies Answer)
    }
  })
}
