import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { recordChanges } from '../../src/engine/record/record.js'
import { updateSequence } from '../../src/store/accounts/accounts.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { createAccount, type Gateway, startGateway, type TestAccount } from '../support/gateway/gateway.js'
import { refused, ScriptedCarrier, startTestWorker, type TestLane } from '../support/gateway/lanes.js'
import { request, send, validSend } from '../support/gateway/requests.js'
import { missingBrowser } from './browser.js'
import { type ConsoleBrowser, openConsole } from './console-browser.js'

/** One notification in the console: five lanes, its decisions, its content and its proofs. */
const title = missingBrowser === null ? 'in Chromium' : `in Chromium: ${missingBrowser}`
const number = '11987654321'
const HOSTILE = '<img src=x onerror="document.title=1">'

describe.skipIf(missingBrowser !== null)(title, () => {
  let database: TestDatabase
  let gateway: Gateway
  let account: TestAccount
  let console: ConsoleBrowser
  let id: string

  beforeAll(async () => {
    database = await createDatabase()
    gateway = await startGateway(database.pool, {}, { console: { everyMs: 50 } })
    account = await createAccount(database.pool, { name: 'Cobranças do Vale' })
    await updateSequence(database.pool, account.id, [
      { channel: 'email', waitMinutes: 0, condition: 'always' },
      { channel: 'sms', waitMinutes: 60, condition: 'not read' },
      { channel: 'whatsapp', waitMinutes: 120, condition: 'not confirmed' },
      { channel: 'voice', waitMinutes: 180, condition: 'not confirmed' },
      { channel: 'letter', waitMinutes: 240, condition: 'not confirmed' },
    ])
    const body = {
      ...validSend,
      subject: `Notificação extrajudicial sobre o contrato de fornecimento número 000.123-45 ${HOSTILE}`,
      content: `<h2>Aviso</h2><p>Seu contrato vence em 30 dias.</p><script>document.title = 'tomada'</script>${HOSTILE}`,
      ...{ sms: { number, text: 'Seu contrato vence em 30 dias.' }, whatsapp: { number }, voz: { number }, carta: {} },
    }
    id = await accept(body)
    const dead = new ScriptedCarrier(() => Promise.reject(refused('temporary')))
    await work({ carrier: dead, options: { retryDelaysMs: [10] } }, 'email', 'Falha no envio')
    console = await openConsole(database.pool, gateway.url)
  })

  afterAll(async () => {
    await console?.close()
    await gateway?.close()
    await database?.drop()
  })

  const accept = async (body: object): Promise<string> =>
    ((await send(gateway.url, account.token, { ...validSend, ...body })).body as { idEmail: string }).idEmail

  /** Until the API says that the channel is there. */
  async function work(lane: TestLane, channel: string, label: string, about = id): Promise<void> {
    const worker = startTestWorker(database.pool, [lane])
    const described = async (): Promise<string> =>
      ((await request(`${gateway.url}/gw/${channel}/${about}`, { token: account.token })).body as { description: string })
        .description
    while ((await described()) !== label) await new Promise(resolve => setTimeout(resolve, 20))
    await worker.stop()
  }

  const card = (channel: RegExp) =>
    console.page.getByRole('region', { name: 'Situação por canal' }).getByRole('listitem').filter({ hasText: channel })
  async function decide(button: string): Promise<void> {
    await console.page.getByRole('dialog').getByRole('button', { name: button, exact: true }).click()
    await console.page.getByRole('dialog').waitFor({ state: 'detached' })
  }

  test('five lanes on one timeline, each attempt with the carrier’s raw answer', async () => {
    const { page, look } = console
    await page.goto(`${gateway.url}/console/notifications/${id}`)
    await page.getByRole('heading', { name: /Notificação extrajudicial/ }).waitFor()
    expect(await card(/./).count()).toBe(5)
    await card(/^e-mail/i)
      .getByText('Motivo: temporary')
      .waitFor()
    const timeline = page.getByRole('list', { name: /Linha do tempo/ })
    expect(await timeline.getByText('answer temporary').count()).toBeGreaterThan(1)
    await timeline.getByText('Detalhes').nth(1).click()
    await timeline.getByText('Hash do evento').nth(1).waitFor()
    await look('notification', () => card(/^e-mail/i).waitFor())
  })

  test('what gave up is sent again, and the outcome that nobody knows is settled', async () => {
    const { page } = console
    await card(/^e-mail/i)
      .getByRole('button', { name: 'Enviar de novo' })
      .click()
    await decide('Enviar de novo')
    const lost = new ScriptedCarrier(() => Promise.reject(refused('uncertain')))
    await work({ carrier: lost, whenUnknown: 'never' }, 'email', 'Em verificação')
    await card(/^e-mail/i)
      .getByText('Em verificação')
      .waitFor()
    await card(/^e-mail/i)
      .getByRole('button', { name: 'Foi enviada', exact: true })
      .click()
    await page.getByText('Só depois de conferir com a operadora').waitFor()
    await decide('Foi enviada')
    await card(/^e-mail/i)
      .getByText('Enviado', { exact: true })
      .waitFor()
    // What was unknown is settled.
    await card(/^e-mail/i)
      .getByText(/precisa conferir/)
      .waitFor({ state: 'detached' })
  })

  test('a step goes at once or never, replies appear by themselves as text, and finalize ends the rest', async () => {
    const { page, look } = console
    // The e-mail had failed, so that the SMS did not wait any more.
    const carrier = new ScriptedCarrier()
    carrier.contentOf = () => ({ type: 'text/plain', extension: 'txt', bytes: Buffer.from('Seu contrato vence em 30 dias.') })
    await work({ channel: 'sms', carrier }, 'sms', 'Enviado')
    const next = (channel: RegExp) =>
      page.getByRole('list', { name: 'O que vem a seguir' }).getByRole('listitem').filter({ hasText: channel })
    await next(/^WhatsApp .*se o recebimento pelos canais anteriores não for confirmado/)
      .getByRole('button', { name: 'Enviar agora' })
      .click()
    await decide('Enviar agora')
    await work({ channel: 'whatsapp', carrier: new ScriptedCarrier() }, 'whatsapp', 'Enviado')
    await card(/^WhatsApp/)
      .getByText('Enviado', { exact: true })
      .waitFor()
    await next(/^carta/i)
      .getByRole('button', { name: 'Cancelar etapa' })
      .click()
    await decide('Cancelar etapa')
    await card(/^carta/i)
      .getByText('Finalizado', { exact: true })
      .waitFor()
    const fact = {
      channel: 'sms',
      type: 'answered',
      at: new Date(),
      source: 'smpp',
      data: { answer: `Pago hoje ${HOSTILE}` },
    } as const
    await recordChanges(database.pool, Date.now, [{ kind: 'fact', notification: id, fact }])
    await page.getByText(`Pago hoje ${HOSTILE}`).first().waitFor()
    await page.getByRole('button', { name: 'Finalizar' }).click()
    await decide('Finalizar')
    await page.getByText('Nada mais está marcado').waitFor()
    await look('notification-answered', () => page.getByText('Nada mais está marcado').waitFor())
    expect(await page.title()).toMatch(/^Notificação extrajudicial/)
  })

  test('operations: the queue leads to the dead letter, which is tried again, and to the unknown outcome, which is settled', async () => {
    const { page, look } = console
    const nameTo = 'Maria Aparecida do Nascimento Albuquerque Cavalcanti de Vasconcellos e Silva Neta'
    const given = await accept({ to: 'parada@example.com', nameTo })
    const dead = new ScriptedCarrier(() => Promise.reject(refused('temporary')))
    await work({ carrier: dead, options: { retryDelaysMs: [10] } }, 'email', 'Falha no envio', given)
    const lost = await accept({ to: 'sem-resposta@example.com', nameTo: 'João' })
    const silent = new ScriptedCarrier(() => Promise.reject(refused('uncertain')))
    const worker = startTestWorker(database.pool, [{ carrier: silent, whenUnknown: 'never' }])
    const stateOf = async (about: string): Promise<string> =>
      (await database.pool.query('select state from delivery where notification_id = $1', [about])).rows[0].state
    await expect.poll(() => stateOf(lost)).toBe('unresolved')
    await worker.stop()
    await page.goto(`${gateway.url}/console/operations`)
    await page.getByRole('row', { name: /Desistências/ }).waitFor()
    await look('operations-queue', () => page.getByRole('row', { name: /Desistências/ }).waitFor())
    await page
      .getByRole('link', { name: /e-mail/i })
      .first()
      .waitFor()
    await page.getByRole('tab', { name: 'Desistências' }).click()
    await page
      .getByRole('row', { name: /Maria Aparecida/ })
      .getByText('Motivo: temporary')
      .last()
      .waitFor()
    const gaveUp = page.getByRole('row', { name: /Maria Aparecida/ })
    await look('operations-dead', () => gaveUp.waitFor())
    await gaveUp.getByRole('button', { name: 'Tentar de novo' }).click()
    await gaveUp.waitFor({ state: 'detached' })
    await page.getByRole('tab', { name: 'Em verificação' }).click()
    await look('operations-unknown', () => page.getByRole('row', { name: /João/ }).waitFor())
    await page.getByRole('row', { name: /João/ }).getByRole('button').click()
    await look('operations-settle', () => page.getByRole('dialog').waitFor())
    await decide('Foi enviado')
    await page.getByRole('row', { name: /João/ }).waitFor({ state: 'detached' })
    await work({ carrier: new ScriptedCarrier() }, 'email', 'Enviado', given)
    const status = await request(`${gateway.url}/gw/email/${lost}`, { token: account.token })
    expect(status.body).toMatchObject({ description: 'Enviado' })
    const { rows } = await database.pool.query(
      "select action from audit where action like 'delivery %' and subject = any($1) order by id",
      [[given, lost]],
    )
    expect(rows.map(({ action }) => action)).toEqual(['delivery retry', 'delivery sent'])
    await page.goto(`${gateway.url}/console/operations?tab=suppressions`)
    await look('operations-suppressions', () => page.getByRole('heading', { name: 'Operação' }).waitFor())
    await page.goto(`${gateway.url}/console/operations?tab=evidence`)
    await look('operations-evidence', () => page.getByRole('heading', { name: 'Operação' }).waitFor())
  })

  test('the content is in a frame of a phone or a computer, without scripts; what left is beside it', async () => {
    const { page, look } = console
    await page.goto(`${gateway.url}/console/notifications/${id}`)
    await page.getByRole('tab', { name: 'Conteúdo' }).click()
    const frame = page.frameLocator('iframe[title="Conteúdo da notificação"]')
    await frame.getByText('Seu contrato vence em 30 dias.').waitFor()
    await page.getByRole('button', { name: 'Computador' }).click()
    await frame.getByText('Seu contrato vence em 30 dias.').waitFor()
    expect(await page.title()).not.toBe('tomada')
    await page.getByRole('button', { name: 'Celular' }).click()
    await look('notification-content', () => page.getByText('Como saiu por cada canal').waitFor())
  })

  test('proof, report and bundle are verified and downloaded; the status is the API’s', async () => {
    const { page, look, problems } = console
    await page.getByRole('tab', { name: 'Provas' }).click()
    await expect.poll(() => page.getByText('Confere', { exact: true }).count()).toBe(3)
    await page.getByText('O que foi conferido').last().click()
    await page.getByText('Cadeia de eventos').last().waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page
        .getByRole('link', { name: /^Baixar/ })
        .last()
        .click(),
    ])
    expect(download.suggestedFilename()).toBe(`evidencia-${id}.zip`)
    await look('notification-proof', () => page.getByText('Confere', { exact: true }).first().waitFor())
    await page.getByRole('tab', { name: 'JSON' }).click()
    await page.getByText('"codEmail"').waitFor()
    expect(new URL(page.url()).searchParams.get('tab')).toBe('json')
    await page.goto(`${gateway.url}/console/notifications/${account.id}`)
    await page.getByText('Notificação não encontrada').waitFor()
    expect(problems(404)).toEqual([])
  })
})
