import { availableParallelism } from 'node:os'
import { answerQuestions, isThreadOf, ThreadPool } from '../../runtime/thread-pool.js'
import { type Block, readBlocks } from './blocks.js'
import { fitGlyphs } from './glyphs.js'
import { FACES, SHEET_SOURCE, type Sheet, type SheetCopy, type SheetInputs, sheetInputs } from './sheet.js'

/**
 * Typesets letters as PDF in threads: a page takes about 30 ms of processor time, which would block the event loop. This module
 * starts the threads and is also their entry point.
 */
export interface Typesetter {
  /** Reads the HTML of a letter. Deeply nested HTML takes seconds. */
  read(html: string): Block[] | Promise<Block[]>
  /** The same sheet and copy yield the same bytes. Throws TypesettingError for an impossible content, OutOfTime after the timeout. */
  compose(sheet: Sheet, copy: SheetCopy): Promise<{ pdf: Uint8Array; pages: number }>
  close(): Promise<void>
}

/** The content cannot be typeset, so a retry is useless. */
export class TypesettingError extends Error {
  override readonly name = 'TypesettingError'
  /** Characters that the fonts do not have. */
  readonly missing: readonly string[]

  constructor(message: string, missing: readonly string[] = []) {
    super(message)
    this.missing = missing
  }
}

export class TypesetterBusy extends Error {
  override readonly name = 'TypesetterBusy'
}

type Question = SheetInputs | { html: string }
type Composed = { pdf: Uint8Array; pages: number } | { fault: string; missing?: string[] }
type Answer = Composed | { blocks: Block[] }

const PURPOSE = 'carteiro-typesetter'
const MAX_PENDING = 256
/** About a millisecond of work at worst. */
const SMALL_HTML = 4_096
const MAX_FAULT = 2_000
/** Forty pages take about two seconds, and several times that on a busy machine. */
const TIMEOUT_MS = 15_000
/** This folder does not exist, so that the typesetter can read only the files that it is given. */
const WORKSPACE = '/carteiro-typesetter'
/** PDF/A embeds the fonts and forbids scripts, so that the file stays readable for decades. */
const STANDARD = 'a-2b'
/** The cache covers the last 10 letters, which share the layout. Measured: with 10 the memory stays below 200 MB. */
const CACHED_LETTERS = 10

export function createTypesetter(threads = availableParallelism() - 1, limitMs = TIMEOUT_MS): Typesetter {
  const pool = new ThreadPool<Question, Answer>({
    file: import.meta.url,
    purpose: PURPOSE,
    threads,
    limitMs,
    maxPending: MAX_PENDING,
    overloaded: () => new TypesetterBusy('too many letters wait to be typeset'),
  })
  return {
    read: html =>
      html.length <= SMALL_HTML ? readBlocks(html) : pool.ask({ html }).then(answer => (answer as { blocks: Block[] }).blocks),
    async compose(sheet, copy) {
      const answer = (await pool.ask(sheetInputs(sheet, copy))) as Composed
      if ('fault' in answer) throw new TypesettingError(answer.fault, answer.missing)
      return answer
    },
    close: () => pool.close(),
  }
}

if (isThreadOf(PURPOSE)) {
  // The import is dynamic, so that the main thread never loads the compiler.
  const { NodeCompiler } = await import('@myriaddreamin/typst-ts-node-compiler')
  const compiler = NodeCompiler.create({ workspace: WORKSPACE })
  const known = new Map<string, boolean>()
  /** Checks every face, because a letter's text may be bold, italic or both. */
  const canRender = (character: string): boolean => {
    const earlier = known.get(character)
    if (earlier !== undefined) return earlier
    const probe = `${FACES}#let t = sys.inputs.t\n#let slanted = text(style: "italic", t)\n#t #strong(t) #slanted #strong(slanted)`
    const { result } = compiler.compile({ mainFileContent: probe, inputs: { t: character } })
    try {
      if (result !== null) compiler.pdf(result, { pdfStandard: STANDARD })
      known.set(character, result !== null)
    } catch {
      known.set(character, false)
    }
    return known.get(character)!
  }
  const typeset = ({ files, texts: given, moment }: SheetInputs): Composed => {
    // Works on the JSON, in which characters outside ASCII occur in texts only.
    const sheet = fitGlyphs(given.sheet, canRender)
    const receipt = fitGlyphs(given.receipt, canRender, 'marked')
    if (sheet.missing.length > 0) return { fault: 'the fonts lack letters', missing: sheet.missing }
    const texts = { ...given, sheet: sheet.text, receipt: receipt.text }
    for (const [path, bytes] of Object.entries(files)) compiler.mapShadow(WORKSPACE + path, Buffer.from(bytes))
    const compiled = compiler.compile({ mainFileContent: SHEET_SOURCE, inputs: texts })
    const document = compiled.result
    if (document === null) throw new Error(JSON.stringify(compiler.fetchDiagnostics(compiled.takeDiagnostics()!)))
    // A copy, because the buffer is transferred to the main thread and may be part of a larger one.
    const pdf = Uint8Array.from(compiler.pdf(document, { pdfStandard: STANDARD, creationTimestamp: moment }))
    return { pdf, pages: document.numOfPages }
  }
  const answer = (question: Question): Answer => {
    if ('html' in question) return { blocks: readBlocks(question.html) }
    try {
      return typeset(question)
    } catch (error) {
      return { fault: String((error as Error).stack ?? error).slice(0, MAX_FAULT) }
    } finally {
      compiler.resetShadow()
      compiler.evictCache(CACHED_LETTERS)
    }
  }
  answerQuestions(answer, given => ('pdf' in given ? [given.pdf.buffer as ArrayBuffer] : []))
}
