import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDemo, demoToken } from '../../src/app/process/demo.js'
import { firstSend } from '../../src/channels/first-send.js'
import { testKeys } from '../support/gateway/gateway.js'
import { send } from '../support/gateway/requests.js'
import { type Stack, startStack } from '../support/gateway/stack.js'
import { missingBrowser } from './browser.js'
import { type ConsoleBrowser, openConsole } from './console-browser.js'

/** The simulator in the console: five channels, each on its recipient's device, and a person who plays the recipient. */
const title = missingBrowser === null ? 'in Chromium' : `in Chromium: ${missingBrowser}`

describe.skipIf(missingBrowser !== null)(title, () => {
  let stack: Stack
  let console: ConsoleBrowser

  beforeAll(async () => {
    stack = await startStack()
    await createDemo(stack.database.pool)
    console = await openConsole(stack.database.pool, stack.gateway.url)
  })
  afterAll(async () => {
    await console?.close()
    await stack?.close()
  })

  const entry = (channel: string) =>
    console.page
      .getByRole('list', { name: 'Mensagens recebidas' })
      .getByRole('listitem')
      .filter({ has: console.page.getByRole('img', { name: channel }) })

  test('the empty inbox teaches, and what is sent by the API comes in by itself on all five channels', async () => {
    const { page } = console
    const { pool } = stack.database
    await page.goto(`${stack.gateway.url}/console/simulator`)
    await page.getByText('Nenhuma mensagem ainda').waitFor()
    const sent = await send(stack.gateway.url, (await demoToken(pool, testKeys))!, await firstSend(Date.now()))
    expect(sent.status).toBe(200)
    await expect.poll(() => page.getByRole('list', { name: 'Mensagens recebidas' }).getByRole('listitem').count()).toBe(5)
  })

  test('the e-mail in a window, bubbles on a phone, the call that plays, the letter with its tracking', async () => {
    const { page, look } = console
    await entry('e-mail').click()
    await expect.poll(() => page.frameLocator('iframe[title="O e-mail"]').locator('body').textContent()).toContain('4711')
    await look('simulator-mail', () => page.getByRole('link', { name: 'Abrir como o destinatário' }).waitFor())
    await entry('WhatsApp').click()
    await page.getByText('Agir como o destinatário').waitFor()
    await entry('ligação').click()
    await page.locator('audio').waitFor()
    await look('simulator-call', () => page.locator('audio').waitFor())
    await entry('carta').click()
    await page.getByRole('heading', { name: 'Rastreamento' }).waitFor()
    await look('simulator-letter', () => page.getByRole('heading', { name: 'Rastreamento' }).waitFor())
  })

  test('a person opens the e-mail and answers the SMS for the recipient, and the notification shows both', async () => {
    const { page, look } = console
    await entry('e-mail').click()
    await page.getByRole('button', { name: /Abrir/ }).first().click()
    await entry('SMS').click()
    await page.getByRole('button', { name: 'Responder', exact: true }).click()
    await page.getByRole('textbox', { name: /Texto|resposta/i }).fill('Recebi, obrigada!')
    await page.getByRole('button', { name: 'Enviar', exact: true }).click()
    await look('simulator-sms', () => page.getByText('O que voltou ao remetente').waitFor())
    await page.getByRole('link', { name: 'Ver a notificação' }).click()
    await page.getByText('Recebi, obrigada!').first().waitFor()
    const lanes = page.getByRole('region', { name: 'Situação por canal' })
    await lanes.getByText('Lido', { exact: true }).first().waitFor()
    await look('notification-five', () => lanes.getByText('Lido', { exact: true }).first().waitFor())
  })

  test('failures are switched on and off, test recipients are listed, and the inbox is emptied', async () => {
    const { page, look, problems } = console
    await page.goto(`${stack.gateway.url}/console/simulator?tab=faults`)
    const form = page.getByRole('form', { name: 'sms' })
    await form.getByLabel(/Fora do ar/).check()
    await form.getByRole('button', { name: 'Salvar' }).click()
    await form.getByText('1 ligada').waitFor()
    await look('simulator-faults', () => form.getByText('1 ligada').waitFor())
    await form.getByLabel(/Fora do ar/).uncheck()
    await form.getByRole('button', { name: 'Salvar' }).click()
    await form.getByText('1 ligada').waitFor({ state: 'detached' })
    await page.getByRole('tab', { name: 'Destinatários de teste' }).click()
    await page.getByText('lido@simulador.test').waitFor()
    await page.getByRole('tab', { name: 'Caixa de entrada' }).click()
    await page.getByRole('button', { name: 'Esvaziar' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Esvaziar' }).click()
    await page.getByText('Nenhuma mensagem ainda').waitFor()
    expect(problems()).toEqual([])
  })
})
