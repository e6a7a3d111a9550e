import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { Semaphore } from '../src/runtime/semaphore.js'
import { isLoopback } from './loopback.js'

/**
 * The recipients' programs on the web: they load images and follow links. Only on this machine, and on sites that a
 * gateway registered as its own: a test must not knock at the doors that a message happens to mention.
 */
export interface Visit {
  method: 'GET' | 'HEAD'
  url: string
  as: keyof typeof PROGRAMS
}

const PROGRAMS = {
  mail: {
    'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Thunderbird/140.4.0',
    accept: 'image/avif,image/webp,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5',
    'accept-language': 'pt-BR,pt;q=0.9',
  },
  scanner: {
    'user-agent': 'Mozilla/5.0 (compatible; LinkScanner/2.1; url-protection)',
    accept: '*/*',
  },
  /** What draws the picture of a link in a chat. */
  preview: {
    'user-agent': 'WhatsApp/2.25.20.80 A',
    accept: '*/*',
  },
  phone: {
    'user-agent':
      'Mozilla/5.0 (Linux; Android 15; SM-A155M) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36',
    accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
    'accept-language': 'pt-BR,pt;q=0.9',
    'sec-fetch-dest': 'document',
    'sec-fetch-mode': 'navigate',
    'sec-fetch-user': '?1',
  },
}

const TIMEOUT_MS = 10_000
const MAX_BODY = 1_048_576
const MAX_REDIRECTS = 5
const PARALLEL = 8
/** How long a person looks at a page before pressing its button. */
const READING_MS = 1_500

interface Outcome {
  done: boolean
  detail: string
}

interface Asking {
  method: string
  headers: Record<string, string>
  body?: string
}

export class Visitor {
  readonly #sites = new Set<string>()
  readonly #stop = new AbortController()
  readonly #turns = new Semaphore({ permits: PARALLEL })

  allow(site: string): void {
    this.#sites.add(new URL(site).origin)
  }

  /** Where the visit ended, in words for people; it never throws. */
  visit({ method, url, as }: Visit): Promise<Outcome> {
    return this.#inTurn(`${method} ${url}`, async () => {
      const { place, ...outcome } = await this.#follow({ method, headers: PROGRAMS[as] }, new URL(url))
      return outcome
    })
  }

  /** A person with a phone: looks at the page, then presses the button of its first form. It never throws. */
  async open(url: string): Promise<Outcome> {
    const landing = await this.#inTurn(`GET ${url}`, () =>
      this.#follow({ method: 'GET', headers: { ...PROGRAMS.phone, 'sec-fetch-site': 'none' } }, new URL(url)),
    )
    const form = 'place' in landing && landing.place !== undefined ? readForm(landing.place.body, landing.place.url) : null
    if (form === null) return { done: false, detail: `${landing.detail}: a página não tem o que apertar` }
    await sleep(READING_MS, undefined, { signal: this.#stop.signal, ref: false }).catch(() => {})
    const headers = {
      ...PROGRAMS.phone,
      'sec-fetch-site': 'same-origin',
      origin: form.action.origin,
      'content-type': 'application/x-www-form-urlencoded',
    }
    return this.#inTurn(`POST ${form.action.href}`, async () => {
      const { status } = await this.#ask({ method: 'POST', headers, body: form.fields.toString() }, form.action)
      return { done: status >= 200 && status < 400, detail: `POST ${form.action.href}: ${status}` }
    })
  }

  close(): void {
    this.#stop.abort()
  }

  async #inTurn<T extends Outcome>(what: string, work: () => Promise<T>): Promise<T | Outcome> {
    try {
      return await this.#turns.run(work)
    } catch (error) {
      return { done: false, detail: `${what}: ${(error as Error).message}` }
    }
  }

  async #follow(request: Asking, start: URL): Promise<Outcome & { place?: { url: URL; body: string } }> {
    const { method } = request
    let url = start
    for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
      if (!isLoopback(url.hostname) && !this.#sites.has(url.origin)) {
        return { done: false, detail: `${method} ${url.origin}: fora desta máquina, não visitado` }
      }
      const { status, location, body } = await this.#ask(request, url)
      if (status < 300 || status >= 400 || location === undefined || !URL.canParse(location, url.href)) {
        return { done: true, detail: `${method} ${url.href}: ${status}`, place: { url, body } }
      }
      url = new URL(location, url)
    }
    return { done: false, detail: `${method} ${start.href}: redirecionamentos demais` }
  }

  #ask({ method, headers, body }: Asking, url: URL): Promise<{ status: number; location: string | undefined; body: string }> {
    return new Promise((resolve, reject) => {
      const send = url.protocol === 'https:' ? requestHttps : requestHttp
      const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(TIMEOUT_MS)])
      const asked = send(url, { method, headers, signal, agent: false }, response => {
        let bytes = 0
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length
          chunks.push(chunk)
          if (bytes > MAX_BODY) response.destroy()
        })
        response.on('error', reject)
        response.on('close', () => {
          const { statusCode: status = 0, headers } = response
          resolve({ status, location: headers.location, body: Buffer.concat(chunks).toString() })
        })
      })
      asked.on('error', reject)
      asked.end(body)
    })
  }
}

/** The first form that is sent by POST, with what stands in it unseen; what people would fill in stays empty. */
function readForm(page: string, at: URL): { action: URL; fields: URLSearchParams } | null {
  const [, attributes, inside] = /<form\b([^>]*\bmethod="post"[^>]*)>(.*?)<\/form>/is.exec(page) ?? []
  if (attributes === undefined || inside === undefined) return null
  const action = new URL(attribute(attributes, 'action') ?? '', at)
  const fields = new URLSearchParams()
  for (const [, input] of inside.matchAll(/<input\b([^>]*\btype="hidden"[^>]*)>/gi)) {
    const name = attribute(input!, 'name')
    if (name !== null) fields.append(name, attribute(input!, 'value') ?? '')
  }
  return action.origin === at.origin ? { action, fields } : null
}

const attribute = (tag: string, name: string): string | null =>
  new RegExp(`\\b${name}="([^"]*)"`, 'i').exec(tag)?.[1]?.replaceAll('&amp;', '&') ?? null
