import { readBeginning } from '../answer-body.js'
import { SendError } from '../provider.js'

/** One exchange with a carrier that speaks HTTP and JSON, and what its silence means. */
export interface HttpAnswer {
  status: number
  /** An object, or null where there was none. */
  body: Record<string, unknown> | null
  /** As it came, for the timeline. */
  text: string
  retryAfterMs: number | null
}

export interface HttpQuestion {
  method: 'GET' | 'POST'
  headers: Record<string, string>
  body?: string
}

const MAX_ANSWER = 4 * 1_048_576
const MAX_SHOWN = 500
/** Nothing had left yet. */
const NEVER_LEFT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
])

/** Throws SendError: temporary where nothing left, uncertain where it may have. */
export async function ask(url: string, question: HttpQuestion, signal: AbortSignal): Promise<HttpAnswer> {
  if (signal.aborted) throw new SendError('temporary', 'O envio foi interrompido antes de começar.')
  try {
    const response = await fetch(url, { ...question, redirect: 'manual', signal })
    const text = await readText(response)
    return {
      status: response.status,
      body: readObject(text),
      // Half a character, or a NUL, cannot be stored.
      text: `${response.status} ${text.slice(0, MAX_SHOWN).toWellFormed().replaceAll('\0', '')}`,
      retryAfterMs: readRetryAfter(response),
    }
  } catch (error) {
    if (error instanceof SendError) throw error
    const { code, message } = rootOf(error)
    const answer = message
    if (NEVER_LEFT.has(code))
      throw new SendError('temporary', 'A operadora de cartas não pôde ser alcançada.', { answer, cause: error })
    throw new SendError('uncertain', 'A operadora de cartas não respondeu.', { answer, cause: error })
  }
}

async function readText(response: Response): Promise<string> {
  const bytes = await readBeginning(response, MAX_ANSWER + 1)
  if (bytes.length > MAX_ANSWER) throw new SendError('uncertain', 'A resposta da operadora de cartas é grande demais.')
  return bytes.toString('utf8')
}

function readObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}

function readRetryAfter({ headers }: Response): number | null {
  const seconds = headers.get('retry-after') ?? ''
  return /^\d{1,6}$/.test(seconds) ? Number(seconds) * 1_000 : null
}

/** fetch hides what happened in the cause, and several addresses in an AggregateError. */
function rootOf(error: unknown): { code: string; message: string } {
  const { cause } = error as { cause?: unknown }
  const inner = (cause as { errors?: unknown[] } | undefined)?.errors?.[0] ?? cause ?? error
  const { code, message } = inner as { code?: string; message: string }
  return { code: code ?? '', message }
}
