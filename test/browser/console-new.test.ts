import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { missingBrowser } from './browser.js'
import { type ConsoleDemo, openDemo } from './console-browser.js'

const title = missingBrowser === null ? 'in Chromium' : `in Chromium: ${missingBrowser}`

describe.skipIf(missingBrowser !== null)(title, () => {
  let screen: ConsoleDemo
  beforeAll(async () => {
    screen = await openDemo()
  })
  afterAll(() => screen?.close())

  test('a notification is written, seen on five channels as it arrives, refused at the field, and sent', async () => {
    const { page, stack, look, problems } = screen
    // Chromium of a server has no voices: what would be said is kept.
    await page.addInitScript(
      'globalThis.said = []; Object.defineProperty(speechSynthesis, "speak", { value: spoken => said.push([spoken.lang, spoken.text]) })',
    )
    await page.goto(`${stack.gateway.url}/console/new`)
    await page.getByText('Preencha o destinatário').waitFor()
    await page.getByLabel('Nome do destinatário').fill('Maria da Silva')
    await page.getByLabel('Assunto').fill('Aviso de vencimento')
    await page.getByLabel('Conteúdo').fill('Olá, Maria.\n\nO seu contrato <4711> vence hoje.')
    await page.getByLabel('E-mail', { exact: true }).fill('lido@simulador.test')
    const mail = page.frameLocator('iframe[title="O e-mail como chega"]').frameLocator('iframe')
    await mail.getByText('O seu contrato <4711> vence hoje.', { exact: true }).waitFor()
    // With the styles of the e-mail, which the policy of the console itself would refuse.
    await expect.poll(() => colorOf(mail.getByText('Abrir a notificação', { exact: true }))).toBe('rgb(255, 255, 255)')
    const name = 'contrato de fornecimento com um nome de arquivo muito comprido que não cabe em um telefone celular 4711.txt'
    await page.getByLabel('Anexar arquivos').setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from('contrato') })
    await page.getByRole('list', { name: 'Anexos' }).getByText('contrato de fornecimento').waitFor()
    await page.getByLabel('Enviar por SMS').check()
    const sms = page.getByRole('region', { name: 'SMS' })
    await sms.getByLabel('Celular').fill('11987654321')
    await sms.getByLabel(/^Texto/).fill('Maria da Silva, há um aviso ☎ urgente e importante para você: {SHORT_LINK}')
    await page.getByText(/2 partes/).waitFor()
    await page.getByText(/alfabeto Unicode/).waitFor()
    await sms.getByLabel(/^Texto/).fill('Maria, há um aviso para você: {SHORT_LINK}')
    await page.getByText(/1 parte/).waitFor()
    await page.getByLabel('Enviar por WhatsApp').check()
    const whatsapp = page.getByRole('region', { name: 'WhatsApp' })
    await whatsapp.getByLabel('Celular com WhatsApp').fill('11987654321')
    await choose(whatsapp)
    await page.getByLabel('Enviar por ligação').check()
    const voice = page.getByRole('region', { name: 'ligação' })
    await voice.getByLabel('Telefone').fill('11987654321')
    await choose(voice)
    await page.getByRole('button', { name: 'Ouvir' }).click()
    const said = (await page.evaluate('said')) as [string, string][]
    expect(said).toEqual([['pt-BR', expect.stringMatching(/^Olá\. Esta é uma ligação de /)]])
    await page.getByLabel('Enviar por carta').check()
    const letter = page.getByRole('region', { name: 'carta' })
    const address = { CEP: '01310-100', Rua: 'Avenida Paulista', Número: '1000', Cidade: 'São Paulo', UF: 'SP' }
    for (const [label, value] of Object.entries(address)) await letter.getByLabel(label, { exact: true }).fill(value)
    await page.getByText('Carta de 1 página').waitFor()
    expect(await letter.getByText('só envia templates').count()).toBe(0)
    await expect.poll(() => page.getByTitle('A carta como é impressa').getAttribute('src')).toMatch(/^blob:.*view=FitH$/)
    await look('new')
    // The gateway's refusal stands at the field that it names.
    await sms.getByLabel('Celular').fill('(11) 98765')
    await page.getByRole('button', { name: 'Enviar', exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Enviar', exact: true }).click()
    await sms.getByRole('alert').filter({ hasText: 'sms.number' }).waitFor()
    expect(await sms.getByLabel('Celular').getAttribute('aria-invalid')).toBe('true')
    await sms.getByLabel('Celular').fill('11987654321')
    await page.getByLabel('Enviar em').fill('2099-12-01T09:00')
    await page.getByRole('button', { name: 'Enviar', exact: true }).click()
    await page.getByRole('dialog', { name: 'Agendar este envio?' }).getByRole('button', { name: 'Enviar', exact: true }).click()
    await page
      .getByText(/^Sai em 01\/12.09:00$/)
      .first()
      .waitFor()
    await look('new-send-at', () => page.getByRole('alert').filter({ hasText: 'sendAt' }).waitFor())
    await page.getByLabel('Enviar em').fill('')
    await page.getByRole('button', { name: 'Enviar', exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Enviar', exact: true }).click()
    await expect.poll(() => new URL(page.url()).pathname).toMatch(/\/console\/notifications\/[0-9a-f-]{36}$/)
    const id = new URL(page.url()).pathname.split('/').at(-1)
    const { rows } = await stack.database.pool.query(
      'select array_agg(channel order by channel) as channels from delivery where notification_id = $1',
      [id],
    )
    expect(rows[0].channels).toHaveLength(5)
    // The simulated recipient opens the e-mail: the page says so by itself.
    const lanes = page.getByRole('region', { name: 'Situação por canal' }).getByRole('listitem')
    await lanes
      .filter({ hasText: /^e-mail/i })
      .getByText('Lido', { exact: true })
      .waitFor()
    await page.getByRole('tab', { name: 'Conteúdo' }).click()
    await page.getByText(name).first().waitFor()
    expect(problems(400)).toEqual([])
  })

  test('after a lost answer and a change, the screen leads to the accepted notification, or sends the changed one too', async () => {
    const { page, stack, look } = screen
    const press = async (): Promise<void> => {
      await page.getByRole('button', { name: 'Enviar', exact: true }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Enviar', exact: true }).click()
    }
    await page.goto(`${stack.gateway.url}/console/new`)
    await page.getByLabel('Nome do destinatário').fill('Ana')
    await page.getByLabel('Assunto').fill('Resposta perdida')
    await page.getByLabel('Conteúdo').fill('Olá')
    await page.getByLabel('E-mail', { exact: true }).fill('ana.perdida@example.com')
    await page.route(
      '**/console/api/compose/send?*',
      async route => {
        await route.fetch()
        await route.abort()
      },
      { times: 1 },
    )
    await press()
    await page.getByRole('alert').getByText('O servidor não respondeu').waitFor()
    await page.getByLabel('Assunto').fill('Outro assunto')
    await press()
    await page.getByText('O primeiro envio foi aceito').waitFor()
    await look('new-first-accepted')
    const sent = async () =>
      (
        await stack.database.pool.query(
          "select n.id, n.subject from notification n join delivery d on d.notification_id = n.id where d.recipient = 'ana.perdida@example.com' order by n.id",
        )
      ).rows
    const [first, ...others] = await sent()
    expect([first.subject, others]).toEqual(['Resposta perdida', []])
    const link = await page.getByRole('link', { name: 'Abrir o primeiro envio' }).getAttribute('href')
    expect(link).toBe(`/console/notifications/${first.id}`)
    await page.getByRole('button', { name: 'Enviar este também' }).click()
    await expect.poll(() => new URL(page.url()).pathname).toMatch(/\/console\/notifications\/[0-9a-f-]{36}$/)
    expect((await sent()).map(({ subject }) => subject)).toEqual(['Resposta perdida', 'Outro assunto'])
  })
})

const colorOf = (element: import('playwright-core').Locator): Promise<string> =>
  element.evaluate(
    shown => (globalThis as unknown as { getComputedStyle(of: unknown): { color: string } }).getComputedStyle(shown).color,
  )

/** The first template, with a value for each of its variables. */
async function choose(region: import('playwright-core').Locator): Promise<void> {
  await region.getByLabel('Template').selectOption({ index: 1 })
  for (const name of ['nome', 'contrato', 'data', 'vencimento']) {
    const field = region.getByLabel(name, { exact: true })
    if ((await field.count()) > 0) await field.fill(`valor de ${name}`)
  }
}
