import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { SimulatedMessage } from '../../src/http/console/simulator/simulator-schema.js'
import { send, validSend } from '../support/gateway/requests.js'
import { missingBrowser } from './browser.js'
import { type ConsoleDemo, openDemo } from './console-browser.js'
import { expectNothingRan, HOSTILE, HOSTILE_LINK, SIGN, watchHostile } from './hostile.js'

/** Texts of files, senders, carriers and recipients on the screens of bulk sends and of the simulator: all is text, and nothing of it runs. */
const title = missingBrowser === null ? 'in Chromium' : `in Chromium: ${missingBrowser}`

describe.skipIf(missingBrowser !== null)(title, () => {
  let screen: ConsoleDemo
  let page: Page
  let problems: string[]

  beforeAll(async () => {
    screen = await openDemo()
    ;({ page } = screen)
    problems = watchHostile(page, screen.stack.gateway.url)
  })
  afterAll(() => screen?.close())

  const nothingRan = (where: string): Promise<void> => expectNothingRan(page, problems, where)
  const shown = (text: string) => page.getByText(text, { exact: false }).first().waitFor()
  const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`

  test('a bulk file: its name, header, cells, texts with variables, and the errors of its lines', async () => {
    const { gateway } = screen.stack
    const head = ['Nome', 'E-mail', `Coluna ${SIGN}`, `<script>${HOSTILE_LINK}</script>`]
    const lines = [
      [`Nome ${HOSTILE}`.slice(0, 100), 'lido@simulador.test', `Célula ${HOSTILE}`, HOSTILE_LINK],
      ['Sem endereço', `${SIGN}errado`, HOSTILE, '<script>alert(1)</script>'],
    ]
    await page.goto(`${gateway.url}/console/bulk`)
    const name = `lote ${SIGN}'javascript:1'.csv`
    const text = [head, ...lines].map(line => line.map(quoted).join(';')).join('\r\n')
    await page
      .getByLabel('Escolher arquivo')
      .first()
      .setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(text) })
    await page.getByText('Igual em todas as linhas').waitFor()
    for (const part of [name, ...head.slice(2), `Célula ${SIGN}`, HOSTILE_LINK]) await shown(part)
    await nothingRan('mapping')

    await page.getByLabel('Assunto').fill(`Assunto ${SIGN} {{ Coluna ${SIGN} }}`)
    await page.getByLabel('Conteúdo', { exact: true }).fill(`${HOSTILE} {{ Nome }}`)
    await page.getByRole('button', { name: 'Conferir as linhas' }).click()
    await page.getByRole('table').first().waitFor()
    await nothingRan('a text that is no template')
    await page.getByLabel('Assunto').fill(`Assunto ${SIGN} {{ Nome }}`)
    await page.getByRole('button', { name: /Conferir/ }).click()
    await page.getByRole('button', { name: 'Enviar 1 linha' }).waitFor()
    await page.getByRole('cell', { name: /não é um endereço de e-mail válido/ }).waitFor()
    await nothingRan('checked')

    await page.getByRole('button', { name: 'Enviar 1 linha' }).click()
    await page.getByRole('button', { name: 'Enviar', exact: true }).click()
    await page.getByText('1 de 1 linha aceita').waitFor()
    await nothingRan('sent')
    await page.getByRole('link', { name: 'Todos os lotes' }).click()
    await page.getByRole('link', { name }).waitFor()
    await nothingRan('list of batches')
  })

  test('the simulator: names, texts, markup in a frame, the recipient’s own reply, and no link but ours', async () => {
    const { gateway } = screen.stack
    const body = {
      ...validSend,
      to: 'lido@simulador.test',
      nameTo: `Pessoa ${SIGN}`,
      subject: `Aviso ${HOSTILE}`.slice(0, 250),
      content: `<p>Conteúdo</p>${HOSTILE}<img src="https://mal.example/p.png">`,
      sms: { number: '11987654321', typeSend: '2', customMessage: `Oi <script>1</script> ${SIGN} javascript:1` },
    }
    const sent = await send(gateway.url, screen.token, body)
    expect(sent.status, JSON.stringify(sent.body)).toBe(200)
    await page.goto(`${gateway.url}/console/simulator`)
    const entry = (channel: string) =>
      page
        .getByRole('list', { name: 'Mensagens recebidas' })
        .getByRole('listitem')
        .filter({ has: page.getByRole('img', { name: channel }) })
        .first()
    await entry('SMS').click()
    await page.getByText(`Oi <script>1</script> ${SIGN}`).last().waitFor()
    await nothingRan('message on a phone')
    await page.getByRole('button', { name: 'Responder', exact: true }).click()
    await page.getByRole('textbox', { name: /Texto|resposta/i }).fill(`Resposta ${HOSTILE}`)
    await page.getByRole('button', { name: 'Enviar', exact: true }).click()
    await page.getByText('O que voltou ao remetente').waitFor()
    await nothingRan('reply')
    await page.getByRole('link', { name: 'Ver a notificação' }).click()
    await page.getByText(`Resposta ${SIGN}`).first().waitFor()
    await nothingRan('reply on the notification')

    await page.goto(`${gateway.url}/console/simulator`)
    await page.getByText(`Aviso ${SIGN}`).first().click()
    const frame = page.frameLocator('iframe[title="O e-mail"]')
    // The first one is the hidden line that mail programs show in their list.
    await frame.getByText('Conteúdo').last().waitFor()
    await page.getByRole('heading', { name: `Aviso ${SIGN}` }).waitFor()
    await nothingRan('message in a window')
    // Of the addresses in a message only ours is a place for an operator to go.
    const link = page.getByRole('link', { name: 'Abrir como o destinatário' })
    expect(await link.getAttribute('href')).toContain(`${gateway.url}/`)
  })

  test('what a carrier answers and reports is text', async () => {
    const { gateway } = screen.stack
    const one = '**/console/api/simulator/messages/*'
    // The simulator answers plainly by itself; another one, or a carrier beside it, may not.
    await page.route(one, async route => {
      const answer = await route.fetch()
      const message = (await answer.json()) as SimulatedMessage
      await route.fulfill({
        response: answer,
        json: {
          ...message,
          answer: `Resposta da operadora ${HOSTILE}`,
          from: `De ${SIGN}`,
          to: `Para ${HOSTILE}`,
          facts: message.facts.map(fact => ({ ...fact, value: HOSTILE })),
          reports: [
            {
              id: '1',
              label: `Aviso da operadora ${HOSTILE}`,
              tone: 'good',
              state: 'done',
              at: message.receivedAt,
              detail: HOSTILE,
            },
          ],
        } satisfies SimulatedMessage,
      })
    })
    try {
      await page.goto(`${gateway.url}/console/simulator`)
      await page.getByText(`Oi <script>1</script>`).first().click()
      for (const part of ['Resposta da operadora', 'Aviso da operadora', 'Para', 'De']) await shown(`${part} ${SIGN}`)
      await nothingRan('answers of a carrier')
    } finally {
      // An answer that is still being changed is waited for: it may not be given after the route is gone.
      await page.unrouteAll({ behavior: 'wait' })
    }
  })
})
