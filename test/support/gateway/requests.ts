import { request as httpRequest } from 'node:http'
import { buffer } from 'node:stream/consumers'

/** A request that every rule accepts; tests change one thing at a time. */
export const validSend = {
  nameTo: 'Maria da Silva',
  to: 'maria@example.com',
  subject: 'Aviso de vencimento',
  content: '<p>Seu contrato vence em 30 dias.</p>',
}

export interface Answer {
  status: number
  headers: Headers
  body: unknown
}

/** Sends JSON (or raw text) and reads the answer: JSON, or a file as text of one character per byte. */
export async function request(
  url: string,
  {
    method = 'GET',
    token,
    body,
    headers = {},
  }: { method?: string; token?: string; body?: unknown; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const written = typeof body === 'string' || body instanceof Uint8Array || body === undefined ? body : JSON.stringify(body)
  const allHeaders = {
    ...(token === undefined ? {} : { authorization: token }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...headers,
  }
  if (written !== undefined && written.length >= LARGE) return requestLarge(url, { method, headers: allHeaders }, written)
  const response = await fetch(url, {
    method,
    headers: allHeaders,
    ...(written === undefined ? {} : { body: written as string }),
  })
  return readAnswer(response.status, response.headers, Buffer.from(await response.arrayBuffer()))
}

function readAnswer(status: number, headers: Headers, bytes: Buffer): Answer {
  const isFile = /^application\/(zip|pdf)\b/.test(headers.get('content-type') ?? '')
  if (isFile) return { status, headers, body: bytes.toString('latin1') }
  return { status, headers, body: bytes.length === 0 ? null : JSON.parse(bytes.toString('utf8')) }
}

const LARGE = 2 ** 20

/** Without fetch, which copies a body several times. The answer may come before the body has left: then the rest stays here. */
function requestLarge(
  url: string,
  options: { method: string; headers: Record<string, string> },
  body: string | Uint8Array,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = httpRequest(url, options, async response => {
      const headers = new Headers(
        Object.entries(response.headersDistinct).flatMap(([name, all = []]) =>
          all.map(value => [name, value] as [string, string]),
        ),
      )
      const bytes = await buffer(response)
      if (!asked.writableFinished) asked.destroy()
      resolve(readAnswer(response.statusCode!, headers, bytes))
    })
    asked.on('error', reject)
    asked.end(body)
  })
}

export const send = (url: string, token: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
  request(`${url}/gw/email`, { method: 'POST', token, body, headers })

/** The error body of section 7 for a status. */
export const errorBody = (statusCode: number, message: unknown, error: string) => ({ statusCode, message, error })
