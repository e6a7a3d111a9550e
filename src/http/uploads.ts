import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { overloaded, Refusal, refuse } from '../domain/errors.js'
import { type Scope, scopeKey } from '../domain/scope.js'
import { KeyedSemaphore, Semaphore } from '../runtime/semaphore.js'

const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'
/** Which of them is said does not count: the bytes tell. */
export const FILES = ['text/csv', XLSX, 'application/octet-stream']

const UPLOADS_AT_ONCE = 8
/** For the other files of the account, and once more for those of the others. */
const MAX_WAIT_MS = 120_000
/** How long a file may wait for its turn before its own time begins. */
export const LONGEST_TURN_WAIT_MS = 2 * MAX_WAIT_MS

/** Lets a route take a file of any size: its bytes are read as they come. */
export const takeFiles = (app: FastifyInstance): void =>
  void app.addContentTypeParser(
    FILES,
    (_request: FastifyRequest, payload: Readable, done: (error: null, body: Readable) => void) => done(null, payload),
  )

/** Receives the file of a request when it is its turn. */
export type UploadTurns = <T>(
  scope: Scope,
  request: Pick<FastifyRequest, 'body' | 'answer'>,
  receive: (file: AsyncIterable<Uint8Array>) => Promise<T>,
) => Promise<T>

/**
 * One file of an account at a time, and a few of all. Made once for a server: the API and the console take files. `arrivalMs`: how long a
 * file may take to arrive. While it waits for its turn nobody reads it, so that its time begins then.
 */
export function uploadTurns(arrivalMs: number): UploadTurns {
  const limits = { maxWaitMs: MAX_WAIT_MS, refusal: overloaded }
  const all = new Semaphore({ permits: UPLOADS_AT_ONCE, maxWaiting: 64, ...limits })
  const own = new KeyedSemaphore({ permits: 1, maxWaiting: 4, ...limits })
  return async (scope, { body, answer }, receive) => {
    const file = body instanceof Readable ? body : refuse('fileExpected')
    return own.run(scopeKey(scope), () => all.run(() => receiveInTime(file, answer, arrivalMs, receive)))
  }
}

/**
 * Receives a file that has this time to arrive, from now on. The time ends the one read that is waiting: raced against a promise of the
 * whole time, every chunk would stay in memory until the last one.
 */
async function receiveInTime<T>(
  file: Readable,
  answer: ServerResponse,
  ms: number,
  receive: (file: AsyncIterable<Uint8Array>) => Promise<T>,
): Promise<T> {
  let late: Refusal | null = null
  let endRead: ((error: Refusal) => void) | undefined
  const timer = setTimeout(() => {
    // A sender that is too slow must not keep the connection for the rest of its file.
    answer.setHeader('connection', 'close')
    late = new Refusal('tooSlow')
    endRead?.(late)
  }, ms)
  const chunks: AsyncIterator<Uint8Array> = file[Symbol.asyncIterator]()
  const read = (): Promise<IteratorResult<Uint8Array>> =>
    new Promise((resolve, reject) => {
      endRead = reject
      chunks.next().then(resolve, reject)
    })
  async function* inTime(): AsyncGenerator<Uint8Array> {
    for (;;) {
      if (late !== null) throw late
      const next = await read()
      if (next.done === true) return clearTimeout(timer)
      yield next.value
    }
  }
  try {
    return await receive(inTime())
  } finally {
    clearTimeout(timer)
  }
}
