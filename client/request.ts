/** What a client is told about a gateway and how to reach it. */
export interface ClientOptions {
  /** Where the gateway is, such as https://notifica.example.com. */
  url: string
  /** The account's token, without any prefix. */
  token: string
  /** How many times a request is made in all, where repeating it is safe. Default: 4. */
  attempts?: number
  /** How long one attempt may take. Default: 30 s. */
  timeoutMs?: number
  /** The first wait before repeating; each next one is twice as long. Default: 500 ms. `Retry-After` of the gateway wins. */
  firstDelayMs?: number
  /** Default: the runtime's own. */
  fetch?: typeof fetch
}

export interface CallOptions {
  /** Ends the call, with all its attempts. */
  signal?: AbortSignal
}

/**
 * No answer to a send, at any attempt: the gateway may have accepted it. Sent again with the same key, it is not sent twice. `cause` is the
 * error of the last attempt.
 */
export class NoAnswerError extends Error {
  readonly idempotencyKey: string

  constructor(idempotencyKey: string, cause: unknown) {
    super(`no answer to the send with the key ${idempotencyKey}, which may have been accepted`, { cause })
    this.name = 'NoAnswerError'
    this.idempotencyKey = idempotencyKey
  }
}

/** An answer of the gateway that is not a success. `message` is the gateway's own sentence, in Portuguese: it names the field and the cure. */
export class CarteiroError extends Error {
  readonly status: number
  /** The answer's body, as it came. */
  readonly body: unknown

  constructor(status: number, message: string, body: unknown) {
    super(message)
    this.name = 'CarteiroError'
    this.status = status
    this.body = body
  }
}

export interface Call extends CallOptions {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  query?: Readonly<Record<string, string | number | boolean | undefined>>
  body?: unknown
  /** Sent as it is, in the place of `body`. */
  file?: Blob | Uint8Array<ArrayBuffer> | string
  /** How long one attempt may take, if it is not the usual time. */
  timeoutMs?: number
  headers?: Readonly<Record<string, string>>
  /** Doing it twice is the same as doing it once. */
  repeatable: boolean
}

/** The longest wait that the gateway may ask for; a longer one is an answer to hand on. */
const MAX_WAIT_MS = 60_000

export type Requester = ReturnType<typeof createRequester>

export const asJson = (response: Response): Promise<unknown> => response.json()

export const asText = (response: Response): Promise<string> => response.text()

/** Makes requests: with the token, within a time, and again where that is safe. */
export function createRequester(options: ClientOptions) {
  const { token, attempts = 4, timeoutMs = 30_000, firstDelayMs = 500 } = options
  const base = options.url.replace(/\/+$/, '')
  const send = options.fetch ?? fetch

  async function attempt({ method, path, query = {}, headers, signal, ...call }: Call): Promise<Response> {
    const url = new URL(base + path)
    for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, String(value))
    const limit = AbortSignal.timeout(call.timeoutMs ?? timeoutMs)
    const { type, body } = contentOf(call)
    return send(url, {
      method,
      headers: { authorization: token, ...(body === undefined ? {} : { 'content-type': type }), ...headers },
      ...(body === undefined ? {} : { body }),
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
    })
  }

  return async function request<Answer>(call: Call, read: (response: Response) => Promise<Answer>): Promise<Answer> {
    for (let made = 1; ; made++) {
      const isLast = made >= attempts
      let waitMs = firstDelayMs * 2 ** (made - 1) * (0.75 + Math.random() / 2)
      try {
        const response = await attempt(call)
        // Read within the attempt: the connection may break after the first byte of the answer.
        if (response.ok) return await read(response)
        const askedMs = readRetryAfter(response)
        const mayRepeat = response.status === 429 || (call.repeatable && isPassing(response.status, call))
        if (isLast || !mayRepeat || askedMs > MAX_WAIT_MS) throw await readError(response)
        // The body is read to its end, so that the connection serves the next attempt.
        await response.arrayBuffer()
        waitMs = Math.max(waitMs, askedMs)
      } catch (error) {
        if (error instanceof CarteiroError || isLast || !call.repeatable || call.signal?.aborted === true) throw error
      }
      await wait(waitMs, call.signal)
    }
  }
}

const contentOf = ({ body, file }: Pick<Call, 'body' | 'file'>) =>
  file === undefined
    ? { type: 'application/json', body: body === undefined ? undefined : JSON.stringify(body) }
    : { type: 'application/octet-stream', body: file }

/** 409 to a request with a key: the first one with this key is still under way. */
const isPassing = (status: number, { headers }: Call): boolean =>
  [500, 502, 503, 504].includes(status) || (status === 409 && headers?.['idempotency-key'] !== undefined)

function readRetryAfter({ headers }: Response): number {
  const seconds = Number(headers.get('retry-after') ?? 0)
  return Number.isFinite(seconds) ? seconds * 1000 : 0
}

async function readError(response: Response): Promise<CarteiroError> {
  const text = await response.text()
  let body: unknown = text
  try {
    body = JSON.parse(text)
  } catch {
    // Something between us and the gateway answered: its text is all there is.
  }
  const { message } = (typeof body === 'object' && body !== null ? body : {}) as { message?: unknown }
  return new CarteiroError(response.status, typeof message === 'string' ? message : `HTTP ${response.status}`, body)
}

function wait(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal!.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop, { once: true })
  })
}
