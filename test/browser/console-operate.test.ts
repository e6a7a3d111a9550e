import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAccount } from '../support/gateway/gateway.js'
import { type Receiver, refuseWith, startReceiver } from '../support/gateway/receiver.js'
import { type Stack, startStack } from '../support/gateway/stack.js'
import { missingBrowser } from './browser.js'
import { type ConsoleBrowser, openConsole } from './console-browser.js'

/** Webhooks and carriers as an operator uses them, over one gateway with its worker and the simulator. */
const title = missingBrowser === null ? 'in Chromium' : `in Chromium: ${missingBrowser}`

describe.skipIf(missingBrowser !== null)(title, () => {
  let stack: Stack
  let receiver: Receiver
  let console: ConsoleBrowser
  let page: Page
  let look: ConsoleBrowser['look']

  beforeAll(async () => {
    stack = await startStack(undefined, { WEBHOOK_ALLOWED_RANGES: '127.0.0.0/8' })
    const { pool } = stack.database
    await createAccount(pool, { name: 'Empresa de nome comprido Comércio e Serviços Ltda.' })
    receiver = await startReceiver()
    console = await openConsole(pool, stack.gateway.url)
    ;({ page, look } = console)
  })

  afterAll(async () => {
    await console?.close()
    await receiver?.close()
    await stack?.close()
  })

  const button = (name: string) => page.getByRole('button', { name, exact: true })

  test('webhooks: made, tested, replayed and its secret rotated; the secret is shown once', async () => {
    await page.goto(`${stack.gateway.url}/console/webhooks`)
    await page.getByText('Nenhum webhook ainda').waitFor()
    await button('Novo webhook').first().click()
    await page.getByLabel('Endereço (https)').fill(receiver.url)
    await button('Criar webhook').click()
    const secret = page.getByRole('dialog').locator('code')
    await secret.waitFor()
    const first = await secret.textContent()
    expect(first).toMatch(/^whsec_/)
    await button('Já copiei').click()
    receiver.answer = refuseWith(500, {}, '<script>alert(1)</script>')
    await button('Enviar teste').click()
    await page.getByText('O servidor respondeu 500').first().waitFor()
    receiver.answer = refuseWith(200)
    await button('Reenviar').first().click()
    await page.getByText('Recebido (200)').first().waitFor()
    await look('webhook')
    await button('Ver').last().click()
    await page.getByText('<script>alert(1)</script>').waitFor()
    await page.keyboard.press('Escape')
    await button('Trocar segredo').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Trocar segredo' }).click()
    await expect.poll(() => secret.textContent()).toMatch(/^whsec_/)
    expect(await secret.textContent()).not.toBe(first)
    await button('Já copiei').click()
    await page.getByText('O segredo anterior ainda assina').waitFor()
    await page.getByRole('link', { name: 'Todos os webhooks' }).click()
    await page.getByRole('row', { name: /127\.0\.0\.1/ }).waitFor()
    await look('webhooks')
  })

  test('carriers: who serves each channel and how they are; the DNS is asked only where a real carrier is', async () => {
    await page.goto(`${stack.gateway.url}/console/carriers`)
    await expect.poll(() => page.getByText('Atendendo').count()).toBeGreaterThanOrEqual(4)
    await look('carriers')
    await page.getByRole('tab', { name: 'DNS do e-mail' }).click()
    await page.getByText('Nada a verificar ainda').waitFor()
    expect(new URL(page.url()).searchParams.get('tab')).toBe('dns')
    await look('carriers-dns')
  })

  test('the pages break no rule of their policy and have no mistakes', () => {
    expect(console.problems()).toEqual([])
  })
})
