import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { send, validSend } from '../support/gateway/requests.js'
import { missingBrowser } from './browser.js'
import { type ConsoleDemo, openDemo } from './console-browser.js'

const title = missingBrowser === null ? 'in Chromium' : `in Chromium: ${missingBrowser}`

describe.skipIf(missingBrowser !== null)(title, () => {
  let screen: ConsoleDemo
  beforeAll(async () => {
    screen = await openDemo()
  })
  afterAll(() => screen?.close())

  test('the sequence is a picture one edits, its simulation follows, and the next send honours it', async () => {
    const { page, stack, token, account, look, api, problems } = screen
    await api('/gw/sequence', 'PUT', { etapas: [] })
    await page.goto(`${stack.gateway.url}/console/sequence`)
    await page.getByText('Sem régua: todos os canais saem juntos').waitFor()
    const add = page.getByLabel('Acrescentar etapa')
    await add.selectOption('whatsapp')
    await add.selectOption('email')
    await add.selectOption('voz')
    await page.getByRole('button', { name: 'Subir e-mail' }).click()
    const whatsapp = page.getByRole('region', { name: /^Etapa 2: WhatsApp/ })
    await whatsapp.getByLabel('Esperar').fill('2')
    await whatsapp.getByLabel('Unidade').selectOption({ label: 'dias' })
    await whatsapp.getByLabel('Só se').selectOption({ label: 'ninguém leu até lá' })
    // What is on the screen is simulated before it is saved.
    const story = page.getByRole('list', { name: 'O que aconteceria' })
    await page.getByLabel('O que acontece com e-mail').selectOption({ label: 'é lido' })
    await story.getByText(/WhatsApp não enviado: e-mail lido às/i).waitFor()
    await look('sequence')
    await page.getByLabel('O que acontece com e-mail').selectOption({ label: 'falha' })
    await story.getByText(/WhatsApp liberado: e-mail falhou/i).waitFor()
    await page.getByRole('button', { name: 'Salvar régua' }).click()
    await page.getByText('Régua salva').first().waitFor()
    expect((await api('/gw/sequence')).body).toMatchObject({
      data: {
        etapas: [
          { canal: 'email', condicao: 'nao_entregue' },
          { canal: 'whatsapp', esperaMinutos: 2880, condicao: 'nao_lido' },
          { canal: 'voz', esperaMinutos: 60 },
        ],
      },
    })
    const body = { ...validSend, whatsapp: { number: '11987654321', variables: { template: 'aviso' } } }
    const { idEmail } = (await send(stack.gateway.url, token, body)).body as { idEmail: string }
    const coming = async () =>
      ((await api(`/gw/sequence/${idEmail}`)).body as { data: { canal: string; condicao: string }[] }).data
    // The e-mail is coming until it has left.
    await expect.poll(coming).toMatchObject([{ canal: 'whatsapp', condicao: 'nao_lido' }])
    const { rows } = await stack.database.pool.query("select actor, subject from audit where action = 'set sequence'")
    expect(rows).toEqual([{ actor: 'operator:ana@example.com', subject: account }])
    expect(problems()).toEqual([])
  })

  test('who comes back sees the sequence that a colleague saved meanwhile, and not the old one as a change', async () => {
    const { page, stack, api } = screen
    const step = { canal: 'email', esperaMinutos: 0, condicao: 'sempre' }
    expect((await api('/gw/sequence', 'PUT', { etapas: [step] })).status).toBe(200)
    await page.goto(`${stack.gateway.url}/console/sequence`)
    await page.getByRole('region', { name: /^Etapa 1: e-mail/i }).waitFor()
    await page.getByRole('link', { name: 'Templates' }).first().click()
    await page.getByRole('heading', { name: 'Templates' }).waitFor()
    const other = { ...step, canal: 'sms', esperaMinutos: 60 }
    expect((await api('/gw/sequence', 'PUT', { etapas: [step, other] })).status).toBe(200)
    await page.getByRole('link', { name: 'Régua' }).first().click()
    await page.getByRole('region', { name: /^Etapa 2: SMS/ }).waitFor()
    expect(await page.getByText('Mudanças por salvar').count()).toBe(0)
    expect(await page.getByRole('button', { name: 'Salvar régua' }).isDisabled()).toBe(true)
  })

  test('a person who saves over what a colleague saved meanwhile is told first, and keeps theirs or sees the other', async () => {
    const { page, stack, api, look } = screen
    const saveElsewhere = async (...channels: string[]): Promise<void> => {
      const etapas = channels.map(canal => ({ canal, esperaMinutos: 0, condicao: 'sempre' }))
      expect((await api('/gw/sequence', 'PUT', { etapas })).status).toBe(200)
    }
    const saved = async () =>
      ((await api('/gw/sequence')).body as { data: { etapas: { canal: string }[] } }).data.etapas.map(({ canal }) => canal)
    const save = page.getByRole('button', { name: 'Salvar régua' })
    const add = page.getByLabel('Acrescentar etapa')
    await saveElsewhere('email')
    await page.goto(`${stack.gateway.url}/console/sequence`)
    await page.getByRole('region', { name: /^Etapa 1: e-mail/i }).waitFor()
    await add.selectOption('voz')
    await saveElsewhere('sms')
    await save.click()
    await page.getByText('Nada foi salvo').waitFor()
    await page.getByText('A régua salva agora é a de outra pessoa').waitFor()
    expect(await saved()).toEqual(['sms'])
    await look('sequence-newer')
    await page.getByRole('button', { name: 'Descartar as minhas e ver as dela' }).click()
    await page.getByRole('region', { name: /^Etapa 1: SMS/ }).waitFor()
    await page.getByText('Nada foi salvo').waitFor({ state: 'detached' })
    await add.selectOption('voz')
    await saveElsewhere('whatsapp')
    await save.click()
    await page.getByText('A régua salva agora é a de outra pessoa').waitFor()
    await save.click()
    await expect.poll(saved).toEqual(['sms', 'voz'])
    await page.getByText('A régua salva agora é a de outra pessoa').waitFor({ state: 'detached' })
  })
})
