import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { recordChanges } from '../../src/engine/record/record.js'
import { consoleClient } from '../support/gateway/console.js'
import { createAccount, type TestAccount } from '../support/gateway/gateway.js'
import { send, validSend } from '../support/gateway/requests.js'
import { type Stack, startStack } from '../support/gateway/stack.js'
import { missingBrowser } from './browser.js'
import { type ConsoleBrowser, openConsole } from './console-browser.js'

/** The screen of access, and what attackers write where operators read it. */
const title = missingBrowser === null ? 'in Chromium' : `in Chromium: ${missingBrowser}`

const LONG_ADDRESS = 'beatriz.aparecida.do.nascimento.albuquerque@departamento-de-cobrancas.example.com'

describe.skipIf(missingBrowser !== null)(title, () => {
  let stack: Stack
  let console: Awaited<ReturnType<typeof openConsole>>
  let page: Page
  let look: ConsoleBrowser['look']
  let account: TestAccount

  beforeAll(async () => {
    stack = await startStack()
    const { gateway, database } = stack
    account = await createAccount(database.pool, { name: 'Aurora Cobranças', ranges: [] })
    await createAccount(database.pool, { name: 'Outra empresa de nome comprido Ltda.' })
    await consoleClient(database.pool, gateway.url, { email: LONG_ADDRESS, role: 'sender', account: account.id })
    console = await openConsole(database.pool, gateway.url)
    ;({ page, look } = console)
    await console.context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: gateway.url })
  })

  afterAll(async () => {
    await console?.close()
    await stack?.close()
  })

  const open = (tab: string): Promise<unknown> =>
    page.goto(`${stack.gateway.url}/console/access?account=${account.id}&tab=${tab}`)

  test('a token is issued, shown once, and the very next call after its revocation is 401', async () => {
    const { url } = stack.gateway
    await open('tokens')
    await page.getByRole('button', { name: 'Emitir token' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Emitir token' }).click()
    const token = (await page.getByRole('dialog', { name: 'Token emitido' }).locator('output').textContent())!
    expect((await send(url, token, validSend)).status).toBe(200)
    await look('access-token', () => page.getByRole('dialog', { name: 'Token emitido' }).waitFor())
    await page.getByRole('button', { name: 'Já copiei' }).click()
    expect(await page.content()).not.toContain(token)
    await look('access-tokens', () => page.getByRole('row', { name: /Teste/ }).waitFor())
    await page.getByRole('row', { name: /Teste/ }).getByRole('button', { name: 'Revogar' }).click()
    await page.getByRole('dialog', { name: 'Revogar este token?' }).getByRole('button', { name: 'Revogar' }).click()
    await page.getByRole('row', { name: /Revogado/ }).waitFor()
    expect((await send(url, token, validSend)).status).toBe(401)
  })

  test('the address of now is shown and registered with one click', async () => {
    await open('addresses')
    await page.getByText('Nenhum endereço registrado').waitFor()
    await page.getByRole('button', { name: 'Registrar o meu' }).click()
    await page.getByRole('row', { name: '127.0.0.1/32' }).waitFor()
    await page.getByLabel('IP ou faixa CIDR').fill('127.1')
    await page.getByRole('button', { name: 'Registrar', exact: true }).click()
    await page.getByText('não é um IP nem uma faixa CIDR').waitFor()
    await look('access-addresses', () => page.getByRole('row', { name: '127.0.0.1/32' }).waitFor())
  })

  test('identity and brand are seen on page, e-mail and letter before they are saved', async () => {
    await open('account')
    const frame = page.frameLocator('iframe')
    await frame.getByText('Aurora Cobranças').first().waitFor()
    await page.getByLabel('Nome mostrado').fill('Aurora <img src=x onerror=alert(1)>')
    await frame.getByText('Aurora <img src=x onerror=alert(1)>').first().waitFor()
    await page.getByLabel('Cor', { exact: true }).fill('#ffcc00')
    await page.getByText('contraste 1,5').waitFor()
    await page.getByLabel('Cor', { exact: true }).fill('#7a1f5c')
    await page.getByRole('button', { name: 'E-mail', exact: true }).click()
    await frame.getByText('Notificação para você').waitFor()
    await page.getByLabel('Nome mostrado').fill('Aurora Cobranças e Serviços Extrajudiciais do Brasil')
    await frame.getByText('Aurora Cobranças e Serviços').first().waitFor()
    await look('access-account', () => frame.getByText('Aurora Cobranças e Serviços').first().waitFor())
    await page.getByRole('button', { name: 'Salvar' }).first().click()
    await page.getByText('Salvo.', { exact: true }).waitFor()
    await page.getByLabel('Pergunta antes de ler').check()
    await page.getByLabel('Acentos do SMS').selectOption({ label: 'Manter' })
    await page.getByRole('button', { name: 'Salvar' }).last().click()
    type Details = { settings: { name: string; value: string }[] }
    await expect
      .poll(async () => ((await console.client.get(`/accounts/${account.id}`)).body as Details).settings)
      .toEqual(
        expect.arrayContaining([
          expect.objectContaining({ name: 'validation', value: 'true' }),
          expect.objectContaining({ name: 'sms.accents', value: 'keep' }),
        ]),
      )
    const letter = page.waitForResponse(response => response.url().includes('/samples/carta'))
    await page.getByRole('button', { name: 'Carta', exact: true }).click()
    expect((await letter).headers()['content-type']).toBe('application/pdf')
  })

  test('operators are invited, and end or lose their access; the log shows each act and that its chain is whole', async () => {
    await open('operators')
    await page.getByRole('button', { name: 'Convidar' }).click()
    await page.getByLabel('E-mail').fill('carla@example.com')
    await page.getByLabel('Papel').selectOption('auditor')
    await page.getByRole('button', { name: 'Criar link' }).click()
    await page.getByRole('dialog', { name: 'Convite criado' }).getByText('/console/invitation#').waitFor()
    await page.getByRole('button', { name: 'Já copiei' }).click()
    await page.getByRole('row', { name: /carla@example.com/ }).waitFor()
    const bia = page.getByRole('row', { name: /^Ana Lima beatriz/ })
    await bia.getByRole('button', { name: /Ações de/ }).click()
    await page.getByRole('menuitem', { name: 'Desativar' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Desativar' }).click()
    await bia.getByText('Desativado').last().waitFor()
    await look('access-operators', () => page.getByRole('row', { name: /carla@example.com/ }).waitFor())
    await page.getByRole('tab', { name: 'Registro de ações' }).click()
    await page.getByText(/Cadeia íntegra: \d+ ações conferidas/).waitFor()
    await page.getByRole('row', { name: /Operador desativado/ }).waitFor()
    await look('access-audit', () => page.getByRole('row', { name: /Operador desativado/ }).waitFor())
  })

  test('what recipients, senders and carriers write is text on the overview and in the lists, never markup', async () => {
    const { gateway, database } = stack
    const attack = '<img src=x onerror="document.title=1;alert(1)"><script>alert(2)</script>{{constructor}}javascript:alert(3)'
    const { token } = await createAccount(database.pool, { name: `<b onmouseover=alert(4)>${Date.now()}</b>` })
    const body = {
      ...validSend,
      to: 'alvo@simulador.test',
      nameTo: attack,
      subject: `${attack} assunto`,
      customID: '"><svg onload=alert(5)>',
    }
    const sent = await send(gateway.url, token, body)
    expect(sent.status).toBe(200)
    const { idEmail: notification } = sent.body as { idEmail: string }
    const data = { failure: 'rejected', answer: `550 ${attack}` } as const
    const fact = { channel: 'email', type: 'failed', at: new Date(), source: 'test', data } as const
    await recordChanges(database.pool, Date.now, [{ kind: 'fact', notification, fact }])
    for (const path of ['', '/notifications', `/notifications/${notification}`, '/access?tab=audit', '/access?tab=account']) {
      await page.goto(`${gateway.url}/console${path}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      if (path.startsWith('/notifications')) await page.getByText('<img src=x onerror', { exact: false }).first().waitFor()
      expect(await page.locator('main img[src="x"], main script, main svg[onload], main [onmouseover]').count(), path).toBe(0)
    }
    expect(await page.title()).not.toBe('1')
    // The browser itself notes the address and the colour that were refused.
    expect(console.problems(400)).toEqual([])
  })
})
