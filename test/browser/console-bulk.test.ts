import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ownPage } from '../support/gateway/console.js'
import { missingBrowser } from './browser.js'
import { type ConsoleDemo, openDemo } from './console-browser.js'

const title = missingBrowser === null ? 'in Chromium' : `in Chromium: ${missingBrowser}`

/** A file of many sends, as an operator sends it. */
describe.skipIf(missingBrowser !== null)(title, () => {
  let screen: ConsoleDemo
  const setPace = (perMinute: number) =>
    screen.stack.database.pool.query('update account set settings = settings || $2 where id = $1', [
      screen.account,
      JSON.stringify({ 'bulk.perMinute': perMinute }),
    ])

  beforeAll(async () => {
    screen = await openDemo()
  })
  afterAll(() => screen?.close())

  const button = (name: string | RegExp) => screen.page.getByRole('button', { name, exact: typeof name === 'string' })
  const lines = Array.from({ length: 40 }, (_, index) => `Pessoa ${index};pessoa${index}@example.com;;CT-${index}`)
  const file = ['Nome do cliente;E-mail;Celular;Contrato', ...lines, 'Sem arroba;errado;;CT-x', 'Zilda;;(11) 9876;CT-y'].join(
    '\r\n',
  )
  const upload = (name: string, text: string) =>
    screen.page
      .getByLabel('Escolher arquivo')
      .first()
      .setInputFiles({
        name,
        mimeType: 'text/csv',
        buffer: Buffer.from(text, 'latin1'),
      })

  const openList = async (): Promise<void> => {
    await screen.page.goto(`${screen.stack.gateway.url}/console/bulk`)
    await screen.page.getByText('Solte aqui um arquivo').waitFor()
  }

  test('an empty screen teaches, and a file that is none is refused with the reason', async () => {
    const { page, stack, look } = screen
    await page.goto(`${stack.gateway.url}/console/bulk`)
    await page.getByText('Nenhum lote ainda').waitFor()
    await look('bulk-empty')
    await upload('nada.csv', 'Nome;Nome\na;b')
    await page.getByText('aparece mais de uma vez').waitFor()
  })

  test('a file is mapped, checked, sent, paused, resumed and downloaded', async () => {
    const { page, look } = screen
    await setPace(60)
    await upload('cobrança de janeiro.csv', file)
    await page.getByText('Igual em todas as linhas').waitFor()
    await page.getByLabel('Assunto').fill('Contrato {{ Contrato }}')
    await page.getByLabel('Conteúdo', { exact: true }).fill('Olá {{ Nome do cliente }}, o contrato {{ Contrato }} venceu.')
    await page.getByLabel('A coluna Nome do cliente preenche').selectOption('nameTo')
    await button('Conferir as linhas').click()
    await page.getByText('40', { exact: true }).first().waitFor()
    await page.getByRole('cell', { name: /não é um endereço de e-mail válido/ }).waitFor()
    await page.getByRole('cell', { name: 'Celular' }).waitFor()
    await look('bulk-checked')
    await button('Enviar 40 linhas').click()
    await button('Enviar').click()
    await page.getByText(/por minuto/).waitFor()
    await look('bulk-sending')
    await button('Pausar').click()
    await button('Retomar').waitFor()
    await setPace(1_000_000)
    await button('Retomar').click()
    await page.getByText('40 de 40 linhas aceitas').waitFor()
    const waiting = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Baixar rejeitadas' }).click()
    expect((await waiting).suggestedFilename()).toMatch(/^rejeitadas-.*\.csv$/)
    await look('bulk-done')
    const { rows } = await screen.stack.database.pool.query(
      "select subject, content from notification where account_id = $1 and recipient_name = 'Pessoa 7'",
      [screen.account],
    )
    expect(rows).toEqual([{ subject: 'Contrato CT-7', content: '<p>Olá Pessoa 7, o contrato CT-7 venceu.</p>' }])
    const { rows: acts } = await screen.stack.database.pool.query(
      "select action from audit where action like '% batch' order by id",
    )
    expect(acts.map(({ action }) => action)).toEqual([
      'upload batch',
      'check batch',
      'start batch',
      'pause batch',
      'resume batch',
    ])
    await page.getByRole('link', { name: 'Todos os lotes' }).click()
    await page.getByRole('link', { name: /cobrança de janeiro/ }).waitFor()
    await look('bulk-list')
    expect(screen.problems(400)).toEqual([])
  })

  test('a second check keeps the columns and the plain text that the screen shows', async () => {
    const { page } = screen
    const stored = async () => {
      const { rows } = await screen.stack.database.pool.query(
        "select mapping, base from bulk_batch where name = 'segunda.csv' and state = 'checked'",
      )
      return rows[0]
    }
    await openList()
    await upload('segunda.csv', 'Nome;Apelido;E-mail;Celular\nAna Maria;Aninha;ana.m@example.com;11987654321\n')
    await page.getByText('Igual em todas as linhas').waitFor()
    await page.getByLabel('A coluna Nome preenche').selectOption('')
    await page.getByLabel('A coluna Apelido preenche').selectOption('nameTo')
    await page.getByLabel('Enviar por SMS').uncheck()
    await page.getByLabel('Assunto').fill('Aviso')
    const text = 'Olá,\nsaldo < 10 & vencido.\n\nAtenciosamente'
    await page.getByLabel('Conteúdo', { exact: true }).fill(text)
    await button('Conferir as linhas').click()
    await button('Enviar 1 linha').waitFor()
    const mapping = { Nome: [], Apelido: ['nameTo'], 'E-mail': ['to'], Celular: [] }
    expect((await stored()).mapping).toEqual(mapping)
    const { content } = (await stored()).base
    expect(content).toBe('<p>Olá,<br>saldo &lt; 10 &amp; vencido.</p>\n<p>Atenciosamente</p>')
    expect(await page.getByLabel('Conteúdo', { exact: true }).inputValue()).toBe(text)

    await page.getByLabel('Assunto').fill('Segundo aviso')
    await button('Conferir de novo').click()
    await expect.poll(async () => (await stored())?.base.subject).toBe('Segundo aviso')
    expect(await stored()).toEqual({ mapping, base: { subject: 'Segundo aviso', content } })

    await page.reload()
    await button('Enviar 1 linha').waitFor()
    expect(await page.getByLabel('Conteúdo', { exact: true }).inputValue()).toBe(text)
    // A channel that is chosen later gets its columns by their names, and no other column changes.
    await page.getByLabel('Enviar por SMS').check()
    expect(await page.getByLabel('A coluna Celular preenche').inputValue()).toBe('sms.number')
    await button('Conferir de novo').click()
    await expect.poll(async () => (await stored())?.mapping).toEqual({ ...mapping, Celular: ['sms.number'] })
  })

  test('a message is sent as it was checked: one that was edited, or that somebody else checked, is not sent unseen', async () => {
    const { page, look } = screen
    await openList()
    await upload('editada.csv', 'Nome;E-mail\nAna;ana.e@example.com\nBia;bia.e@example.com\n')
    await page.getByText('Igual em todas as linhas').waitFor()
    await page.getByLabel('Assunto').fill('Aviso')
    await page.getByLabel('Conteúdo', { exact: true }).fill('Olá')
    await button('Conferir as linhas').click()
    await button('Enviar 2 linhas').waitFor()
    await page.getByLabel('Assunto').fill('Outro aviso')
    await page.getByText('Confira de novo antes de enviar').waitFor()
    expect(await button('Enviar 2 linhas').isDisabled()).toBe(true)
    await look('bulk-edited')
    await page.getByLabel('Assunto').fill('Aviso')
    await button('Enviar 2 linhas').click()

    const id = new URL(page.url()).searchParams.get('id')!
    const path = `/console/api/bulk/${id}/check`
    const body = { mapping: { Nome: ['nameTo'], 'E-mail': ['to'] }, base: { subject: 'De outra pessoa', content: '<p>Oi</p>' } }
    const answer = await page.request.post(`${screen.stack.gateway.url}${path}`, {
      headers: ownPage(screen.stack.gateway.url),
      data: { ...body, channels: ['email'] },
    })
    expect(answer.status()).toBe(200)
    const stateOf = async () =>
      (await screen.stack.database.pool.query('select state from bulk_batch where id = $1', [id])).rows[0].state
    await expect.poll(stateOf).toBe('checked')
    await button('Enviar').click()
    await page.getByText('O lote foi conferido de novo').waitFor()
    await expect.poll(() => page.getByLabel('Assunto').inputValue()).toBe('De outra pessoa')
    expect(await stateOf()).toBe('checked')
    await look('bulk-rechecked')
    expect(screen.problems(400, 409)).toEqual([])
  })

  test('a channel that is not chosen is not used, whatever columns the file has', async () => {
    const { page } = screen
    await openList()
    await upload('celulares.csv', 'Nome;E-mail;Celular\nAna;ana.c@example.com;11987654321\n')
    await page.getByText('Igual em todas as linhas').waitFor()
    await page.getByLabel('Enviar por SMS').uncheck()
    await page.getByLabel('Assunto').fill('Aviso')
    await page.getByLabel('Conteúdo', { exact: true }).fill('Olá')
    await button('Conferir as linhas').click()
    await button('Enviar 1 linha').click()
    await button('Enviar').click()
    await page.getByText('1 de 1 linha aceita').waitFor()
    const { rows } = await screen.stack.database.pool.query(
      "select channel from delivery where notification_id = (select notification_id from delivery where recipient = 'ana.c@example.com')",
    )
    expect(rows).toEqual([{ channel: 'email' }])
  })
})
