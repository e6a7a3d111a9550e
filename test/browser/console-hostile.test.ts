import { randomUUID } from 'node:crypto'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { recordChanges } from '../../src/engine/record/record.js'
import { addSuppression } from '../../src/store/accounts/suppressions.js'
import { recordAudit } from '../../src/store/audit.js'
import { transaction } from '../../src/store/postgres.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { type ConsoleClient, consoleClient } from '../support/gateway/console.js'
import { createAccount, type Gateway, startGateway, type TestAccount } from '../support/gateway/gateway.js'
import { request, send, validSend } from '../support/gateway/requests.js'
import { asPerson, DESKTOP, launchPersonal, missingBrowser } from './browser.js'
import { expectNothingRan, HOSTILE, SIGN, watchHostile } from './hostile.js'

/**
 * Texts of senders, recipients, carriers and endpoints on every screen that shows them: nothing of them runs, and nothing asks another
 * host. A mark in the page would tell, and so would a dialog, a request or a refusal by the policy of the page.
 */
const title = missingBrowser === null ? 'in Chromium' : `in Chromium: ${missingBrowser}`

describe.skipIf(missingBrowser !== null)(title, () => {
  let database: TestDatabase
  let gateway: Gateway
  let account: TestAccount
  let client: ConsoleClient
  let browser: Browser
  let page: Page
  let id: string
  let template: string
  let webhook: string
  let problems: string[]

  beforeAll(async () => {
    database = await createDatabase()
    gateway = await startGateway(database.pool)
    const { pool } = database
    account = await createAccount(pool, { name: `Conta ${HOSTILE}` })
    client = await consoleClient(pool, gateway.url)
    await seed()
    browser = await launchPersonal()
    const context = await asPerson(browser, { viewport: DESKTOP })
    const [name, value] = client.cookie.split('=') as [string, string]
    await context.addCookies([{ name, value, url: gateway.url }])
    page = await context.newPage()
    problems = watchHostile(page, gateway.url)
  })

  afterAll(async () => {
    await browser?.close()
    await gateway?.close()
    await database?.drop()
  })

  async function seed(): Promise<void> {
    const { pool } = database
    const body = {
      ...validSend,
      nameTo: `Nome ${SIGN}`,
      subject: `Assunto ${HOSTILE}`.slice(0, 250),
      customID: `c ${SIGN}`.slice(0, 50),
      content: `<p>Conteúdo</p>${HOSTILE}<link rel="stylesheet" href="https://mal.example/x.css"><img src="https://mal.example/p.png">`,
      attachments: [{ name: `anexo ${SIGN}.txt`, content: Buffer.from(HOSTILE).toString('base64') }],
    }
    const answer = await send(gateway.url, account.token, body)
    const accepted = answer.status === 200 ? answer : await send(gateway.url, account.token, { ...body, attachments: undefined })
    expect(accepted.status, JSON.stringify(accepted.body)).toBe(200)
    id = (accepted.body as { idEmail: string }).idEmail
    // What the edge refuses today may have been stored before, or by another way.
    await database.tamper('insert into attachment (notification_id, ordinal, name, sha256, size) values ($1, 9, $2, $3, 1)', [
      ...[id, `arquivo ${HOSTILE}`, Buffer.alloc(32)],
    ])
    const data = { answer: `Resposta ${HOSTILE}`, reason: `Motivo ${HOSTILE}`, channel: 'email' }
    for (const type of ['answered', 'failed'] as const) {
      const fact = { channel: 'email', type, at: new Date(), source: 'smtp', data } as const
      await recordChanges(pool, Date.now, [{ kind: 'fact', notification: id, fact }])
    }
    await pool.query(
      "update delivery set state = 'dead', failure = 'rejected', failed_at = now(), failure_detail = $2, carrier = $3, reference = $4 where notification_id = $1",
      [id, `Detalhe ${HOSTILE}`, `smtp:${SIGN}/1`, `ref ${HOSTILE}`],
    )
    const suppressed = { account: account.id, mode: 'live', channel: 'email', recipient: `${HOSTILE}@example.com` } as const
    await addSuppression(pool, suppressed, 'operator')
    const draft = { name: `Modelo ${HOSTILE}`.slice(0, 250), channel: 'email', content: `${HOSTILE} {{nome}}`, variables: null }
    const made = await client.post(`/templates?account=${account.id}`, { ...draft, externalId: `e ${SIGN}`, shared: false })
    expect(made.status, JSON.stringify(made.body)).toBe(200)
    template = (made.body as { id: string }).id
    await client.put(`/templates/${template}?account=${account.id}`, { content: `<p>dois</p>${HOSTILE}` })
    const hook = { account: account.id, mode: 'live', url: 'https://127.0.0.1/aviso', version: 'v2', channels: [], statuses: [] }
    webhook = ((await client.post('/webhooks', hook)).body as { id: string }).id
    const { message } = (await client.post(`/webhooks/${webhook}/test`)).body as { message: string }
    await pool.query(
      `insert into webhook_attempt (endpoint_id, message_id, attempt, url, payload_version, at, duration_ms, status, error, response_headers, response_body)
       values ($1, $2, 1, $3, 'v2', now(), 1, 500, $4, $4, $4)`,
      [webhook, message, 'https://127.0.0.1/aviso', `Corpo ${HOSTILE}`],
    )
    await transaction(pool, db =>
      recordAudit(db, { actor: `operator:${SIGN}`, action: `ação ${SIGN}`, subject: HOSTILE, detail: { texto: HOSTILE } }),
    )
    await client.post('/operators/invite', { email: 'convidada@example.com', role: 'auditor', account: null })
  }

  /** What is read as text on the page, and that nothing of it ran. */
  async function shows(path: string, ...texts: string[]): Promise<void> {
    await page.goto(`${gateway.url}/console${path}`)
    await page.locator('h1').first().waitFor()
    for (const text of texts) await page.getByText(text, { exact: false }).first().waitFor({ state: 'attached' })
    await check(path)
  }
  const check = (path: string): Promise<void> => expectNothingRan(page, problems, path)

  test('lists: notifications, dead deliveries, suppressions, webhooks, templates, actions', async () => {
    await shows('/')
    await shows('/notifications', `Assunto ${SIGN}`)
    await shows(`/notifications?q=${encodeURIComponent(SIGN)}`)
    await shows('/operations?tab=dead', `Detalhe ${SIGN}`)
    await shows('/operations?tab=suppressions', `${SIGN}`)
    await shows(`/templates?account=${account.id}`, `Modelo ${SIGN}`)
    await shows('/access?tab=audit', `ação ${SIGN}`)
    await shows('/access')
    for (const path of ['/carriers', '/webhooks', '/sequence', '/new', '/profile', '/operations', '/access?tab=operators'])
      await shows(path)
  })

  test('one notification: names, answers, reasons, replies, files; its content in a frame that runs nothing', async () => {
    await shows(`/notifications/${id}`, `Assunto ${SIGN}`, `Resposta ${SIGN}`, `Motivo ${SIGN}`)
    await page.goto(`${gateway.url}/console/notifications/${id}?tab=content`)
    const frame = page.frameLocator('iframe[title="Conteúdo da notificação"]')
    await frame.getByText('Conteúdo').first().waitFor()
    await page.getByText(`arquivo ${SIGN}`).first().waitFor()
    await check('content')
    await shows(`/notifications/${id}?tab=json`, '"codEmail"')
    // The content by itself, as somebody opens it in a tab of its own.
    await page.goto(`${gateway.url}/console/api/notifications/${id}/content`)
    await page.getByText('Conteúdo').first().waitFor()
    expect(await page.evaluate('window.tomada ?? null')).toBeNull()
    expect(problems).toEqual([])
  })

  test('a template in the editor, its preview and the difference of its versions', async () => {
    await shows(`/templates?id=${template}&account=${account.id}`)
    await page.getByText('dois').first().waitFor()
    await check('template')
    const preview = await client.post(`/templates/preview?account=${account.id}`, {
      ...{ channel: 'email', content: 'Olá {{nome}}', values: { nome: HOSTILE } },
    })
    // What a sender fills in is text: the markup of the template alone is markup.
    expect((preview.body as { text: string }).text).not.toContain('<img')
  })

  test('an endpoint’s answer is text, and an answer of the API is never a page of ours', async () => {
    await page.goto(`${gateway.url}/console/webhooks?id=${webhook}`)
    await page.getByText('Corpo', { exact: false }).first().waitFor()
    await check('webhook')
    for (const path of ['notifications', 'audit', `webhooks/${webhook}/attempts`, 'operations/deliveries?state=dead']) {
      const { headers } = await request(`${gateway.url}/console/api/${path}`, { headers: { cookie: client.cookie } })
      expect(headers.get('content-type'), path).toMatch(/^application\/json/)
      expect(headers.get('x-content-type-options'), path).toBe('nosniff')
    }
  })

  test('addresses of the console that hold scripts lead nowhere', async () => {
    for (const path of [
      ...[
        '/notifications?q=%3Cscript%3Ealert(1)%3C/script%3E',
        '/sign-in?next=javascript:alert(1)',
        '/notifications/%3Cimg%20src=x%3E',
      ],
      ...[
        '/sign-in?next=https://mal.example',
        '/sign-in?next=//mal.example',
        `/invitation#${randomUUID()}%22%3E%3Cimg%20src=x%3E`,
      ],
    ]) {
      await page.goto(`${gateway.url}/console${path}`)
      await page.locator('#root *, main').first().waitFor()
      expect(new URL(page.url()).origin, path).toBe(gateway.url)
      await check(path)
    }
  })
})
