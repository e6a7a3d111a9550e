import { availableParallelism } from 'node:os'
import { answerQuestions, isThreadOf, ThreadPool } from '../../runtime/thread-pool.js'
import { fitGlyphs } from './glyphs.js'
import { FACES, type LetterReceipt, SHEET_SOURCE, type Sheet, type SheetInputs, sheetInputs } from './sheet.js'

/**
 * Letters become PDF in threads of their own: a page takes about 30 ms of processor time, during which nothing else would
 * move. This file is both ends of those threads.
 */
export interface Typesetter {
  /** The same sheet gives the same bytes. Throws TypesettingError when it cannot be set, OutOfTime when that takes too long. */
  compose(sheet: Sheet, receipt?: LetterReceipt | null): Promise<Typeset>
  close(): Promise<void>
}

interface Typeset {
  pdf: Uint8Array
  pages: number
}

/** The content cannot become a letter, now or later. */
export class TypesettingError extends Error {
  /** Letters that the fonts do not have. */
  readonly missing: readonly string[]

  constructor(message: string, missing: readonly string[] = []) {
    super(message)
    this.name = 'TypesettingError'
    this.missing = missing
  }
}

/** Too many letters wait to be made. */
export class TypesetterBusy extends Error {
  constructor() {
    super('too many letters wait to be typeset')
    this.name = 'TypesetterBusy'
  }
}

type Answer = Typeset | { fault: string; missing?: string[] }

/** Marks the threads of this file among others. */
const PURPOSE = 'carteiro-typesetter'
const MAX_PENDING = 256
const MAX_FAULT = 2_000
/** Forty pages take about two seconds; on a machine with other work, several times that. */
const LIMIT_MS = 15_000
/** Exists nowhere: the typesetter sees the files that it is handed and no others. */
const WORKSPACE = '/carteiro-typesetter'
/** PDF/A: fonts inside, nothing that runs, readable for as long as a case lasts; the third part allows files inside. */
const STANDARDS = { plain: 'a-2b', withFiles: 'a-3b' }
/** What the typesetter remembers of earlier letters, in letters: they share the layout. Measured: 10 keep it below 200 MB. */
const REMEMBERED = 10

export function createTypesetter(threads = availableParallelism() - 1, limitMs = LIMIT_MS): Typesetter {
  const pool = new ThreadPool<SheetInputs, Answer>({
    file: import.meta.url,
    purpose: PURPOSE,
    threads,
    limitMs,
    maxPending: MAX_PENDING,
    overloaded: () => new TypesetterBusy(),
  })
  return {
    async compose(sheet, receipt = null) {
      const answer = await pool.ask(sheetInputs(sheet, receipt))
      if ('fault' in answer) throw new TypesettingError(answer.fault, answer.missing)
      return answer
    },
    close: () => pool.close(),
  }
}

if (isThreadOf(PURPOSE)) {
  // Only here: the main thread never loads the compiler.
  const { NodeCompiler } = await import('@myriaddreamin/typst-ts-node-compiler')
  const compiler = NodeCompiler.create({ workspace: WORKSPACE })
  const known = new Map<string, boolean>()
  /** In every face: a letter's text may be bold, slanted or both. */
  const shows = (character: string): boolean => {
    const earlier = known.get(character)
    if (earlier !== undefined) return earlier
    const probe = `${FACES}#let t = sys.inputs.t\n#let slanted = text(style: "italic", t)\n#t #strong(t) #slanted #strong(slanted)`
    const { result } = compiler.compile({ mainFileContent: probe, inputs: { t: character } })
    const shown = result !== null && isPrintable(() => compiler.pdf(result, { pdfStandard: STANDARDS.plain }))
    known.set(character, shown)
    return shown
  }
  const isPrintable = (print: () => unknown): boolean => {
    try {
      print()
      return true
    } catch {
      return false
    }
  }
  const typeset = ({ files, texts: given, moment }: SheetInputs): Answer => {
    // As JSON: what is no ASCII stands in texts alone.
    const sheet = fitGlyphs(given.sheet, shows)
    const receipt = fitGlyphs(given.receipt, shows, 'marked')
    if (sheet.missing.length > 0) return { fault: 'the fonts lack letters', missing: sheet.missing }
    const texts = { ...given, sheet: sheet.text, receipt: receipt.text }
    for (const [path, bytes] of Object.entries(files)) compiler.mapShadow(WORKSPACE + path, Buffer.from(bytes))
    const compiled = compiler.compile({ mainFileContent: SHEET_SOURCE, inputs: texts })
    const document = compiled.result
    if (document === null) {
      return { fault: JSON.stringify(compiler.fetchDiagnostics(compiled.takeDiagnostics()!)).slice(0, MAX_FAULT) }
    }
    const pdfStandard = Object.keys(files).length === 0 ? STANDARDS.plain : STANDARDS.withFiles
    // A copy of its own: the thread's buffer may be part of a larger one.
    const pdf = Uint8Array.from(compiler.pdf(document, { pdfStandard, creationTimestamp: moment }))
    return { pdf, pages: document.numOfPages }
  }
  const answer = (inputs: SheetInputs): Answer => {
    try {
      return typeset(inputs)
    } catch (error) {
      return { fault: String((error as Error).stack ?? error).slice(0, MAX_FAULT) }
    } finally {
      compiler.resetShadow()
      compiler.evictCache(REMEMBERED)
    }
  }
  answerQuestions(answer, given => ('pdf' in given ? [given.pdf.buffer as ArrayBuffer] : []))
}
