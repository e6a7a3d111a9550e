import { isMainThread, parentPort, type Transferable, Worker, workerData } from 'node:worker_threads'

export interface ThreadPoolOptions {
  /** The file of both ends (import.meta.url). */
  file: string
  /** Tells the threads of this file from others. */
  purpose: string
  threads: number
  /** Given to every thread when it starts; read there by `threadData`. */
  data?: unknown
  /** The longest that one answer may take, without the start of the thread. A thread that takes longer is ended. */
  limitMs?: number
  /** The heap that one thread may fill; a thread that needs more dies alone, the process lives on. */
  heapMib?: number
  /** Questions at one thread, the one under way included; `ask` rejects one more with the error that `overloaded` makes. */
  maxPending?: number
  overloaded?(): Error
}

/** On a busy machine a thread takes seconds to start. One that never does must not keep its questions for ever. */
const LONGEST_START_MS = 60_000

export class OutOfTime extends Error {
  constructor(purpose: string) {
    super(`an answer of ${purpose} took longer than it may`)
    this.name = 'OutOfTime'
  }
}

export class ThreadDied extends Error {
  constructor(purpose: string, cause?: unknown) {
    super(`a thread of ${purpose} ended before it answered`, { cause })
    this.name = 'ThreadDied'
  }
}

interface Pending<Question, Answer> {
  question: Question
  transfer: readonly Transferable[]
  resolve(answer: Answer): void
  reject(error: Error): void
}

/** 'ready': the thread has started, and answers from now on. */
type Reply<Answer> = 'ready' | { id: number; answer: Answer } | { id: number; bug: string }

/**
 * Runs work in threads that would block the event loop. The file that asks is also the file that the thread runs, so both sides
 * are read in one place. docs/adr/0015-own-thread-pool.md says why this is our own.
 */
export class ThreadPool<Question, Answer> {
  readonly #threads: Thread<Question, Answer>[]

  constructor({ threads, ...options }: ThreadPoolOptions) {
    this.#threads = Array.from({ length: Math.max(1, threads) }, () => new Thread<Question, Answer>(options))
  }

  /**
   * Rejects with OutOfTime or ThreadDied, or with a plain error where the answering function threw. The bytes in `transfer` are moved
   * into the thread instead of copied.
   */
  ask(question: Question, transfer: readonly Transferable[] = []): Promise<Answer> {
    const idlest = this.#threads.reduce((least, other) => (other.load < least.load ? other : least))
    return idlest.ask(question, transfer)
  }

