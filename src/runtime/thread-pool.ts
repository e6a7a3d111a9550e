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
  /** The longest that one answer may take; whoever takes longer ends with its thread, the others are asked again. */
  limitMs?: number
}

/** An answer took longer than it may. */
export class OutOfTime extends Error {
  constructor(purpose: string) {
    super(`an answer of ${purpose} took longer than it may`)
    this.name = 'OutOfTime'
  }
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
  /** In the order in which they are answered. */
  readonly #pending = new Map<number, { question: Question; resolve(answer: Answer): void; reject(error: Error): void }>()
  #thread: Worker | undefined
  #limit: NodeJS.Timeout | undefined
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
      this.#pending.set(id, { question, resolve, reject })
      this.#open().postMessage({ id, question })
      if (this.#pending.size === 1) this.#watch()
    })
  }

  async close(): Promise<void> {
    clearTimeout(this.#limit)
    await this.#thread?.terminate()
  }

  /** The oldest question is the one that is being answered. */
  #watch(): void {
    const { limitMs } = this.#options
    clearTimeout(this.#limit)
    if (limitMs !== undefined && this.#pending.size > 0) this.#limit = setTimeout(() => this.#giveUp(), limitMs).unref()
  }

  /** Nothing else ends a computation; what waited behind it starts anew in another thread. */
  #giveUp(): void {
    const [id, oldest] = this.#pending.entries().next().value!
    this.#pending.delete(id)
    const thread = this.#thread
    this.#thread = undefined
    void thread?.terminate()
    oldest.reject(new OutOfTime(this.#options.purpose))
    for (const [waiting, { question }] of this.#pending) this.#open().postMessage({ id: waiting, question })
    this.#watch()
  }

  /** Opened when first asked, and again after it died: what it was asked then is failed, not lost silently. */
  #open(): Worker {
    if (this.#thread !== undefined) return this.#thread
    const { file, purpose } = this.#options
    const thread = new Worker(new URL(file), { workerData: { purpose } })
    thread.unref()
    thread.on('message', (reply: Reply<Answer>) => {
      if (this.#thread !== thread) return
      const pending = this.#pending.get(reply.id)
      this.#pending.delete(reply.id)
      this.#watch()
      if ('answer' in reply) pending?.resolve(reply.answer)
      else pending?.reject(new Error(reply.bug))
    })
    let failure = new Error(`a thread of ${purpose} ended`)
    thread.on('error', error => {
      failure = error as Error
    })
    thread.on('exit', () => {
      // Another one has taken over.
      if (this.#thread !== thread) return
      this.#thread = undefined
      clearTimeout(this.#limit)
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
