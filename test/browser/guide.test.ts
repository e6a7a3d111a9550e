import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { gatewayForFile } from '../support/gateway/gateway.js'
import { asPerson, DESKTOP, keepPicture, launchPersonal, missingBrowser, PHONE, seriousViolations } from './browser.js'

const title = missingBrowser === null ? 'in Chromium' : `in Chromium: ${missingBrowser}`

describe.skipIf(missingBrowser !== null)(title, async () => {
  const { gateway } = await gatewayForFile()
  const guide = `${gateway.url}/docs/guia`
  let browser: Browser

  beforeAll(async () => {
    browser = await launchPersonal()
  })
  afterAll(() => browser.close())

  test.for([
    { name: 'desktop', viewport: DESKTOP, dark: false },
    { name: 'phone', viewport: PHONE, dark: true },
  ])('a word is searched and its page opened: $name', async ({ name, viewport, dark }) => {
    const context = await asPerson(browser, { viewport, dark })
    const page = await context.newPage()
    const problems: string[] = []
    page.on('pageerror', error => problems.push(error.message))
    page.on('console', message => message.type() === 'error' && problems.push(message.text()))
    page.on('request', request => {
      if (!request.url().startsWith(gateway.url) && !request.url().startsWith('data:')) problems.push(request.url())
    })
    // The address without its slash, as people type it, and the way from the first page.
    await page.goto(guide)
    expect(page.url()).toBe(`${guide}/`)
    await page.goto(gateway.url)
    await page.getByRole('link', { name: 'Guia', exact: true }).click()
    await page.waitForURL(`${guide}/`)
    await keepPicture(page, `guide-home-${name}`)
    expect(await seriousViolations(page)).toEqual([])
    await page.getByRole('button', { name: 'Buscar no guia' }).click()
    await page.getByRole('searchbox').fill('régua')
    const found = page.locator('.VPLocalSearchBox .result').first()
    await found.waitFor()
    await keepPicture(page, `guide-search-${name}`)
    await found.click()
    await page.locator('.vp-doc h1').waitFor()
    await page.waitForURL(/\/docs\/guia\/regua/)
    await page.goto(`${guide}/inicio`)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(viewport.width)
    await keepPicture(page, `guide-page-${name}`)
    expect(await seriousViolations(page)).toEqual([])
    await page.goto(`${guide}/en/inicio`)
    expect(await page.evaluate('document.documentElement.lang')).toBe('en')
    expect(problems).toEqual([])
    await context.close()
  })
})
