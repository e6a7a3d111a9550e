import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { invitationLink, ownPage, PASSWORD } from '../support/gateway/console.js'
import { missingBrowser } from './browser.js'
import { type ConsoleDemo, openDemo } from './console-browser.js'

const title = missingBrowser === null ? 'in Chromium' : `in Chromium: ${missingBrowser}`

/** What surrounds every screen: its address, the stream of changes and the session. */
describe.skipIf(missingBrowser !== null)(title, () => {
  let screen: ConsoleDemo
  beforeAll(async () => {
    screen = await openDemo()
  })
  afterAll(() => screen?.close())

  const open = (path: string): Promise<unknown> => screen.page.goto(`${screen.stack.gateway.url}/console${path}`)
  const parameters = (): string => new URL(screen.page.url()).search

  test('a stream that was refused is opened again by itself', async () => {
    const { page } = screen
    let refusals = 0
    await page.route('**/console/api/live', async route => {
      if (++refusals > 2) return route.continue()
      return route.fulfill({ status: 503, body: '' })
    })
    await open('/')
    await page.getByText('Reconectando…').first().waitFor()
    await page.getByText('Ao vivo').first().waitFor()
    await page.unroute('**/console/api/live')
    expect(refusals).toBeGreaterThan(2)
  })

  test('a screen that a key or the search opens gets the account and the mode, and no filter of the screen before', async () => {
    const { page } = screen
    await open('/operations?mode=test&tab=dead&channel=sms')
    await page.getByRole('tab', { name: 'Desistências' }).waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('n')
    await page.getByRole('heading', { name: 'Notificações' }).waitFor()
    expect(parameters()).toBe('?mode=test')
    await open('/notifications?mode=test&status=entregue')
    await page.getByRole('searchbox', { name: 'Buscar notificação' }).fill('contrato')
    await page.keyboard.press('Enter')
    await expect.poll(() => new URLSearchParams(parameters()).get('q')).toBe('contrato')
    expect(Object.fromEntries(new URLSearchParams(parameters()))).toEqual({ mode: 'test', q: 'contrato' })
  })

  test.each(['/operations', '/simulator', '/carriers'])(
    '%s shows its first tab where the address names none of its own',
    async path => {
      await open(`${path}?tab=versions`)
      await expect.poll(() => screen.page.getByRole('tab').first().getAttribute('aria-selected')).toBe('true')
      await screen.page.getByRole('tabpanel').waitFor()
    },
  )

  test('the days of a filter are those of Brasília, and an end at midnight is the end of the day before', async () => {
    const { page } = screen
    const days = async () => [
      await page.getByLabel('De', { exact: true }).inputValue(),
      await page.getByLabel('Até').inputValue(),
    ]
    await open('/notifications?from=2026-07-18T01:00:00.000Z&to=2026-07-18T03:00:00.000Z')
    await page.getByLabel('Até').waitFor()
    expect(await days()).toEqual(['2026-07-17', '2026-07-17'])
    await open('/notifications?from=2026-07-18&to=2026-07-19')
    await page.getByLabel('Até').waitFor()
    expect(await days()).toEqual(['2026-07-18', '2026-07-19'])
  })

  test('a session or an invitation that could not be ended says so', async () => {
    const { page, stack } = screen
    const { pool } = stack.database
    const failed = { status: 503, json: { statusCode: 503, message: 'O banco de dados não respondeu.', error: 'x' } }
    // From here on the browser has a second session.
    await page.request.post(`${stack.gateway.url}/console/api/sign-in`, {
      headers: ownPage(stack.gateway.url),
      data: { email: 'ana@example.com', password: PASSWORD },
    })
    await page.route('**/console/api/me/sessions/*', route => route.fulfill(failed))
    await open('/profile')
    await page.getByRole('button', { name: 'Encerrar' }).first().click()
    await page.getByRole('alert').getByText('O banco de dados não respondeu.').waitFor()
    await screen.look('profile-failed')
    await invitationLink(pool, stack.gateway.url, { email: 'nova@example.com' })
    await page.route('**/console/api/operators/invitations?*', route => route.fulfill(failed))
    await open('/access?tab=operators')
    await page
      .getByRole('row', { name: /nova@example.com/ })
      .getByRole('button')
      .click()
    await page.getByRole('alert').getByText('O banco de dados não respondeu.').waitFor()
  })

  test('who could not sign out is told so; who was signed out already is led to the sign-in', async () => {
    const { page, look } = screen
    const signOut = async (): Promise<void> => {
      await page.getByRole('button', { name: 'Ana Lima' }).click()
      await page.getByRole('menuitem', { name: 'Sair' }).click()
    }
    await open('/')
    const path = '**/console/api/sign-out'
    await page.route(path, route => route.abort())
    await page.getByText('Ao vivo').first().waitFor()
    await signOut()
    const dialog = page.getByRole('dialog', { name: 'Não foi possível sair' })
    await dialog.getByText('O servidor não respondeu').waitFor()
    await look('sign-out-failed', () => dialog.waitFor())
    await page.unroute(path)
    await page.route(path, route =>
      route.fulfill({ status: 401, json: { statusCode: 401, message: 'Sua sessão terminou. Entre de novo.', error: 'x' } }),
    )
    await dialog.getByRole('button', { name: 'Sair' }).click()
    await page.waitForURL('**/console/sign-in')
  })
})
