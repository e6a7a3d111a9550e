import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDemo, demoToken } from '../../src/app/process/demo.js'
import { testKeys } from '../support/gateway/gateway.js'
import { request } from '../support/gateway/requests.js'
import { type Stack, startStack } from '../support/gateway/stack.js'
import { asPerson, DESKTOP, keepPicture, launchPersonal, missingBrowser, PHONE } from './browser.js'

/** The interactive documentation on a first start: a token, one press, five channels. */
const title = missingBrowser === null ? 'in Chromium' : `in Chromium: ${missingBrowser}`

describe.skipIf(missingBrowser !== null)(title, () => {
  let stack: Stack
  let browser: Browser
  let token: string

  beforeAll(async () => {
    stack = await startStack()
    await createDemo(stack.database.pool)
    token = (await demoToken(stack.database.pool, testKeys))!
    browser = await launchPersonal()
  })

  afterAll(async () => {
    await browser.close()
    await stack.close()
  })

  test('the first "Executar" is accepted and all five channels deliver; the token is still there after a reload', async () => {
    const context = await asPerson(browser, { viewport: DESKTOP })
    const page = await context.newPage()
    const problems: string[] = []
    page.on('pageerror', error => problems.push(error.message))
    await page.goto(`${stack.gateway.url}/docs`)
    await page.getByRole('button', { name: 'Informar o token' }).click()
    await page.locator('.auth-container input').fill(token)
    await keepPicture(page, 'docs-token')
    const [use, close] = await page.locator('.auth-btn-wrapper button').all()
    expect([await use!.textContent(), await use!.getAttribute('aria-label')]).toEqual(['Usar o token', 'Usar o token'])
    const [left, right] = [(await use!.boundingBox())!, (await close!.boundingBox())!]
    expect(right.x - left.x - left.width).toBeGreaterThanOrEqual(8)
    await page.locator('.auth-btn-wrapper').getByRole('button', { name: 'Usar o token' }).click()
    await page.locator('.auth-btn-wrapper').getByRole('button', { name: 'Fechar' }).click()
    await page.reload()
    await page.locator('#operations-Envio-post_gw_email .opblock-summary-control').click()
    await keepPicture(page, 'docs-desktop')
    expect(await page.evaluate('document.documentElement.lang')).toBe('pt-BR')
    const answering = page.waitForResponse(answer => answer.url().endsWith('/gw/email'))
    await page.getByRole('button', { name: 'Executar' }).click()
    const answer = await answering
    expect(answer.status()).toBe(200)
    const { idEmail } = (await answer.json()) as { idEmail: string }
    await page.getByText('Resposta do servidor').waitFor()
    await page.getByText('Resposta do servidor').scrollIntoViewIfNeeded()
    await keepPicture(page, 'docs-answer-desktop')
    await page.setViewportSize(PHONE)
    await keepPicture(page, 'docs-phone', 'whole')
    expect(await page.locator('meta[name=viewport]').getAttribute('content')).toContain('width=device-width')
    const english = await page
      .getByText(/^(Try it out|Execute|Parameters|Responses|Request body|Server response|Authorize|Headers:|Type|\(header\))$/)
      .count()
    expect([english, problems]).toEqual([0, []])
    await context.close()

    const channelsDelivered = async () => {
      const { body } = await request(`${stack.gateway.url}/gw/full/${idEmail}`, { token })
      const { statusFull } = body as { statusFull: Record<string, { label: string }[]> }
      return Object.keys(statusFull).filter(channel =>
        statusFull[channel]!.some(({ label }) => /^(Entregue|Atendida|Enviado)/.test(label)),
      )
    }
    await expect.poll(channelsDelivered).toEqual(['email', 'sms', 'whatsapp', 'voz', 'carta'])
  })
})
