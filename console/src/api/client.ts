/** The only way in which the pages talk to the gateway. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  /** 0: the gateway was not reached. */
  readonly status: number
  readonly requestId: string | null
  /** The whole body; null: there was none. */
  readonly answer: unknown

  constructor(status: number, message: string, requestId: string | null, answer: unknown = null) {
    super(message)
    this.status = status
    this.requestId = requestId
    this.answer = answer
  }
}

const BASE = '/console/api'

export type Query = Readonly<Record<string, string | number | undefined>>

/** Empty and absent parameters are left out. */
export function apiUrl(path: string, query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return text === '' ? BASE + path : `${BASE}${path}?${text}`
}

/** A path with its parameters, for the methods that take none. */
export const withQuery = (path: string, query: Query): string => apiUrl(path, query).slice(BASE.length)

async function call<T>(method: string, url: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const isFile = body instanceof File
  const type = isFile ? 'application/octet-stream' : 'application/json'
  const response = await fetch(url, {
    method,
    headers: { 'x-carteiro-console': '1', ...(body === undefined ? {} : { 'content-type': type }) },
    ...(body === undefined ? {} : { body: isFile ? body : JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  }).catch(error => {
    if (signal?.aborted) throw error
    throw new ApiError(0, '', null)
  })
  const text = await response.text()
  const answer = text === '' ? null : readJson(text)
  if (response.ok) return answer as T
  const message = (answer as { message?: string } | null)?.message ?? `HTTP ${response.status}`
  throw new ApiError(response.status, message, response.headers.get('x-request-id'), answer)
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

export const api = {
  get: <T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> =>
    call('GET', apiUrl(path, query), undefined, signal),
  post: <T>(path: string, body: unknown = {}): Promise<T> => call('POST', apiUrl(path), body),
  /** A file, as it is. */
  upload: <T>(path: string, file: File): Promise<T> => call('POST', apiUrl(path), file),
  put: <T>(path: string, body: unknown): Promise<T> => call('PUT', apiUrl(path), body),
  delete: <T>(path: string): Promise<T> => call('DELETE', apiUrl(path)),
}
