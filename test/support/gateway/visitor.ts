import { request as httpRequest } from 'node:http'
import type { LinkTarget } from '../../../src/domain/recipient/link.js'
import { makeFormStamp } from '../../../src/domain/recipient/session.js'
import { testKeys } from './gateway.js'

/** A recipient's browser, as far as HTTP shows it: what it sends, and what it keeps. */
export interface Seen {
  status: number
  headers: Headers
  text: string
  bytes: Buffer
}

export interface VisitOptions {
  method?: string
  form?: Record<string, string>
  /** A header that is undefined is left out. */
  headers?: Record<string, string | undefined>
}

/** No access is too soon, not even if the machine's clock was set back after the send. */
export const ANY_TIME = Number.NEGATIVE_INFINITY

const PERSON = {
  'user-agent':
    'Mozilla/5.0 (Linux; Android 13; moto e13) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36',
  'accept-language': 'pt-BR,pt;q=0.9',
}

/** One request, no redirects followed. node:http and not fetch, which adds headers of its own. */
export function visit(url: string, { method, form, headers = {} }: VisitOptions = {}): Promise<Seen> {
  const body = form === undefined ? undefined : new URLSearchParams(form).toString()
  const given: Record<string, string | undefined> = {
    ...PERSON,
    ...(body === undefined
      ? {}
      : { 'content-type': 'application/x-www-form-urlencoded', origin: new URL(url).origin, 'sec-fetch-mode': 'navigate' }),
    ...headers,
  }
  const sent = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Record<string, string>
  return new Promise((resolve, reject) => {
    const asked = httpRequest(url, { method: method ?? (body === undefined ? 'GET' : 'POST'), headers: sent }, response => {
      const chunks: Buffer[] = []
      response.on('data', chunk => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const bytes = Buffer.concat(chunks)
        const pairs = Object.entries(response.headers).map(([name, value]) => [name, String(value)] as [string, string])
        resolve({ status: response.statusCode!, headers: new Headers(pairs), bytes, text: bytes.toString('utf8') })
      })
    })
    asked.on('error', reject)
    asked.end(body)
  })
}

/** A form of a page that has been looked at for a while. */
export const filled = (
  target: LinkTarget,
  fields: Record<string, string> = {},
  sincePageMs = 60_000,
): Record<string, string> => ({
  carimbo: makeFormStamp(testKeys.session, target, Date.now() - sincePageMs),
  guiado: '',
  complemento_extra: '',
  ...fields,
})

/** The cookie that an answer set, as it is sent back. */
export const cookieOf = (seen: Seen): string => (seen.headers.get('set-cookie') ?? '').split(';')[0]!
