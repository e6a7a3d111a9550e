import { isMainThread, parentPort, type Transferable, Worker, workerData } from 'node:worker_threads'

/**
 * Work that would hold up everything else, done in threads of its own. The file that asks is also the one that answers: both
 * ends of a conversation are read in one place.
 */
export interface ThreadPoolOptions {
  /** The file of both ends (import.meta.url). */
  file: string
  /** Marks its threads among others. */
  purpose: string
  threads: number
}

type Reply<Answer> = { id: number; answer: Answer } | { id: number; bug: string }

export class ThreadPool<Question, Answer> {
  readonly #threads: Thread<Question, Answer>[]

  constructor({ threads, ...options }: ThreadPoolOptions) {
    this.#threads = Array.from({ length: Math.max(1, threads) }, () => new Thread<Question, Answer>(options))
  }

  /** How many questions wait at the thread that has the fewest. */
  get load(): number {
    return this.#idlest.load
  }

  ask(question: Question): Promise<Answer> {
    return this.#idlest.ask(question)
  }

  async close(): Promise<void> {
    await Promise.all(this.#threads.map(thread => thread.close()))
  }

  get #idlest(): Thread<Question, Answer> {
    return this.#threads.reduce((least, other) => (other.load < least.load ? other : least))
  }
}

class Thread<Question, Answer> {
  readonly #options: Omit<ThreadPoolOptions, 'threads'>
  readonly #pending = new Map<number, { resolve(answer: Answer): void; reject(error: Error): void }>()
  #thread: Worker | undefined
  #lastId = 0

  constructor(options: Omit<ThreadPoolOptions, 'threads'>) {
    this.#options = options
  }

  get load(): number {
    return this.#pending.size
  }

  ask(question: Question): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId
      this.#pending.set(id, { resolve, reject })
      this.#open().postMessage({ id, question })
    })
  }

  async close(): Promise<void> {
    await this.#thread?.terminate()
  }

  /** Opened when first asked, and again after it died: what it was asked then is failed, not lost silently. */
  #open(): Worker {
    if (this.#thread !== undefined) return this.#thread
    const { file, purpose } = this.#options
    const thread = new Worker(new URL(file), { workerData: { purpose } })
    thread.unref()
    thread.on('message', (reply: Reply<Answer>) => {
      const pending = this.#pending.get(reply.id)
      this.#pending.delete(reply.id)
      if ('answer' in reply) pending?.resolve(reply.answer)
      else pending?.reject(new Error(reply.bug))
    })
    let failure = new Error(`a thread of ${purpose} ended`)
    thread.on('error', error => {
      failure = error as Error
    })
    thread.on('exit', () => {
      this.#thread = undefined
      for (const pending of this.#pending.values()) pending.reject(failure)
      this.#pending.clear()
    })
    this.#thread = thread
    return thread
  }
}

/** Whether this is a thread of a pool of that purpose. */
export const isThreadOf = (purpose: string): boolean => !isMainThread && parentPort !== null && workerData?.purpose === purpose

/** The other end: answers every question, and says so where it cannot. `own` lists what may be handed over instead of copied. */
export function answerQuestions<Question, Answer>(
  answer: (question: Question) => Answer,
  own: (answer: Answer) => readonly Transferable[] = () => [],
): void {
  const port = parentPort!
  port.on('message', ({ id, question }: { id: number; question: Question }) => {
    try {
      const given = answer(question)
      port.postMessage({ id, answer: given } satisfies Reply<Answer>, own(given))
    } catch (error) {
      port.postMessage({ id, bug: String((error as Error).stack ?? error) } satisfies Reply<Answer>)
    }
  })
}
