import { availableParallelism } from 'node:os'
import { answerQuestions, isThreadOf, OutOfTime, ThreadDied, ThreadPool } from '../thread-pool.js'
import { type Block, readBlocks } from './blocks.js'
import { FACES } from './faces.js'
import { fitGlyphs, fitJson } from './glyphs.js'
import { mayReadBackwards } from './svg.js'

export interface Typesetter {
  /** Reads HTML as blocks that can be printed. Deeply nested HTML takes seconds. */
  read(html: string): Block[] | Promise<Block[]>
  /** The same job yields the same bytes. Throws TypesettingError for an impossible content, OutOfTime after the timeout. */
  compose(job: TypesettingJob): Promise<TypesetFile>
  close(): Promise<void>
}

/** A document as a program and its data, so that no text can become a command of the typesetter. */
interface TypesettingJob {
  /** The program. It reads the data as sys.inputs. */
  source: string
  /** The data. They may have characters of any kind: see fitGlyphs. */
  inputs: Readonly<Record<string, string>>
  /** The inputs that are JSON with texts of others, and what becomes of the letters in them that the fonts lack. */
  fitted: Readonly<Record<string, 'refused' | 'marked'>>
  /** The input that names a picture, or is empty. A picture that cannot be printed is left out. */
  picture?: string
  /** By their path: the typesetter can read no other files. */
  files: Readonly<Record<string, Uint8Array>>
  /** The creation date of the PDF, in seconds since the epoch. */
  moment: number
  /** PDF/A embeds the fonts and forbids scripts, so that the file stays readable for decades; a-3b allows attached files. */
  standard: 'a-2b' | 'a-3b'
}

interface TypesetFile {
  pdf: Uint8Array
  pages: number
  /** Why the picture is not in it. */
  pictureFault: string | null
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

/** Whether an error of the typesetter says nothing against the content, so that the same request may succeed later. */
export const isTypesetterOverloaded = (error: unknown): boolean =>
  error instanceof TypesetterBusy || error instanceof OutOfTime || error instanceof ThreadDied

type Question = TypesettingJob | { html: string }
type Composed = TypesetFile | { fault: string; missing?: string[] }
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
/** The cache covers the last 10 documents, which share the layout. Measured: with 10 the memory stays below 200 MB. */
const CACHED_DOCUMENTS = 10

/**
 * Typesets PDF files in threads: a page takes about 30 ms of processor time, which would block the event loop. This module starts
 * the threads and is also their entry point.
 */
export function createTypesetter(
  threads = availableParallelism() - 1,
  limitMs = TIMEOUT_MS,
  maxPending = MAX_PENDING,
): Typesetter {
  const pool = new ThreadPool<Question, Answer>({
    file: import.meta.url,
    purpose: PURPOSE,
    threads,
    limitMs,
    maxPending,
    overloaded: () => new TypesetterBusy('too many documents wait to be typeset'),
  })
  return {
    read: html =>
      html.length <= SMALL_HTML ? readBlocks(html) : pool.ask({ html }).then(answer => (answer as { blocks: Block[] }).blocks),
    async compose(job) {
      const answer = (await pool.ask(job)) as Composed
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
  /** Checks every face, because a text may be bold, italic or both. */
  const canRender = (character: string): boolean => {
    const earlier = known.get(character)
    if (earlier !== undefined) return earlier
    const probe = `${FACES}#let t = sys.inputs.t\n#let slanted = text(style: "italic", t)\n#t #strong(t) #slanted #strong(slanted)`
    const { result } = compiler.compile({ mainFileContent: probe, inputs: { t: character } })
    try {
      if (result !== null) compiler.pdf(result, { pdfStandard: 'a-2b' })
      known.set(character, result !== null)
    } catch {
      known.set(character, false)
    }
    return known.get(character)!
  }
  const pictureFaults = new Map<string, string | null>()
  /** A picture that the compiler cannot read, or that PDF/A forbids, must not fail the documents that it stands in. */
  const faultOf = (picture: string, bytes: Uint8Array | undefined): string | null => {
    const earlier = pictureFaults.get(picture)
    if (earlier !== undefined) return earlier
    const isUnsafe = picture.endsWith('.svg') && bytes !== undefined && mayReadBackwards(bytes)
    const fault = isUnsafe ? 'the SVG may have text from right to left: convert its text to paths' : tryPicture(picture)
    pictureFaults.set(picture, fault)
    return fault
  }
  const tryPicture = (picture: string): string | null => {
    const compiled = compiler.compile({ mainFileContent: '#image(sys.inputs.picture, width: 5cm)', inputs: { picture } })
    if (compiled.result === null) return describeFault(compiled)
    try {
      compiler.pdf(compiled.result, { pdfStandard: 'a-2b' })
      return null
    } catch (error) {
      return String(error).slice(0, MAX_FAULT)
    }
  }
  const describeFault = (compiled: ReturnType<typeof compiler.compile>): string =>
    JSON.stringify(compiler.fetchDiagnostics(compiled.takeDiagnostics()!)).slice(0, MAX_FAULT)
  const typeset = ({ source, inputs: given, fitted, picture, files, moment, standard }: TypesettingJob): Composed => {
    const inputs: Record<string, string> = {}
    for (const [name, value] of Object.entries(given)) {
      const letters = fitted[name]
      // No input is left out, because some characters abort the process.
      const { text, missing } = letters === undefined ? fitGlyphs(value, canRender, 'marked') : fitJson(value, canRender, letters)
      if (missing.length > 0) return { fault: 'the fonts lack letters', missing }
      inputs[name] = text
    }
    for (const [path, bytes] of Object.entries(files)) compiler.mapShadow(WORKSPACE + path, Buffer.from(bytes))
    const pictureFault = picture === undefined || given[picture] === '' ? null : faultOf(given[picture]!, files[given[picture]!])
    if (pictureFault !== null) inputs[picture!] = ''
    const compiled = compiler.compile({ mainFileContent: source, inputs })
    const document = compiled.result
    if (document === null) throw new Error(describeFault(compiled))
    // A copy, because the buffer is transferred to the main thread and may be part of a larger one.
    const pdf = Uint8Array.from(compiler.pdf(document, { pdfStandard: standard, creationTimestamp: moment }))
    return { pdf, pages: document.numOfPages, pictureFault }
  }
  const answer = (question: Question): Answer => {
    if ('html' in question) return { blocks: readBlocks(question.html) }
    try {
      return typeset(question)
    } catch (error) {
      return { fault: String((error as Error).stack ?? error).slice(0, MAX_FAULT) }
    } finally {
      compiler.resetShadow()
      compiler.evictCache(CACHED_DOCUMENTS)
    }
  }
  answerQuestions(answer, given => ('pdf' in given ? [given.pdf.buffer as ArrayBuffer] : []))
}
