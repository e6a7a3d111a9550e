import { availableParallelism } from 'node:os'
import type { PackedContent } from '../../../domain/delivery/sent-content.js'
import { BlockWriter, type ByteBlock, partsOf } from '../../../runtime/byte-block.js'
import { GroupCommit } from '../../../runtime/group-commit.js'
import { answerQuestions, isThreadOf, OutOfTime, ThreadPool } from '../../../runtime/thread-pool.js'
import { packContent } from '../../pack-content.js'
import { type PackedHead, readPacked, writePacked } from '../../packed-block.js'
import type { EmailMessage, Unenclosed } from '../email-message.js'
import { expectedBytes, requireSafeAddresses, writeEmail } from './compose.js'
import { emailContent } from './content.js'
import { type Enclosed, encloseContent } from './enclose.js'
import { textFromHtml } from './text.js'

export interface Composer {
  toText(html: string): string | Promise<string>
  enclose(content: Unenclosed): Promise<Enclosed>
  /** `pack`: the message leaves with these bytes, so it is packed where it is composed. One that will be signed is packed with its signature. */
  compose(message: EmailMessage, pack: boolean): Promise<Composed>
  /** Whether the thread for small e-mails has started; until then the event loop composes them. The first one starts the thread. */
  readonly isReady: boolean
  close(): Promise<void>
}

export interface Composed {
  raw: Buffer
  /** null: the message is not packed yet. */
  packed: PackedContent | null
}

type Question = { html: string } | Unenclosed | { message: EmailMessage; pack: boolean }
type Answer = string | Enclosed | Composed

/** The answers to a group of questions. Of an e-mail the bytes, and those of its packed content, are in the block. */
interface Answers {
  heads: readonly (string | Enclosed | { packed: PackedHead | null })[]
  block: ByteBlock
}

/** About 4 ms of work. */
const SMALL_HTML = 4_096
/** About 2 ms of work. */
const SMALL_MESSAGE = 262_144
/** More messages in one group keep a processor for so long that the API beside them answers late. */
const MAX_GROUP = 32
/** A full group takes an eighth of a second; after this its thread counts as hung, and the next group goes on. */
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
    new ThreadPool<readonly Question[], Answers>({ file: import.meta.url, purpose: PURPOSE, threads: count, limitMs })
  const [forSmall, forLarge] = [open(1, GROUP_LIMIT_MS), open(threads, LIMIT_MS)]
  const groups = new GroupCommit<Question, Answer>({
    write: async group => readAnswers(await forSmall.ask(group)),
    maxItems: MAX_GROUP,
    // The thread has its next group while the event loop takes the answers of the last one.
    parallel: 2,
    // As many wait as a worker has messages under way.
    maxWaiting: Number.POSITIVE_INFINITY,
    overloaded: () => new Error('too many e-mails wait'),
  })
  const answerHere = async (question: Question): Promise<Answer> => readAnswers(await answerAll([question]))[0]!
  const askAlone = async (question: Question): Promise<Answer> => readAnswers(await forLarge.ask([question]))[0]!
  // Each e-mail of a group that failed is tried by itself: one that cannot be composed fails alone, and a machine without threads still sends.
  const askAgain = (question: Question, error: unknown): Promise<Answer> =>
    error instanceof OutOfTime ? askAlone(question) : answerHere(question)
  const ask = async (question: Question, isSmall: boolean): Promise<Answer> => {
    if (!isSmall) return askAlone(question)
    forSmall.start()
    if (!forSmall.isReady) return answerHere(question)
    return groups.submit(question).catch(error => askAgain(question, error))
  }
  return {
    get isReady() {
      return forSmall.isReady
    },
    toText: html => ask({ html }, html.length <= SMALL_HTML) as Promise<string>,
    enclose: ({ content, frame }) => ask({ content, frame }, content.length <= SMALL_HTML) as Promise<Enclosed>,
    async compose(message, pack) {
      // An error that crosses a thread loses its class, so the SendError for a bad address is thrown here.
      requireSafeAddresses(message)
      return (await ask({ message, pack }, isSmall(message))) as Composed
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

function readAnswers({ heads, block }: Answers): Answer[] {
  const parts = partsOf(block).values()
  const next = (): Buffer => parts.next().value!
  return heads.map(head => {
    if (typeof head === 'string' || 'html' in head) return head
    return { raw: next(), packed: head.packed && readPacked(head.packed, next(), next()) }
  })
}

async function answerAll(questions: readonly Question[]): Promise<Answers> {
  const expected = questions.reduce((sum, question) => sum + ('message' in question ? expectedBytes(question.message) : 0), 0)
  const writer = new BlockWriter(expected)
  const heads: Answers['heads'][number][] = []
  for (const question of questions) heads.push(await answer(question, writer))
  return { heads, block: writer.block }
}

async function answer(question: Question, writer: BlockWriter): Promise<Answers['heads'][number]> {
  if ('html' in question) return textFromHtml(question.html)
  if ('content' in question) return encloseContent(question.content, question.frame)
  const { message, pack } = question
  writeEmail(writer, message)
  const raw = writer.endPart()
  return { packed: pack ? writePacked(writer, await packContent(emailContent(message, raw))) : null }
}

if (isThreadOf(PURPOSE)) {
  answerQuestions<readonly Question[], Answers>(answerAll, ({ block }) => [block.bytes.buffer])
}
