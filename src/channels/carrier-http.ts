import { Agent } from 'undici'
import { readRetryAfter } from '../domain/delivery/retry-after.js'
import { cutText, storable } from '../domain/text/text.js'
import { SendError } from './provider.js'

export interface CarrierHttpOptions {
  /** From waiting for a connection to the last byte of the answer. */
  timeoutMs: number
  /** The rest of a longer answer is cut off with its connection. */
  maxAnswerBytes: number
  /** Connections to one server; unbounded where absent. A request waits for one that is free. */
  connections?: number
  connectMs?: number
  /** The reasons of failures, in Portuguese: nothing was sent, or it was sent and no answer came. */
  reasons: { unsent: string; unanswered: string }
}

export interface CarrierRequest {
  method: 'GET' | 'POST'
  url: string
  headers: Readonly<Record<string, string>>
  body?: string | Buffer
}

export interface CarrierAnswer {
  status: number
  body: Buffer
  /** false: it was longer than may be read, and `body` is its beginning. */
  complete: boolean
  retryAfterMs: number | null
}

const CONNECT_MS = 8_000
/** The outcome of a request is unknown if the server closes its idle connection at that moment. Few servers close one so soon. */
const IDLE_MS = 4_000

/**
 * HTTP to carriers, with one answer to "did the request leave?": it left once its first byte was handed to a connection that
 * is open, with TLS established. Time and bytes of an answer are bounded, and redirects are not followed.
 */
export class CarrierHttp {
  readonly #options: CarrierHttpOptions
  readonly #agent: Agent
  #closing: Promise<void> | undefined

  constructor(options: CarrierHttpOptions) {
    this.#options = options
    this.#agent = new Agent({
      ...(options.connections === undefined ? {} : { connections: options.connections }),
      connect: { timeout: options.connectMs ?? CONNECT_MS },
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: IDLE_MS,
      // send() has its own clock.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  }

  /** Throws SendError and nothing else: temporary where nothing left, uncertain where it left and no whole answer came. */
  send({ method, url, headers, body }: CarrierRequest, signal: AbortSignal): Promise<CarrierAnswer> {
    const { timeoutMs, maxAnswerBytes } = this.#options
    const { origin, pathname, search } = new URL(url)
    return new Promise((resolve, reject) => {
      let left = false
      let settled = false
      let abort = (_reason: Error): void => {}
      const settle = (end: () => void): void => {
        if (settled) return
        settled = true
        clearTimeout(timer)
        signal.removeEventListener('abort', giveUp)
        end()
      }
      const fail = (cause: unknown): void => settle(() => reject(this.#failure(left, cause)))
      const stop = (cause: unknown): void => {
        fail(cause)
        abort(cause as Error)
      }
      const giveUp = (): void => stop(signal.reason)
      const timer = setTimeout(() => stop(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs)
      if (signal.aborted) return giveUp()
      signal.addEventListener('abort', giveUp)
      const answer: CarrierAnswer = { status: 0, body: Buffer.alloc(0), complete: true, retryAfterMs: null }
      const chunks: Buffer[] = []
      let size = 0
      const finish = (): void => settle(() => resolve({ ...answer, body: Buffer.concat(chunks).subarray(0, maxAnswerBytes) }))
      this.#agent.dispatch(
        { origin, path: pathname + search, method, headers, body: body ?? null },
        {
          // Called when a connection is open, right before the first byte; a request that was given up meanwhile ends here.
          onRequestStart(controller) {
            if (settled) return controller.abort(new Error('given up'))
            left = true
            abort = reason => controller.abort(reason)
          },
          onResponseStart(_controller, status, received) {
            answer.status = status
            answer.retryAfterMs = readRetryAfter(received['retry-after'], Date.now())
          },
          onResponseData(controller, chunk) {
            chunks.push(chunk)
            size += chunk.length
            if (size <= maxAnswerBytes) return
            answer.complete = false
            finish()
            controller.abort(new Error('the answer is too long'))
          },
          onResponseEnd: finish,
          onResponseError: (_controller, error) => fail(error),
        },
      )
    })
  }

  /** Ends once the requests under way have ended. */
  close(): Promise<void> {
    this.#closing ??= this.#agent.close()
    return this.#closing
  }

  #failure(left: boolean, cause: unknown): SendError {
    const { unsent, unanswered } = this.#options.reasons
    return new SendError(left ? 'uncertain' : 'temporary', left ? unanswered : unsent, { answer: wordsOf(cause), cause })
  }
}

/** A name with several addresses fails with one error for each. */
function wordsOf(error: unknown): string {
  const mostSpecific = error instanceof AggregateError ? (error.errors.at(-1) ?? error) : error
  const { code, message = '' } = (mostSpecific ?? {}) as { code?: unknown; message?: string }
  return typeof code === 'string' && !message.includes(code) ? `${code} ${message}`.trim() : message || String(error)
}

/** The time-out of a trial of the credentials, which a person waits for. */
const CHECK_MS = 10_000
const MAX_CHECK_ANSWER = 65_536
const MAX_CHECK_SHOWN = 300

/** Asks for something that only the credentials give, and answers what came. A refusal is a SendError, as of a send. */
export async function askWithCredentials(request: CarrierRequest, signal: AbortSignal): Promise<string> {
  const silent = 'A operadora não respondeu.'
  const reasons = { unsent: silent, unanswered: silent }
  const http = new CarrierHttp({ timeoutMs: CHECK_MS, maxAnswerBytes: MAX_CHECK_ANSWER, connections: 1, reasons })
  try {
    const given = await http.send(request, signal)
    const answer = `${given.status} ${cutText(textOf(given), MAX_CHECK_SHOWN)}`.trim()
    if (given.status >= 200 && given.status < 300) return answer
    const isRefusal = given.status === 401 || given.status === 403
    const reason = isRefusal ? 'A operadora recusou as credenciais.' : 'A operadora deu uma resposta inesperada.'
    throw new SendError('temporary', reason, { answer })
  } finally {
    await http.close()
  }
}

/** The text of an answer as it can be stored. */
export const textOf = ({ body }: CarrierAnswer): string => storable(body.toString('utf8'))

/**
 * Answers that a proxy gives too when it passed the request on and got no answer itself. Unless the carrier itself speaks in them,
 * nobody knows whether it took the message.
 */
export const mayComeFromProxy = (status: number): boolean => status === 408 || status >= 500

/** The JSON object of an answer; null: the answer is not one. */
export function objectOf({ body, complete }: Pick<CarrierAnswer, 'body' | 'complete'>): Record<string, unknown> | null {
  const value = complete ? parseJson(body) : null
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null
}

/** null: the bytes are not JSON. */
export function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return null
  }
}
