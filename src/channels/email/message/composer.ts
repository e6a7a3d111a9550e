import { availableParallelism } from 'node:os'
import { GroupCommit } from '../../../runtime/group-commit.js'
import { answerQuestions, isThreadOf, OutOfTime, ThreadPool } from '../../../runtime/thread-pool.js'
import type { EmailMessage, Unenclosed } from '../email-message.js'
import { composeEmail, requireSafeAddresses } from './compose.js'
import { type Enclosed, encloseContent } from './enclose.js'
import { textFromHtml } from './text.js'

export interface Composer {
  toText(html: string): string | Promise<string>
  enclose(content: Unenclosed): Promise<Enclosed>
  compose(message: EmailMessage): Buffer | Promise<Buffer>
  /** Whether the thread for small e-mails has started; until then the event loop composes them. The first one starts the thread. */
  readonly isReady: boolean
  close(): Promise<void>
}

type Question = { html: string } | Unenclosed | { message: EmailMessage }
type Answer = string | Enclosed | Uint8Array

/** About 4 ms of work. */
const SMALL_HTML = 4_096
/** About 2 ms of work. */
const SMALL_MESSAGE = 262_144
const MAX_GROUP = 64
/** A full group takes a quarter of a second; after this its thread counts as hung, and the next group goes on. */
const GROUP_LIMIT_MS = 5_000
/** The largest e-mail takes a second on a busy machine. */
const LIMIT_MS = 60_000
const PURPOSE = 'carteiro-composer'

/**
 * Composes e-mails in threads: 25 MiB of files take 165 ms of processor time and the text of 128 KB of HTML up to 800 ms, which would
 * block the event loop. Small e-mails that are asked for at the same time go to a thread of their own together, because the way into a
 * thread costs as much as composing one, and large ones must not keep them waiting. This module runs on both sides: it starts the
 * threads and is their entry point.
 */
export function createComposer(threads = availableParallelism() - 1): Composer {
  const open = (count: number, limitMs: number) =>
    new ThreadPool<readonly Question[], readonly Answer[]>({ file: import.meta.url, purpose: PURPOSE, threads: count, limitMs })
  const [forSmall, forLarge] = [open(1, GROUP_LIMIT_MS), open(threads, LIMIT_MS)]
  const groups = new GroupCommit<Question, Answer>({
    write: group => forSmall.ask(group),
    maxItems: MAX_GROUP,
    parallel: 1,
    // As many wait as a worker has messages under way.
    maxWaiting: Number.POSITIVE_INFINITY,
    overloaded: () => new Error('too many e-mails wait'),
  })
  const askAlone = async (question: Question): Promise<Answer> => (await forLarge.ask([question]))[0]!
  // Each e-mail of a group that failed is tried by itself: one that cannot be composed fails alone, and a machine without threads still sends.
  const askAgain = (question: Question, error: unknown): Answer | Promise<Answer> =>
    error instanceof OutOfTime ? askAlone(question) : answer(question)
  const ask = async (question: Question, isSmall: boolean): Promise<Answer> => {
    if (!isSmall) return askAlone(question)
    forSmall.start()
    if (!forSmall.isReady) return answer(question)
    return groups.submit(question).catch(error => askAgain(question, error))
  }
  return {
    get isReady() {
      return forSmall.isReady
    },
    toText: html => ask({ html }, html.length <= SMALL_HTML) as Promise<string>,
    enclose: ({ content, frame }) => ask({ content, frame }, content.length <= SMALL_HTML) as Promise<Enclosed>,
    async compose(message) {
      // An error that crosses a thread loses its class, so the SendError for a bad address is thrown here.
      requireSafeAddresses(message)
      return asBuffer(await ask({ message }, isSmall(message)))
    },
    async close() {
      await Promise.all([forSmall.close(), forLarge.close()])
    },
  }
}

function isSmall(message: EmailMessage): boolean {
  if ('content' in message && message.content.length > SMALL_HTML) return false
  const text = 'content' in message ? message.content.length : message.html.length + message.text.length
  return message.attachments.reduce((sum, { bytes }) => sum + bytes.length, text) <= SMALL_MESSAGE
}

const asBuffer = (answer: Answer): Buffer => {
  const { buffer, byteOffset, byteLength } = answer as Uint8Array<ArrayBuffer>
  return Buffer.from(buffer, byteOffset, byteLength)
}

/** Bytes that can be moved to another thread: small Buffers lie in one block with others and are copied out of it first. */
const alone = (bytes: Buffer): Uint8Array => (bytes.length === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes))

function answer(question: Question): Answer {
  if ('html' in question) return textFromHtml(question.html)
  return 'content' in question ? encloseContent(question.content, question.frame) : alone(composeEmail(question.message))
}

if (isThreadOf(PURPOSE)) {
  answerQuestions<readonly Question[], readonly Answer[]>(
    questions => questions.map(answer),
    answers => answers.flatMap(given => (given instanceof Uint8Array ? [given.buffer as ArrayBuffer] : [])),
  )
}
