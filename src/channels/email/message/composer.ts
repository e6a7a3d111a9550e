import { availableParallelism } from 'node:os'
import { answerQuestions, isThreadOf, ThreadPool } from '../../../runtime/thread-pool.js'
import type { EmailMessage } from '../email-message.js'
import { composeEmail, requireSafeAddresses } from './compose.js'
import { type Enclosed, encloseContent } from './enclose.js'
import type { Frame } from './frame.js'
import { textFromHtml } from './text.js'

/**
 * Composes large e-mails in threads: 25 MiB of files take 165 ms of processor time and the text of 128 KB of HTML up to 800 ms,
 * which would block the event loop. Small e-mails are composed at once, because a thread would cost more than the work. This
 * module runs on both sides: it starts the threads and is their entry point.
 */
export interface Composer {
  toText(html: string): string | Promise<string>
  enclose(content: string, frame: Frame): Enclosed | Promise<Enclosed>
  compose(message: EmailMessage): Buffer | Promise<Buffer>
  close(): Promise<void>
}

type Question = { html: string } | { content: string; frame: Frame } | { message: EmailMessage }
type Answer = string | Enclosed | Uint8Array

/** About 4 ms of work; a thread adds 0.1 ms. */
const SMALL_HTML = 4_096
/** About 2 ms of work. */
const SMALL_MESSAGE = 262_144
const PURPOSE = 'carteiro-composer'

export function createComposer(threads = availableParallelism() - 1): Composer {
  const pool = new ThreadPool<Question, Answer>({ file: import.meta.url, purpose: PURPOSE, threads })
  return {
    toText: html => (html.length <= SMALL_HTML ? textFromHtml(html) : (pool.ask({ html }) as Promise<string>)),
    enclose: (content, frame) =>
      content.length <= SMALL_HTML ? encloseContent(content, frame) : (pool.ask({ content, frame }) as Promise<Enclosed>),
    compose(message) {
      if (sizeOf(message) <= SMALL_MESSAGE) return composeEmail(message)
      // An error that crosses a thread loses its class, so the SendError for a bad address is thrown here.
      requireSafeAddresses(message)
      return pool.ask({ message }).then(asBuffer)
    },
    close: () => pool.close(),
  }
}

const sizeOf = ({ html, text, attachments }: EmailMessage): number =>
  attachments.reduce((sum, { bytes }) => sum + bytes.length, html.length + text.length)

const asBuffer = (answer: Answer): Buffer => {
  const { buffer, byteOffset, byteLength } = answer as Uint8Array<ArrayBuffer>
  return Buffer.from(buffer, byteOffset, byteLength)
}

if (isThreadOf(PURPOSE)) {
  answerQuestions<Question, Answer>(
    question => {
      if ('html' in question) return textFromHtml(question.html)
      return 'content' in question ? encloseContent(question.content, question.frame) : composeEmail(question.message)
    },
    answer => (answer instanceof Uint8Array ? [answer.buffer as ArrayBuffer] : []),
  )
}
