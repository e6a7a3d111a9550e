import { Refusal, type RefusalCode } from '../../domain/errors.js'
import { sha256 } from '../../domain/evidence/evidence.js'
import type { SendRequest } from '../../domain/notification.js'
import type { UnknownMembers } from '../../domain/schema.js'
import { type Scope, scopeKey } from '../../domain/scope.js'
import type { AttachmentLimits } from '../../domain/send/attachment.js'
import { KeyedSemaphore } from '../../runtime/semaphore.js'
import { answerQuestions, isThreadOf, OutOfTime, ThreadDied, ThreadPool, threadData } from '../../runtime/thread-pool.js'
import { LARGE_BODY } from '../body.js'
import { readSend } from './read-send.js'

export type SendReader = ReturnType<typeof createSendReader>

interface ReadSend {
  request: SendRequest
  /** The digest of the body as it came, for idempotency keys. */
  bodySha256: string | null
  /** The members of the body that nothing reads. */
  unknown: UnknownMembers
}

type Question = { raw: Uint8Array; hashBody: boolean }
type Answer = { read: ReadSend } | { refusal: { code: RefusalCode; details: string[] } }

const PURPOSE = 'carteiro-send-reader'
/** 36 MiB of "[]," would become gigabytes of objects: then the thread dies, and the server does not. */
const THREAD_HEAP_MIB = 512
/** A body of 36 MiB takes half a second. */
const LIMIT_MS = 20_000

/**
 * Reads send requests: small ones at once, large ones (parsing, base64, hashes of tens of megabytes) in a thread, so that no
 * other request waits for them. This file is both ends of that thread.
 */
export function createSendReader(limits: AttachmentLimits) {
  const pool = new ThreadPool<Question, Answer>({
    file: import.meta.url,
    purpose: PURPOSE,
    threads: 1,
    data: limits,
    heapMib: THREAD_HEAP_MIB,
    limitMs: LIMIT_MS,
  })
  // One by one, so that an account with many large bodies is one turn of the thread away from the others.
  const turns = new KeyedSemaphore({ permits: 1 })
  return {
    read: (raw: Buffer, hashBody: boolean, scope: Scope): ReadSend | Promise<ReadSend> =>
      raw.length <= LARGE_BODY
        ? readBody({ raw, hashBody }, limits)
        : turns.run(scopeKey(scope), () => readLarge(pool, raw, hashBody)),
    close: () => pool.close(),
  }
}

async function readLarge(pool: ThreadPool<Question, Answer>, raw: Buffer, hashBody: boolean): Promise<ReadSend> {
  const owned = raw.byteLength === raw.buffer.byteLength ? raw : Uint8Array.from(raw)
  const answer = await pool.ask({ raw: owned, hashBody }, [owned.buffer as ArrayBuffer]).catch(cause => {
    throw cause instanceof ThreadDied || cause instanceof OutOfTime
      ? new Refusal('overloaded', [], { retryAfter: 1, cause })
      : cause
  })
  if ('refusal' in answer) throw new Refusal(answer.refusal.code, answer.refusal.details)
  return answer.read
}

const readBody = ({ raw, hashBody }: Question, limits: AttachmentLimits): ReadSend => ({
  ...readSend(raw, limits),
  bodySha256: hashBody ? sha256(raw) : null,
})

if (isThreadOf(PURPOSE)) {
  const limits = threadData<AttachmentLimits>()
  answerQuestions(
    (question: Question): Answer => {
      try {
        return { read: readBody(question, limits) }
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        return { refusal: { code: error.code, details: error.details } }
      }
    },
    answer =>
      'read' in answer ? [...new Set(answer.read.request.attachments.map(file => file.bytes.buffer as ArrayBuffer))] : [],
  )
}
