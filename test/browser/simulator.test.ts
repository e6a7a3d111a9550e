import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { createDemo, demoToken } from '../../src/app/process/demo.js'
import { firstSend } from '../../src/channels/first-send.js'
import { testKeys } from '../support/gateway/gateway.js'
import { request, send } from '../support/gateway/requests.js'
import { type Stack, startStack } from '../support/gateway/stack.js'
import { asPerson, keepPicture, launchScanner, missingBrowser, seriousViolations } from './browser.js'

/** The simulator's pages after a first send by all channels, as a person with a phone and one with a large screen sees them. */
const WAIT = { timeout: 120_000, interval: 100 }
const SIZES = { phone: { width: 360, height: 800 }, desktop: { width: 1280, height: 800 } }

let stack: Stack
let browser: Browser
let idEmail: string
let messages: { id: string; channel: string; idEmail: string | null; subject: string }[]

const title = missingBrowser === null ? 'in Chromium' : `in Chromium: ${missingBrowser}`

describe.skipIf(missingBrowser !== null)(title, () => {
  beforeAll(async () => {
    stack = await startStack()
    await createDemo(stack.database.pool)
    const token = (await demoToken(stack.database.pool, testKeys))!
    const other = {
      nameTo: 'João Souza',
      to: 'responde+1@simulador.test',
      subject: 'Proposta de acordo',
      content: '<p>Veja a proposta.</p>',
    }
    const foreign = { number: '21987650000', variables: { template: 'so_na_meta', 1: 'João', 2: 'R$ 418,90' } }
    const first = await send(stack.gateway.url, token, { ...other, whatsapp: foreign })
    expect(first.status).toBe(200)
    const read = async () => (await request(`${stack.simulator.url}/simulator/messages`)).body as typeof messages
    await vi.waitFor(async () => expect(await read()).toHaveLength(2), WAIT)
    const answer = await send(stack.gateway.url, token, await firstSend(Date.now()))
    expect([answer.status, answer.headers.get('x-carteiro-aviso')]).toEqual([200, null])
    idEmail = (answer.body as { idEmail: string }).idEmail
    await vi.waitFor(async () => expect(await read()).toHaveLength(7), WAIT)
    messages = await read()
    browser = await launchScanner()
  })

  afterAll(async () => {
    await browser?.close()
    await stack?.close()
  })

  test('a first send is one group of five channels, each with its idEmail, the SMS included', () => {
    const own = messages.filter(message => message.idEmail === idEmail)
    expect(own.map(({ channel }) => channel).sort()).toEqual(['email', 'letter', 'sms', 'voice', 'whatsapp'])
    const subjects = Object.fromEntries(own.map(({ channel, subject }) => [channel, subject]))
    expect(subjects.whatsapp).toBe('Olá, Maria. Há uma notificação sobre o contrato 4711.')
    expect(subjects.sms).toMatch(/^Maria, aviso sobre o contrato 4711: http/)
  })

  const find = (channel: string, own: boolean): string =>
    messages.find(message => message.channel === channel && (message.idEmail === idEmail) === own)!.id

  /** Shown, free of serious faults, no wider than the screen, and kept for whoever wants to see. */
  async function check(page: Page, name: string, size: string): Promise<void> {
    expect([name, size, await seriousViolations(page)]).toEqual([name, size, []])
    const overflow = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
    expect([name, size, overflow]).toEqual([name, size, 0])
    await keepPicture(page, `sim-${name}-${size}`)
  }

  test.each(Object.entries(SIZES))(
    'list, group, message, warning and question are readable and accessible: %s',
    async (size, viewport) => {
      const context = await asPerson(browser, { viewport })
      const page = await context.newPage()
      const { url } = stack.simulator
      await page.goto(url)
      expect(await page.locator('.group').count()).toBe(2)
      expect(await page.locator('.group').first().textContent()).toContain(idEmail)
      await check(page, 'list', size)
      await page.getByRole('link', { name: 'Aviso de vencimento' }).first().click()
      expect(await page.locator('h1').textContent()).toBe('Aviso de vencimento')
      await check(page, 'group', size)
      await page.goto(`${url}/mensagens/${find('whatsapp', true)}`)
      expect(await page.locator('.chat-text').textContent()).toBe('Olá, Maria. Há uma notificação sobre o contrato 4711.')
      await check(page, 'whatsapp', size)
      await page.goto(`${url}/mensagens/${find('whatsapp', false)}`)
      await page.getByText('Template não cadastrado.').waitFor()
      await check(page, 'whatsapp-unregistered', size)
      await page.goto(`${url}/?to=98765-4321`)
      expect(await page.locator('.count').textContent()).toContain('3 mensagens de 7')
      await check(page, 'search', size)
      await page.goto(`${url}/esvaziar`)
      await check(page, 'confirm', size)
      await page.getByRole('link', { name: 'Cancelar' }).click()
      expect(await page.locator('.group').count()).toBe(2)
      await context.close()
    },
  )

  test('without scripts, whoever confirms empties the inbox, and the empty page is accessible too', async () => {
    const plain = await asPerson(browser, { script: false })
    const page = await plain.newPage()
    await page.goto(stack.simulator.url)
    await page.getByRole('link', { name: 'Esvaziar…' }).click()
    await page.getByRole('button', { name: 'Apagar as 7 mensagens' }).click()
    await page.getByText('A caixa foi esvaziada.').waitFor()
    await plain.close()
    for (const [size, viewport] of Object.entries(SIZES)) {
      const context = await asPerson(browser, { viewport })
      const empty = await context.newPage()
      await empty.goto(stack.simulator.url)
      await check(empty, 'empty', size)
      await context.close()
    }
  })
})
