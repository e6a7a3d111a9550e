import { existsSync } from 'node:fs'
import { join } from 'node:path'
import axe from 'axe-core'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'

/** Debian's Chromium, steered as a person would use it, or as a scanner does. */
const CHROMIUM = '/usr/bin/chromium'
export const missingBrowser = existsSync(CHROMIUM) ? null : 'chromium is missing (apt install chromium)'

export const PHONE = { width: 360, height: 740 }
export const DESKTOP = { width: 1280, height: 900 }
/** Ends what hangs; a busy machine is slow to start a browser and to show a page. */
export const LONGEST_MS = 300_000
const PERSON =
  'Mozilla/5.0 (Linux; Android 13; moto e13) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36'

/** Tells pages nothing of being steered. */
export const launchPersonal = (): Promise<Browser> =>
  chromium.launch({
    executablePath: CHROMIUM,
    timeout: LONGEST_MS,
    args: ['--no-sandbox', '--disable-blink-features=AutomationControlled'],
    ignoreDefaultArgs: ['--enable-automation'],
  })

export const launchScanner = (): Promise<Browser> =>
  chromium.launch({ executablePath: CHROMIUM, timeout: LONGEST_MS, args: ['--no-sandbox'] })

export interface PersonOptions {
  viewport?: { width: number; height: number }
  script?: boolean
  dark?: boolean
}

export async function asPerson(
  browser: Browser,
  { viewport = PHONE, script = true, dark = false }: PersonOptions = {},
): Promise<BrowserContext> {
  const context = await browser.newContext({
    viewport,
    javaScriptEnabled: script,
    colorScheme: dark ? 'dark' : 'light',
    reducedMotion: 'reduce',
    userAgent: PERSON,
    locale: 'pt-BR',
    acceptDownloads: true,
  })
  context.setDefaultTimeout(LONGEST_MS)
  return context
}

/** For whoever wants to see the pages: a picture in the folder SCREENSHOTS, if there is one. */
export async function keepPicture(page: Page, name: string, part: 'screen' | 'whole' = 'screen'): Promise<void> {
  const folder = process.env.SCREENSHOTS
  if (folder !== undefined) await page.screenshot({ path: join(folder, `${name}.png`), fullPage: part === 'whole' })
}

export interface Violation {
  id: string
  impact: string
  nodes: string[]
}

/** What axe-core finds serious or critical on the page; it needs a context with scripts. */
export async function seriousViolations(page: Page): Promise<Violation[]> {
  // Not as a script of the page: its policy would refuse it, as it should.
  if (await page.evaluate("typeof axe === 'undefined'")) await page.evaluate(axe.source)
  const found = await page.evaluate(async () => {
    const inPage = globalThis as unknown as { axe: { run(options: object): Promise<{ violations: unknown[] }> } }
    return (await inPage.axe.run({ resultTypes: ['violations'] })).violations
  })
  return (found as { id: string; impact: string; nodes: FoundNode[] }[])
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, impact, nodes }) => ({ id, impact, nodes: nodes.map(node => `${node.html}${coloursOf(node)}`) }))
}

interface FoundNode {
  html: string
  any: { data: { fgColor?: string; bgColor?: string; contrastRatio?: number } | null }[]
}

/** Of a finding about contrast: the colours tell which theme, or which moment of a change, the page was in. */
const coloursOf = ({ any }: FoundNode): string =>
  any
    .filter(({ data }) => data?.contrastRatio !== undefined)
    .map(({ data }) => ` (${data!.fgColor} on ${data!.bgColor}, ${data!.contrastRatio}:1)`)
    .join('')
