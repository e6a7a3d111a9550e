import { Pool } from 'undici'
import { SendError } from '../provider.js'

/** POSTs to the Graph API over kept connections, and tells what surely never left from what may have. */
export interface GraphAnswer {
  status: number
  retryAfter: string | undefined
  text: string
}

const CONNECT_MS = 8_000
/** Below what load balancers keep an idle connection for: one that is closed as we write leaves us in doubt. */
const IDLE_MS = 20_000
const MAX_ANSWER = 65_536

export class Graph {
  readonly #pool: Pool
  #closing: Promise<void> | undefined

  constructor(origin: string, connections: number) {
    this.#pool = new Pool(origin, {
      connections,
      connect: { timeout: CONNECT_MS },
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: IDLE_MS,
      // The caller's signal is the only clock.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  }

  /** Throws SendError: temporary while nothing was written, uncertain from then on. */
  post(path: string, headers: Record<string, string>, body: string, signal: AbortSignal): Promise<GraphAnswer> {
    return new Promise((resolve, reject) => {
      let written = false
      let abort = (): void => {}
      const fail = (error: unknown): void => {
        signal.removeEventListener('abort', stop)
        reject(written ? unanswered(error) : unsent(error))
      }
      const stop = (): void => {
        fail(signal.reason)
        abort()
      }
      if (signal.aborted) return fail(signal.reason)
      signal.addEventListener('abort', stop, { once: true })
      const answer: GraphAnswer = { status: 0, retryAfter: undefined, text: '' }
      const chunks: Buffer[] = []
      let bytes = 0
      this.#pool.dispatch(
        { method: 'POST', path, headers, body },
        {
          // Called right before the first byte; whoever gave up meanwhile stops it here.
          onRequestStart(controller) {
            if (signal.aborted) return controller.abort(signal.reason)
            written = true
            abort = () => controller.abort(signal.reason)
          },
          onResponseStart(_controller, status, received) {
            const retryAfter = received['retry-after']
            Object.assign(answer, { status, retryAfter: Array.isArray(retryAfter) ? retryAfter[0] : retryAfter })
          },
          onResponseData(controller, chunk) {
            bytes += chunk.length
            if (bytes > MAX_ANSWER) controller.abort(new Error('the answer is too long'))
            else chunks.push(chunk)
          },
          onResponseEnd() {
            signal.removeEventListener('abort', stop)
            // A NUL cannot be stored.
            resolve({ ...answer, text: Buffer.concat(chunks).toString().replaceAll('\0', '') })
          },
          onResponseError(_controller, error) {
            fail(error)
          },
        },
      )
    })
  }

  /** Ends once what is under way has ended. */
  close(): Promise<void> {
    this.#closing ??= this.#pool.close()
    return this.#closing
  }
}

const words = (error: unknown): string => {
  const { code, message } = error as { code?: unknown; message?: string }
  return typeof code === 'string' ? `${code} ${message ?? ''}`.trim() : (message ?? String(error))
}

const unsent = (cause: unknown): SendError =>
  new SendError('temporary', 'Não foi possível conectar ao WhatsApp.', { answer: words(cause), cause })

const unanswered = (cause: unknown): SendError =>
  new SendError('uncertain', 'O WhatsApp recebeu a mensagem e não respondeu.', { answer: words(cause), cause })