  /** Starts the threads that have not started; otherwise the first question starts one. */
  start(): void {
    for (const thread of this.#threads) thread.start()
  }

  /** Whether every thread has started. While one has not, an answer takes the time of its start, too. */
  get isReady(): boolean {
    return this.#threads.every(thread => thread.isReady)
  }

  async close(): Promise<void> {
    await Promise.all(this.#threads.map(thread => thread.close()))
  }
}

class Thread<Question, Answer> {
  readonly #options: Omit<ThreadPoolOptions, 'threads'>
  /** In the order in which they are answered. */
  readonly #pending = new Map<number, Pending<Question, Answer>>()
  /** The last of the pending ones, which the thread has not got yet. */
  #unposted: number[] = []
  #worker: Worker | undefined
  #ready = false
  #limit: NodeJS.Timeout | undefined
  #lastId = 0

  constructor(options: Omit<ThreadPoolOptions, 'threads'>) {
    this.#options = options
  }

  get load(): number {
    return this.#pending.size
  }

  get isReady(): boolean {
    return this.#worker !== undefined && this.#ready
  }

  start(): void {
    try {
      this.#open()
    } catch {
      // The system cannot start a thread now. The next question tries again and reports the error to its caller.
    }
  }

  ask(question: Question, transfer: readonly Transferable[]): Promise<Answer> {
    const { maxPending = Number.POSITIVE_INFINITY, overloaded = () => new Error('too many questions wait') } = this.#options
    if (this.#pending.size >= maxPending) return Promise.reject(overloaded())
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId
      this.#pending.set(id, { question, transfer, resolve, reject })
      this.#unposted.push(id)
      this.#post()
      if (this.#pending.size === 1) this.#watch()
    })
  }

  async close(): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    clearTimeout(this.#limit)
    for (const { reject } of this.#pending.values()) reject(new ThreadDied(this.#options.purpose))
    this.#pending.clear()
    this.#unposted = []
    await worker?.terminate()
  }

  /** Limits the start of the thread, then the time of the oldest question: that is the one that is being answered. */
  #watch(): void {
    const { limitMs, purpose } = this.#options
    clearTimeout(this.#limit)
    const longestMs = this.#ready ? limitMs : LONGEST_START_MS
    if (longestMs === undefined || this.#pending.size === 0) return
    this.#limit = setTimeout(() => {
      const worker = this.#worker
      this.#replace(new OutOfTime(purpose))
      // Nothing else ends a computation.
      void worker?.terminate()
    }, longestMs).unref()
  }

  /**
   * Questions are posted while the thread works, so that it goes on without waiting for us. One whose bytes are moved is posted only
   * when the thread has nothing else to answer: the bytes would be lost with a thread that dies of an earlier question.
   */
  #post(): void {
    let posted = 0
    for (const id of this.#unposted) {
      const { question, transfer, reject } = this.#pending.get(id)!
      if (transfer.length > 0 && this.#pending.size > this.#unposted.length - posted) break
      posted++
      try {
        this.#open().postMessage({ id, question }, transfer)
      } catch (error) {
        // It cannot be passed to a thread, or no thread can be started.
        this.#pending.delete(id)
        reject(error as Error)
      }
    }
    if (posted > 0) this.#unposted.splice(0, posted)
  }

  /** Fails the question that was being answered; the later ones did not cause the failure and are asked again in a new thread. */
  #replace(failure: Error): void {
    this.#worker = undefined
    const [first] = this.#pending
    if (first !== undefined) {
      this.#pending.delete(first[0])
      first[1].reject(failure)
    }
    this.#unposted = [...this.#pending.keys()]
    this.#post()
    this.#watch()
  }

  /** Opened when it is first asked, and again after it died. */
  #open(): Worker {
    if (this.#worker !== undefined) return this.#worker
    const { file, purpose, data, heapMib } = this.#options
    const worker = new Worker(new URL(file), {
      workerData: { purpose, data },
      ...(heapMib === undefined ? {} : { resourceLimits: { maxOldGenerationSizeMb: heapMib } }),
    })
    worker.unref()
    this.#ready = false
    worker.on('message', (reply: Reply<Answer>) => {
      // An answer of a thread that was replaced belongs to a question that has failed or is being asked again.
      if (this.#worker !== worker) return
      if (reply === 'ready') {
        this.#ready = true
        return this.#watch()
      }
      const pending = this.#pending.get(reply.id)
      this.#pending.delete(reply.id)
      this.#post()
      this.#watch()
      if ('answer' in reply) pending?.resolve(reply.answer)
      else pending?.reject(new Error(reply.bug))
    })
    let cause: unknown
    worker.on('error', error => {
      cause = error
    })
    worker.on('exit', () => {
      if (this.#worker === worker) this.#replace(new ThreadDied(purpose, cause))
    })
    this.#worker = worker
    return worker
  }
}

/** Whether this is a thread of a pool of that purpose. */
export const isThreadOf = (purpose: string): boolean => !isMainThread && parentPort !== null && workerData?.purpose === purpose

/** In a thread: the `data` of its pool. */
export const threadData = <Data>(): Data => workerData.data as Data

/** In a thread: answers every question. `own` lists the parts of an answer that are handed over instead of copied. */
export function answerQuestions<Question, Answer>(
  answer: (question: Question) => Answer | Promise<Answer>,
  own: (answer: Answer) => readonly Transferable[] = () => [],
): void {
  const port = parentPort!
  port.on('message', async ({ id, question }: { id: number; question: Question }) => {
    try {
      const given = await answer(question)
      port.postMessage({ id, answer: given } satisfies Reply<Answer>, own(given))
    } catch (error) {
      port.postMessage({ id, bug: String((error as Error).stack ?? error) } satisfies Reply<Answer>)
    }
  })
  port.postMessage('ready' satisfies Reply<Answer>)
}
