import type { Browser, BrowserContext, Page } from 'playwright-core'
import { expect } from 'vitest'
import { createDemo, demoToken } from '../../src/app/process/demo.js'
import type { Pool } from '../../src/store/postgres.js'
import { type ConsoleClient, consoleClient } from '../support/gateway/console.js'
import { testKeys } from '../support/gateway/gateway.js'
import { type Answer, request } from '../support/gateway/requests.js'
import { type Stack, startStack } from '../support/gateway/stack.js'
import { asPerson, keepPicture, launchPersonal, PHONE, seriousViolations } from './browser.js'

const DESKTOP = { width: 1440, height: 900 }
/** While a page is looked at, the others wait for it: what hangs must not hold the whole suite. */
const LONGEST_MS = 180_000
const PICTURE_MS = 10_000

/** A browser at the console. */
export interface ConsoleBrowser {
  context: BrowserContext
  page: Page
  /** Both themes and both widths: nothing serious for axe, nothing wider than the screen. `shown` waits for what is to be seen. */
  look(name: string, shown?: () => Promise<unknown>): Promise<void>
  /**
   * Mistakes of ours, refusals by the policy of a page, requests that left for elsewhere and windows that a script opened. Not among them:
   * refusals that a test asked for (`expected`, statuses), and what the policy of a sender's content keeps out, as it should.
   */
  problems(...expected: number[]): string[]
  close(): Promise<void>
}

export async function openBrowser(url: string, cookie: string | null = null): Promise<ConsoleBrowser> {
  const browser: Browser = await launchPersonal()
  const context = await asPerson(browser, { viewport: DESKTOP })
  context.setDefaultTimeout(LONGEST_MS)
  if (cookie !== null) {
    const [name, value] = cookie.split('=') as [string, string]
    await context.addCookies([{ name, value, url, httpOnly: true, sameSite: 'Strict' }])
  }
  const page = await context.newPage()
  const noted: string[] = []
  page.on('console', message => message.type() === 'error' && noted.push(message.text()))
  page.on('pageerror', error => noted.push(String(error)))
  page.on('dialog', dialog => {
    noted.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', asked => {
    const { origin, protocol } = new URL(asked.url())
    // The browser's own viewer of PDFs asks for its own parts.
    if (origin !== url && /^(https?|wss?):$/.test(protocol)) noted.push(asked.url())
  })
  return {
    context,
    page,
    look: (name, shown) => look(page, name, shown),
    problems: (...expected) =>
      noted.filter(text => !isKeptOut(text) && !expected.some(code => text.includes(`status of ${code}`))),
    close: () => browser.close(),
  }
}

/** An operator's browser, signed in. */
export async function openConsole(pool: Pool, url: string): Promise<ConsoleBrowser & { client: ConsoleClient }> {
  const client = await consoleClient(pool, url)
  return { ...(await openBrowser(url, client.cookie)), client }
}

export interface ConsoleDemo extends ConsoleBrowser {
  stack: Stack
  /** The demonstration account, and a token of it. */
  account: string
  token: string
  api(path: string, method?: string, body?: object): Promise<Answer>
}

/** The console over a gateway with its worker, the simulator and the demonstration account. */
export async function openDemo(): Promise<ConsoleDemo> {
  const stack = await startStack()
  const { pool } = stack.database
  const { url } = stack.gateway
  await createDemo(pool)
  const token = (await demoToken(pool, testKeys))!
  const opened = await openConsole(pool, url)
  const { accounts } = (await opened.client.get('/installation')).body as { accounts: { id: string }[] }
  return {
    ...opened,
    stack,
    account: accounts[0]!.id,
    token,
    api: (path, method = 'GET', body) =>
      request(url + path, { method, headers: { authorization: token }, ...(body === undefined ? {} : { body }) }),
    async close() {
      await opened.close()
      await stack.close()
    },
  }
}

const isKeptOut = (problem: string): boolean =>
  problem.includes('directive: "img-src data:') ||
  /Blocked script execution in .* because the document's frame is sandboxed/.test(problem)

/** A table that is wider than its frame would be cut off, unless the frame scrolls. */
const isCut =
  "[...document.querySelectorAll('main table')].some(({ offsetWidth, parentElement: { clientWidth, tabIndex } }) => tabIndex < 0 && offsetWidth > clientWidth)"

type Theme = 'light' | 'dark'
const EVERY = [DESKTOP, PHONE].flatMap(viewport => (['light', 'dark'] as const).map(theme => ({ viewport, theme })))
/** Each theme and each width once: colours do not depend on the width, nor what fits on the colours. Pictures are of all four. */
const EACH_ONCE: { viewport: typeof PHONE; theme: Theme }[] = [
  { viewport: DESKTOP, theme: 'light' },
  { viewport: PHONE, theme: 'dark' },
]

async function look(page: Page, name: string, shown: () => Promise<unknown> = async () => {}): Promise<void> {
  for (const { viewport, theme } of process.env.SCREENSHOTS === undefined ? EACH_ONCE : EVERY) {
    const where = `${name}-${viewport === PHONE ? 'phone' : 'desktop'}-${theme}`
    await page.setViewportSize(viewport)
    await wearTheme(page, theme, where)
    await shown()
    expect(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), where).toBe(false)
    expect(await page.evaluate(isCut), where).toBe(false)
    expect(await seriousViolations(page), where).toEqual([])
    if (process.env.SCREENSHOTS !== undefined) await keepWhole(page, `console-${where}`, viewport.width)
  }
  await page.setViewportSize(DESKTOP)
  await page.emulateMedia({ colorScheme: 'light' })
}

async function wearTheme(page: Page, theme: Theme, where: string): Promise<void> {
  const emulate = (): Promise<void> => page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' })
  const worn = (): Promise<unknown> => page.evaluate('document.documentElement.dataset.theme')
  await emulate()
  await expect
    .poll(
      async () => {
        if ((await worn()) === theme) return theme
        // Pages hear of a change when the next frame is drawn, and a browser without a screen can stop drawing: a picture makes it draw.
        await emulate()
        await page.screenshot({ timeout: PICTURE_MS }).catch(() => {})
        return worn()
      },
      { message: where },
    )
    .toBe(theme)
}

/** In a window as tall as the page, so that what sticks to an edge of the screen does not cover the middle. */
async function keepWhole(page: Page, name: string, width: number): Promise<void> {
  const height = Number(await page.evaluate('Math.max(innerHeight, document.documentElement.scrollHeight)'))
  await page.setViewportSize({ width, height: Math.min(height, 6_000) })
  await page.evaluate('scrollTo(0, 0)')
  await keepPicture(page, name)
}
