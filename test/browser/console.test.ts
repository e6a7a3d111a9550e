import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConfig } from '../../src/app/config.js'
import { banner } from '../../src/app/process/banner.js'
import { createDemo, demoToken } from '../../src/app/process/demo.js'
import { firstSend } from '../../src/channels/first-send.js'
import { invitationPath, inviteFirst } from '../../src/engine/console/invitations.js'
import { deferred } from '../support/deferred.js'
import { PASSWORD } from '../support/gateway/console.js'
import { createAccount, testKeys } from '../support/gateway/gateway.js'
import { send, validSend } from '../support/gateway/requests.js'
import { type Stack, startStack } from '../support/gateway/stack.js'
import { missingBrowser, seriousViolations } from './browser.js'
import { type ConsoleBrowser, openBrowser } from './console-browser.js'

/** The console as its first operator meets it: from the link of the start banner to a notification that moves. */
const title = missingBrowser === null ? 'in Chromium' : `in Chromium: ${missingBrowser}`

describe.skipIf(missingBrowser !== null)(title, () => {
  let stack: Stack
  let console: ConsoleBrowser
  let page: Page
  let look: ConsoleBrowser['look']
  let token: string

  beforeAll(async () => {
    stack = await startStack()
    await createDemo(stack.database.pool)
    token = (await demoToken(stack.database.pool, testKeys))!
    console = await openBrowser(stack.gateway.url)
    ;({ page, look } = console)
  })

  afterAll(async () => {
    await console?.close()
    await stack?.close()
  })

  test('the link of the banner leads to the overview: name, e-mail and password are all that it asks for', async () => {
    const { gateway, database } = stack
    const started = { api: gateway.url, simulator: stack.simulator.url, token }
    const first = `${gateway.url}${invitationPath((await inviteFirst(database.pool))!)}`
    const printed = await banner(readConfig({ SIMULATOR: 'on' }), { ...started, link: first })
    await page.goto(/^ {2}(http\S+\/console\/invitation\S+)$/m.exec(printed)![1]!)
    await page.getByLabel('Seu nome').fill('Ana Lima')
    await page.getByLabel('E-mail').fill('Ana@Example.com')
    await page.getByLabel('Senha', { exact: true }).fill('curta')
    await page.getByLabel(/Pedir também um código/).check()
    await page.getByAltText('Código QR para o aplicativo').waitFor()
    await look('invitation', () => page.getByText('Muito fraca').waitFor())
    await page.getByLabel(/Pedir também um código/).uncheck()
    await page.getByLabel('Senha', { exact: true }).fill(PASSWORD)
    await page.getByText('Forte').waitFor()
    await page.getByRole('button', { name: 'Criar acesso e entrar' }).click()
    await page.getByRole('heading', { name: 'Visão geral' }).waitFor()
    await page.getByText('Tudo pronto para o primeiro envio').waitFor()
    expect(await page.getByRole('link', { name: 'Guia', exact: true }).first().getAttribute('href')).toBe('/docs/guia/')
    await look('overview-empty', () => page.getByRole('heading', { name: 'Webhooks' }).waitFor())
  })

  test('what is sent by the API appears by itself, and every number opens its list', async () => {
    const { gateway } = stack
    expect((await send(gateway.url, token, await firstSend(Date.now()))).status).toBe(200)
    const accepted = page.getByRole('link', { name: /^Aceitas/ })
    await expect.poll(() => accepted.textContent()).toMatch(/Aceitas5/)
    await expect.poll(() => page.getByRole('link', { name: /^Entregues/ }).textContent()).toMatch(/Entregues[1-5]/)
    await page
      .getByRole('img', { name: /O que já aconteceu/ })
      .locator('canvas')
      .waitFor()
    await look('overview', () => page.getByRole('img', { name: /O que já aconteceu/ }).waitFor())
    await page.getByRole('button', { name: 'Ver como tabela' }).click()
    await page.getByRole('table', { name: /O que já aconteceu/ }).waitFor()
    await page.getByRole('link', { name: /^Entregues/ }).click()
    await page.getByRole('heading', { name: 'Notificações' }).waitFor()
    expect(new URL(page.url()).searchParams.get('status')).toBe('entregue')
    await page.getByRole('row', { name: /Maria/ }).waitFor()
  })

  test('the list: long names fit, filters are in the address, and a notification that is accepted comes in by itself', async () => {
    const { gateway } = stack
    await page.getByRole('button', { name: 'Limpar filtros' }).click()
    const long = {
      ...validSend,
      to: 'nao-existe@simulador.test',
      nameTo: 'Maria Aparecida do Nascimento Albuquerque Cavalcanti de Vasconcellos e Silva',
      subject: 'NotificaçãoExtrajudicialSobreOContratoNúmero000.000.000-00SemEspaçoAlgum e depois com espaços outra vez',
      customID: 'contrato-2026-000000000000000000000000000000000000000000000001',
    }
    expect((await send(gateway.url, token, long)).status).toBe(200)
    await page.getByRole('row', { name: /Aparecida do Nascimento/ }).waitFor()
    await look('notifications', () => page.getByRole('row', { name: /Aparecida do Nascimento/ }).waitFor())
    await page.getByRole('searchbox', { name: 'Busca', exact: true }).fill('extrajudicial')
    await page.keyboard.press('Enter')
    await expect.poll(() => new URL(page.url()).searchParams.get('q')).toBe('extrajudicial')
    await expect.poll(() => page.getByRole('row').count()).toBe(2)
    await page.getByLabel('Canal').selectOption('sms')
    await page.getByText('Nada com estes filtros').waitFor()
    await page.goBack()
  })

  test('many rows, a list that is still on its way, and one that did not come', async () => {
    const { gateway } = stack
    const names = Array.from({ length: 60 }, (_, place) => `Destinatário número ${place + 1} da Silva`)
    await Promise.all(names.map(nameTo => send(gateway.url, token, { ...validSend, to: 'nao-existe@simulador.test', nameTo })))
    await page.goto(`${gateway.url}/console/notifications`)
    await page.getByRole('button', { name: 'Mostrar mais' }).click()
    await expect.poll(() => page.getByRole('row').count()).toBeGreaterThan(60)
    await look('notifications-many', () => page.getByRole('row').nth(60).waitFor())
    const list = '**/console/api/notifications?*'
    const refusal = { statusCode: 500, message: 'O banco de dados não respondeu. Tente de novo em instantes.', error: 'x' }
    const held = deferred()
    // With the stream of changes open, the list would be asked for again by itself.
    const live = '**/console/api/live'
    await page.route(live, () => {})
    await page.route(list, async route => {
      await held.promise
      await route.fulfill({ status: 500, json: refusal })
    })
    try {
      await page.goto(`${gateway.url}/console/notifications?status=dead`)
      await look('notifications-loading', () => page.getByRole('status', { name: 'Carregando…' }).waitFor())
      held.resolve()
      const alert = page.getByRole('alert').getByText(refusal.message)
      await look('notifications-error', () => alert.waitFor())
    } finally {
      // The tests after this one ask for the same list.
      held.resolve()
      await page.unroute(list)
    }
    await page.getByRole('button', { name: 'Tentar de novo' }).click()
    await page.getByText('Nada com estes filtros').waitFor()
    await page.unroute(live)
  })

  test('a change of the theme is whole at once for those who asked for less motion: no colour is on its way', async () => {
    await page.goto(`${stack.gateway.url}/console/notifications`)
    await page.getByLabel('Canal').waitFor()
    const colours = (theme: string) =>
      page.evaluate(`(() => {
        document.documentElement.dataset.theme = '${theme}'
        const parts = [document.documentElement, ...document.querySelectorAll('main label'), document.querySelector('main h1')]
        const colours = [...new Set(parts.map(part => getComputedStyle(part).color))]
        return { colours, underWay: document.getAnimations().length }
      })()`)
    await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
    expect(await colours('dark')).toEqual({ colours: ['rgb(232, 236, 243)'], underWay: 0 })
    expect(await colours('light')).toEqual({ colours: ['rgb(21, 26, 35)'], underWay: 0 })
  })

  test('a finding about contrast names the colours', async () => {
    const other = await console.context.newPage()
    await other.setContent('<html lang="pt"><title>x</title><main><h1 style="color: #ccc; background: #fff">Pálido</h1></main>')
    const [found] = await seriousViolations(other)
    await other.close()
    expect(found).toMatchObject({ id: 'color-contrast', nodes: [expect.stringMatching(/\(#cccccc on #ffffff, 1\.6\d*:1\)$/)] })
  })

  test('keys, language and theme: g n, ?, English, dark; the choices stay', async () => {
    await page.keyboard.press('g')
    await page.keyboard.press('o')
    await page.getByRole('heading', { name: 'Visão geral' }).waitFor()
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Atalhos do teclado' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Ana Lima' }).click()
    await page.getByRole('menuitemradio', { name: 'English' }).click()
    await page.getByRole('menuitemradio', { name: 'Dark' }).click()
    await page.keyboard.press('Escape')
    await page.reload()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page
      .getByRole('region', { name: /channel/i })
      .getByText('call', { exact: true })
      .waitFor()
    expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('dark')
    await page.getByRole('button', { name: 'Ana Lima' }).click()
    await page.getByRole('menuitemradio', { name: 'Português' }).click()
    await page.getByRole('menuitemradio', { name: 'Do sistema' }).click()
    await page.getByRole('menuitem', { name: 'Senha e sessões' }).click()
    await page.getByRole('heading', { name: 'Mudar a senha' }).waitFor()
    await look('profile', () => page.getByRole('heading', { name: 'Mudar a senha' }).waitFor())
  })

  test('with several accounts the header chooses one, on every screen', async () => {
    await createAccount(stack.database.pool, { name: 'Outra empresa de nome comprido Ltda.' })
    await page.goto(`${stack.gateway.url}/console/notifications`)
    await page.getByLabel('Conta').selectOption({ label: 'Outra empresa de nome comprido Ltda.' })
    await page.getByText('Nenhuma notificação ainda').waitFor()
    await page.getByRole('link', { name: 'Visão geral' }).first().click()
    await page.getByText('Tudo pronto para o primeiro envio').waitFor()
    expect(new URL(page.url()).searchParams.get('account')).not.toBeNull()
  })

  test('a session that ended leads to the sign-in, and from there back', async () => {
    await page.goto(`${stack.gateway.url}/console/notifications?status=entregue`)
    await page
      .getByRole('row', { name: /da Silva/ })
      .first()
      .waitFor()
    await console.context.clearCookies()
    // A change that comes by itself finds out first, and leads there too.
    await page
      .getByLabel('Canal')
      .selectOption('sms', { timeout: 5_000 })
      .catch(() => {})
    await page.getByRole('heading', { name: 'Entrar no console' }).waitFor()
    await look('sign-in', () => page.getByRole('button', { name: 'Entrar' }).waitFor())
    await page.getByLabel('E-mail').fill('ana@example.com')
    await page.getByLabel('Senha', { exact: true }).fill('não é esta a senha')
    await page.getByRole('button', { name: 'Entrar' }).click()
    await page.getByText('E-mail ou senha não conferem').waitFor()
    await page.getByLabel('Senha', { exact: true }).fill(PASSWORD)
    await page.getByRole('button', { name: 'Entrar' }).click()
    await page.getByRole('heading', { name: 'Notificações' }).waitFor()
    expect(new URL(page.url()).searchParams.get('status')).toBe('entregue')
  })

  test('the pages ask for nothing elsewhere, break no rule of their policy and have no mistakes', () => {
    // The browser itself notes the refusals that the test before asked for.
    expect(console.problems(401, 500)).toEqual([])
  })
})
