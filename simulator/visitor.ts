import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../src/domain/clock.js'
import { MIB } from '../src/domain/units.js'
import { urlBelow } from './addresses.js'
import { type HttpRequest, sendRequest } from './http-client.js'
import { addReport, type Message, newStamp, type Report, settleReport } from './message.js'

export interface Visit {
  method: 'GET' | 'HEAD'
  url: string
  /** The headers of the program that visits. */
  headers: Record<string, string>
}

export interface VisitResult {
  done: boolean
  detail: string
}

/** A link scanner, as security programs have it. */
export const SCANNER = {
  'user-agent': 'Mozilla/5.0 (compatible; LinkScanner/2.1; url-protection)',
  accept: '*/*',
}

const PHONE_BROWSER = {
  'user-agent':
    'Mozilla/5.0 (Linux; Android 15; SM-A155M) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36',
  accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'accept-language': 'pt-BR,pt;q=0.9',
  'sec-fetch-dest': 'document',
  'sec-fetch-mode': 'navigate',
  'sec-fetch-user': '?1',
}

const MAX_BODY = MIB
const MAX_REDIRECTS = 5
const MAX_RUNNING = 8
const MAX_SITES = 16
const MAX_SCHEDULED = 20_000
/** How long a person looks at a page before pressing its button. */
const READING_MS = 1_500
/** Between two looks whether the reports before a visit were taken, and how many looks there are at most: ten seconds in all. */
const TOLD_EVERY_MS = 20
const MAX_LOOKS = 500

/**
 * Loads images and follows links as the recipients' programs do. It visits only the sites that a gateway registered as its own:
 * who writes a message must not make this machine send requests to other programs on it, or to the sites that the message mentions.
 */
export class Visitor {
  readonly #clock: Clock
  /** Newest first. */
  #sites: string[] = []
  readonly #stop = new AbortController()
  readonly #timers = new Set<NodeJS.Timeout>()
  readonly #queue: (() => void)[] = []
  #running = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  allow(site: string): void {
    this.#sites = [site, ...this.#sites.filter(known => known !== site)].slice(0, MAX_SITES)
  }

  #mayVisit({ href }: URL): boolean {
    return this.#sites.some(site => urlBelow(site, href) !== null)
  }

  /** Starts the visit after a delay and writes its result into a report of the message. */
  schedule(message: Message, type: string, afterMs: number, visit: () => Promise<VisitResult>): Report {
    const clock = this.#clock
    const report = addReport(message, newStamp(clock, afterMs), type)
    if (this.#timers.size >= MAX_SCHEDULED) return settleReport(report, 'expired', 'Descartado: visitas demais à espera.', clock)
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      const opened = this.#untilTold(message, report).then(visit)
      opened.then(
        ({ done, detail }) => settleReport(report, done ? 'done' : 'refused', detail, clock),
        error => settleReport(report, 'refused', (error as Error).message, clock),
      )
    }, afterMs)
    this.#timers.add(timer)
    return report
  }

  /**
   * Waits until the carrier's earlier reports on the message were taken: nobody opens a message before it is delivered, however busy
   * the gateway is. A gateway that takes no reports does not keep people from opening messages for long.
   */
  async #untilTold({ reports }: Message, opening: Report): Promise<void> {
    const isOpen = ({ state, at }: Report): boolean => state === 'waiting' && at < opening.at
    for (let round = 0; round < MAX_LOOKS && reports.some(isOpen) && !this.#stop.signal.aborted; round++) {
      await sleep(TOLD_EVERY_MS, undefined, { ref: false })
    }
  }

  /** Follows redirects to the end. Never throws. */
  visit({ method, url, headers }: Visit): Promise<VisitResult> {
    return this.#inTurn(`${method} ${url}`, async () => {
      const { page, ...result } = await this.#follow({ method, headers }, new URL(url))
      return result
    })
  }

  /** Acts as a person with a phone: opens the page, then presses the button of its first form. Never throws. */
  async open(url: string): Promise<VisitResult> {
    const landing = await this.#inTurn(`GET ${url}`, () =>
      this.#follow({ method: 'GET', headers: { ...PHONE_BROWSER, 'sec-fetch-site': 'none' } }, new URL(url)),
    )
    const form = 'page' in landing && landing.page !== undefined ? readForm(landing.page.body, landing.page.url) : null
    if (form === null || !this.#mayVisit(form.action))
      return { done: false, detail: `${landing.detail}: a página não tem o que apertar` }
    await sleep(READING_MS, undefined, { signal: this.#stop.signal, ref: false }).catch(() => {})
    const headers = {
      ...PHONE_BROWSER,
      'sec-fetch-site': 'same-origin',
      origin: form.action.origin,
      'content-type': 'application/x-www-form-urlencoded',
    }
    return this.#inTurn(`POST ${form.action.href}`, async () => {
      const { status } = await this.#request({ method: 'POST', headers, body: form.fields.toString() }, form.action)
      return { done: status >= 200 && status < 400, detail: `POST ${form.action.href}: ${status}` }
    })
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer)
    this.#stop.abort()
  }

  async #inTurn<T extends VisitResult>(name: string, work: () => Promise<T>): Promise<T | VisitResult> {
    if (this.#running >= MAX_RUNNING) await new Promise<void>(resolve => this.#queue.push(resolve))
    this.#running++
    try {
      return await work()
    } catch (error) {
      return { done: false, detail: `${name}: ${(error as Error).message}` }
    } finally {
      this.#running--
      this.#queue.shift()?.()
    }
  }

  async #follow(request: HttpRequest, start: URL): Promise<VisitResult & { page?: { url: URL; body: string } }> {
    const { method } = request
    let url = start
    for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
      if (!this.#mayVisit(url))
        return { done: false, detail: `${method} ${url.origin}: fora do PUBLIC_URL do gateway, não visitado` }
      const { status, location, body } = await this.#request(request, url)
      if (status < 300 || status >= 400 || location === undefined || !URL.canParse(location, url.href)) {
        return { done: true, detail: `${method} ${url.href}: ${status}`, page: { url, body } }
      }
      url = new URL(location, url)
    }
    return { done: false, detail: `${method} ${start.href}: redirecionamentos demais` }
  }

  #request(request: HttpRequest, url: URL) {
    return sendRequest(url, request, this.#stop.signal, MAX_BODY)
  }
}

/** The first form with method POST and its hidden fields. Visible fields stay empty: pages use them as traps for robots. */
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
