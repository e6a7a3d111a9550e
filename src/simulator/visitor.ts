import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
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
}

const TIMEOUT_MS = 10_000
const MAX_BODY = 1_048_576
const MAX_REDIRECTS = 5
const PARALLEL = 8

export class Visitor {
  readonly #sites = new Set<string>()
  readonly #stop = new AbortController()
  readonly #queue: (() => void)[] = []
  #running = 0

  allow(site: string): void {
    this.#sites.add(new URL(site).origin)
  }

  /** Where the visit ended, in words for people; it never throws. */
  async visit({ method, url, as }: Visit): Promise<{ done: boolean; detail: string }> {
    await this.#turn()
    try {
      return await this.#follow(method, new URL(url), PROGRAMS[as])
    } catch (error) {
      return { done: false, detail: `${method} ${url}: ${(error as Error).message}` }
    } finally {
      this.#running--
      this.#queue.shift()?.()
    }
  }

  close(): void {
    this.#stop.abort()
  }

  async #turn(): Promise<void> {
    if (this.#running >= PARALLEL) await new Promise<void>(resolve => this.#queue.push(resolve))
    this.#running++
  }

  async #follow(method: string, start: URL, headers: Record<string, string>): Promise<{ done: boolean; detail: string }> {
    let url = start
    for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
      if (!isLoopback(url.hostname) && !this.#sites.has(url.origin)) {
        return { done: false, detail: `${method} ${url.origin}: fora desta máquina, não visitado` }
      }
      const { status, location } = await this.#ask(method, url, headers)
      if (status < 300 || status >= 400 || location === undefined || !URL.canParse(location, url.href)) {
        return { done: true, detail: `${method} ${url.href}: ${status}` }
      }
      url = new URL(location, url)
    }
    return { done: false, detail: `${method} ${start.href}: redirecionamentos demais` }
  }

  #ask(method: string, url: URL, headers: Record<string, string>): Promise<{ status: number; location: string | undefined }> {
    return new Promise((resolve, reject) => {
      const send = url.protocol === 'https:' ? requestHttps : requestHttp
      const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(TIMEOUT_MS)])
      const asked = send(url, { method, headers, signal, agent: false }, response => {
        let bytes = 0
        response.on('data', chunk => {
          bytes += chunk.length
          if (bytes > MAX_BODY) response.destroy()
        })
        response.on('error', reject)
        response.on('close', () => resolve({ status: response.statusCode ?? 0, location: response.headers.location }))
      })
      asked.on('error', reject)
      asked.end()
    })
  }
}
