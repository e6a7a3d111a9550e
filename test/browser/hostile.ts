import type { Page, Request } from 'playwright-core'
import { expect } from 'vitest'

/** Texts that would run, or ask another host, if a page took them for markup. */
const RUN = 'window.top.tomada=1;alert(1)'
export const HOSTILE = `<img src=x onerror="${RUN}"><script>${RUN}</script><a href="javascript:${RUN}">x</a><svg onload="${RUN}">`
/** An address that would run where somebody follows it. */
export const HOSTILE_LINK = `javascript:${RUN}`
/** Where it is shown it must be read as text, so that each screen is known to have had it. */
export const SIGN = '<img src=x onerror='

/** Notes what must not happen on a page of ours: a dialog, a mistake, a refusal by the policy of the page, a request to elsewhere. */
export function watchHostile(page: Page, origin: string): string[] {
  const problems: string[] = []
  page.on('dialog', dialog => {
    problems.push(`dialog ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('pageerror', error => problems.push(String(error)))
  page.on('console', message => {
    // The frame of a sender's content keeps pictures and scripts out, as it should; our own pages have nothing to keep out.
    if (/Content Security Policy|Refused to/.test(message.text()) && !isOfFrame(message.text())) problems.push(message.text())
  })
  // One that the policy refused never left.
  const left = (asked: Request): void => {
    const { origin: other, protocol } = new URL(asked.url())
    const isElsewhere = other !== origin && /^(https?|wss?):$/.test(protocol)
    if ((isElsewhere || asked.url().endsWith('/x')) && asked.failure()?.errorText !== 'csp')
      problems.push(`request ${asked.url()}`)
  }
  page.on('requestfinished', left)
  page.on('requestfailed', left)
  return problems
}

const isOfFrame = (text: string): boolean => /img-src data:|sandboxed|default-src 'none'/.test(text)

/** Nothing ran, and neither an element nor a link was made of it. */
export async function expectNothingRan(page: Page, problems: readonly string[], where: string): Promise<void> {
  expect(await page.evaluate('window.tomada'), where).toBeUndefined()
  const made = `[...document.querySelectorAll('img[onerror], svg[onload], a[href^="javascript:" i], script:not([src])')].map(part => part.outerHTML)`
  expect(await page.evaluate(made), where).toEqual([])
  expect(problems, where).toEqual([])
}
