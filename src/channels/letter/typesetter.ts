import { availableParallelism } from 'node:os'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { type LetterReceipt, SHEET_SOURCE, type Sheet, type SheetInputs, sheetInputs } from './sheet.js'

/**
 * Letters become PDF in threads of their own: a page takes about 30 ms of processor time, during which nothing else would
 * move. This file is both ends of those threads.
 */
export interface Typesetter {
  /** The same sheet gives the same bytes. Throws TypesettingError when it cannot be set. */
  compose(sheet: Sheet, receipt?: LetterReceipt | null): Promise<Typeset>
  close(): Promise<void>
}

interface Typeset {
  pdf: Uint8Array
  pages: number
}

/** The content cannot become a letter, now or later. */
export class TypesettingError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'TypesettingError'
  }
}

/** Too many letters wait to be made. */
export class TypesetterBusy extends Error {
  constructor() {
    super('too many letters wait to be typeset')
    this.name = 'TypesetterBusy'
  }
}

interface Question {
  id: number
  inputs: SheetInputs
}

type Answer = { id: number; pdf: Uint8Array; pages: number } | { id: number; fault: string }

/** Marks the threads of this file among others. */
const PURPOSE = 'carteiro-typesetter'
const MAX_WAITING = 256
/** Exists nowhere: the typesetter sees the files that it is handed and no others. */
const WORKSPACE = '/carteiro-typesetter'
/** PDF/A: fonts inside, nothing that runs, readable for as long as a case lasts; the third part allows files inside. */
const STANDARDS = { plain: 'a-2b', withFiles: 'a-3b' }
/** What the typesetter remembers of earlier letters, in letters: they share the layout. Measured: 10 keep it below 200 MB. */
const REMEMBERED = 10

export function createTypesetter(threads = availableParallelism() - 1): Typesetter {
  const pool = Array.from({ length: Math.max(1, threads) }, () => new TypesettingThread())
  return {
    async compose(sheet, receipt = null) {
      const thread = pool.reduce((least, other) => (other.load < least.load ? other : least))
      if (thread.load >= MAX_WAITING) throw new TypesetterBusy()
      const answer = await thread.ask(sheetInputs(sheet, receipt))
      if ('fault' in answer) throw new TypesettingError(answer.fault)
      return { pdf: answer.pdf, pages: answer.pages }
    },
    async close() {
      await Promise.all(pool.map(thread => thread.close()))
    },
  }
}

class TypesettingThread {
  readonly #pending = new Map<number, { resolve(answer: Answer): void; reject(error: Error): void }>()
  #thread: Worker | undefined
  #lastId = 0

  get load(): number {
    return this.#pending.size
  }

  ask(inputs: SheetInputs): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId
      this.#pending.set(id, { resolve, reject })
      this.#open().postMessage({ id, inputs } satisfies Question)
    })
  }

  async close(): Promise<void> {
    await this.#thread?.terminate()
  }

  #open(): Worker {
    if (this.#thread !== undefined) return this.#thread
    const thread = new Worker(new URL(import.meta.url), { workerData: { purpose: PURPOSE } })
    thread.unref()
    thread.on('message', (answer: Answer) => {
      this.#pending.get(answer.id)?.resolve(answer)
      this.#pending.delete(answer.id)
    })
    let failure = new Error('the typesetting thread ended')
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

if (!isMainThread && parentPort !== null && workerData?.purpose === PURPOSE) {
  const port = parentPort
  // Only here: the main thread never loads the compiler.
  const { NodeCompiler } = await import('@myriaddreamin/typst-ts-node-compiler')
  const compiler = NodeCompiler.create({ workspace: WORKSPACE })
  port.on('message', ({ id, inputs }: Question) => {
    try {
      for (const [path, bytes] of Object.entries(inputs.files)) compiler.mapShadow(WORKSPACE + path, Buffer.from(bytes))
      const compiled = compiler.compile({ mainFileContent: SHEET_SOURCE, inputs: inputs.texts })
      const document = compiled.result
      if (document === null) {
        const faults = compiler.fetchDiagnostics(compiled.takeDiagnostics()!)
        port.postMessage({ id, fault: JSON.stringify(faults).slice(0, 2_000) } satisfies Answer)
        return
      }
      // A copy of its own: the thread's buffer may be part of a larger one.
      const pdfStandard = Object.keys(inputs.files).length === 0 ? STANDARDS.plain : STANDARDS.withFiles
      const pdf = Uint8Array.from(compiler.pdf(document, { pdfStandard, creationTimestamp: inputs.moment }))
      port.postMessage({ id, pdf, pages: document.numOfPages } satisfies Answer, [pdf.buffer])
    } catch (error) {
      port.postMessage({ id, fault: String((error as Error).stack ?? error).slice(0, 2_000) } satisfies Answer)
    } finally {
      compiler.resetShadow()
      compiler.evictCache(REMEMBERED)
    }
  })
}
