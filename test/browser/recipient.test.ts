import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { removeLogo, saveLogo } from '../../src/store/accounts/accounts.js'
import { createAccount, type TestAccount } from '../support/gateway/gateway.js'
import { request, send, validSend } from '../support/gateway/requests.js'
import { type Stack, startStack } from '../support/gateway/stack.js'
import {
  asPerson,
  DESKTOP,
  keepPicture,
  LONGEST_MS,
  launchPersonal,
  launchScanner,
  missingBrowser,
  type PersonOptions,
  PHONE,
  seriousViolations,
} from './browser.js'

/** The recipient's whole walk in a real browser: from the simulated inbox to the receipt. */
/** What the pages look like, for whoever wants to see; the last run's stay. */
const LIMITS = { sinceSentMs: 300, sincePageMs: 300 }
const content = `<h2>Aviso de vencimento</h2><p>Prezada <b>Maria</b>,</p><p>O contrato nº 4.217 vence em 30 dias, em
  <b>15/12/2026</b>. Para renovar, responda a esta mensagem ou procure a sua agência.</p>
  <table border="1" cellpadding="6"><tr><th>Parcela</th><th>Valor</th></tr><tr><td>12/12</td><td>R$ 418,90</td></tr></table>
  <p><a href="https://example.com/contrato">Ver o contrato</a></p>`
const attachments = [
  { name: 'contrato nº 4217 — cópia.pdf', base64: Buffer.from('%PDF-1.4 teste').toString('base64') },
  { name: 'boleto.pdf', base64: Buffer.from('<script>document.title="spoofed"</script>').toString('base64') },
]
const LOGO =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 160 44"><circle cx="22" cy="22" r="18" fill="#1f3f8f"/><text x="48" y="29" font-family="sans-serif" font-size="22" font-weight="700" fill="#1f3f8f">Aurora</text></svg>'
const HOSTILE = `<p>antes</p><script>alert('script')</script><svg onload="alert('svg')"></svg><img src=x onerror="alert('img')">
  <a href="javascript:alert('link')">clique</a><iframe srcdoc="<script>alert('frame')</script>"></iframe>
  <form action="https://evil.example"><button>Enviar</button></form><meta http-equiv="refresh" content="0;url=https://evil.example">
  <style>@import url(https://evil.example/a.css);</style><a href="https://example.com">fora</a><p>depois</p>`
const validation = { question: 'Qual é o nome da rua em que você nasceu?', reply: 'Rua São João' }

let stack: Stack
let account: TestAccount
let personal: Browser

const title = missingBrowser === null ? 'in Chromium' : `in Chromium: ${missingBrowser}`

describe.skipIf(missingBrowser !== null)(title, () => {
  beforeAll(async () => {
    stack = await startStack({ robot: LIMITS })
    account = await createAccount(stack.database.pool, {
      name: 'Banco Aurora',
      settings: { validation: true, 'brand.name': 'Banco Aurora', 'brand.color': '#1f3f8f' },
    })
    personal = await launchPersonal()
  })

  afterAll(async () => {
    await personal.close()
    await stack.close()
  })

  let count = 0
  async function deliver(body: object = {}): Promise<{ id: string; link: string }> {
    const to = `entregue+${++count}@simulador.test`
    const answer = await send(stack.gateway.url, account.token, { ...validSend, content, to, ...body })
    expect(answer.status).toBe(200)
    const { idEmail: id } = answer.body as { idEmail: string }
    const link = await stack.linkFor(to)
    await expect.poll(() => statusOf(id)).toMatchObject({ description: 'Entregue' })
    await expect.poll(async () => Date.now() - (await sentAt(id))).toBeGreaterThan(LIMITS.sinceSentMs)
    return { id, link }
  }

  const statusOf = async (id: string): Promise<Record<string, unknown>> =>
    (await request(`${stack.gateway.url}/gw/email/${id}`, { token: account.token })).body as Record<string, unknown>

  const sentAt = async (id: string): Promise<number> => {
    const { rows } = await stack.database.pool.query('select sent_at from delivery where notification_id = $1', [id])
    return rows[0].sent_at.getTime()
  }

  /** A person looks at a page before pressing anything on it. */
  async function press(page: Page, name: string): Promise<void> {
    const seen = performance.now()
    const button = page.getByRole('button', { name, exact: true })
    await button.waitFor()
    await expect.poll(() => performance.now() - seen, { interval: 20 }).toBeGreaterThan(LIMITS.sincePageMs + 50)
    await button.click()
  }

  async function withPerson(options: PersonOptions, walk: (page: Page, context: BrowserContext) => Promise<void>): Promise<void> {
    const context = await asPerson(personal, options)
    try {
      await walk(await context.newPage(), context)
    } finally {
      await context.close()
    }
  }

  const sizes = { phone: PHONE, desktop: DESKTOP }

  test.each([
    ['with script', true],
    ['without script', false],
  ])(
    '%s: landing, question, message, confirmation, receipt, on a phone and on a desktop, and the statuses follow',
    async (name, script) => {
      const { id, link } = await deliver({ validation, attachments })
      await withPerson({ script }, async page => {
        let step = 0
        const look = async (): Promise<void> => {
          step++
          for (const [size, viewport] of Object.entries(sizes)) {
            await page.setViewportSize(viewport)
            await keepPicture(page, `${size}-${name.replace(' ', '-')}-${step}`, 'whole')
            expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
            if (script) expect(await seriousViolations(page)).toEqual([])
          }
        }
        await page.goto(link)
        expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(validSend.subject)
        expect(await page.locator('body').textContent()).toContain('Banco Aurora')
        await look()
        expect(await statusOf(id)).toMatchObject({ description: 'Entregue', dateReading: null })

        await press(page, 'Abrir a notificação')
        await page.getByLabel(validation.question).fill('não sei')
        await press(page, 'Responder e ler')
        await page.getByText('Restam 4 tentativas.').waitFor()
        await look()
        expect(await statusOf(id)).toMatchObject({ description: 'Entregue', dateReading: null })

        await page.getByLabel(validation.question).fill('rua sao joao')
        await press(page, 'Responder e ler')
        await page.frameLocator('iframe').getByText('O contrato nº 4.217').waitFor()
        await look()
        expect(await statusOf(id)).toMatchObject({ description: 'Lido', dateReading: expect.any(String), dateAcceptance: null })

        const downloading = page.waitForEvent('download')
        await page.getByRole('link', { name: 'contrato nº 4217' }).click()
        expect((await downloading).suggestedFilename()).toBe('contrato nº 4217 — cópia.pdf')

        await press(page, 'Confirmar recebimento')
        await page.getByText('Comprovante de recebimento').waitFor()
        await look()
        expect(await page.locator('body').textContent()).toContain(id)
        expect(await statusOf(id)).toMatchObject({ description: 'Confirmou o recebimento', dateAcceptance: expect.any(String) })
        expect(await page.getByRole('button', { name: 'Imprimir ou salvar' }).isVisible()).toBe(script)
      })
    },
  )

  test('every other page reads well too, in the dark as well: nothing serious for axe-core', async () => {
    const { id, link } = await deliver({ attachments })
    await saveLogo(stack.database.pool, account.id, { type: 'image/svg+xml', bytes: Buffer.from(LOGO) })
    await withPerson({ viewport: PHONE, dark: true }, async page => {
      const look = async (name: string, heading: string): Promise<void> => {
        expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(heading)
        await keepPicture(page, `other-${name}`, 'whole')
        expect(await seriousViolations(page), name).toEqual([])
      }
      await page.goto(link)
      await look('landing', validSend.subject)
      await press(page, 'Abrir a notificação')
      await page.frameLocator('iframe').getByText('O contrato nº 4.217').waitFor()
      await look('message', validSend.subject)
      await page.getByRole('link', { name: 'Não sou esta pessoa' }).click()
      await look('stranger', 'Você não é Maria S.?')
      await press(page, 'Avisar que não sou eu')
      await page.getByRole('heading', { name: 'Obrigado por avisar' }).waitFor()
      await look('disowned', 'Obrigado por avisar')
      await page.goto(link)
      await look('ended', 'Este link foi encerrado')
      await page.goto(`${stack.gateway.url}/s/zzzzzzzzzz`)
      await look('unknown', 'Link não encontrado')
    })
    expect(await statusOf(id)).toMatchObject({ error: true, description: 'Não é o destinatário' })
    await removeLogo(stack.database.pool, account.id)
  })

  test('a scanner with a whole browser that presses every button reads and confirms nothing, and is flagged', async () => {
    const { id, link } = await deliver()
    const scanner = await launchScanner()
    try {
      const page = await scanner.newPage()
      page.setDefaultTimeout(LONGEST_MS)
      await page.goto(link)
      await press(page, 'Abrir a notificação')
      await page.frameLocator('iframe').getByText('O contrato nº 4.217').waitFor()
      await press(page, 'Confirmar recebimento')
      await page.getByText('pressione o botão mais uma vez').waitFor()
    } finally {
      await scanner.close()
    }
    expect(await statusOf(id)).toMatchObject({ description: 'Entregue', dateReading: null, dateAcceptance: null })
    const { rows } = await stack.database.pool.query(
      "select data->>'by' as by, data->'signals' as signals from event where notification_id = $1 and (data->>'automated')::boolean order by seq",
      [id],
    )
    expect(rows).toContainEqual({ by: 'open', signals: ['scanner', 'steered browser'] })
    expect(rows).toContainEqual({ by: 'confirm', signals: ['scanner', 'steered browser'] })
  })

  test('nothing of a hostile content runs, in its frame or opened by itself, and its links still open', async () => {
    const { link } = await deliver({ content: HOSTILE, attachments })
    await withPerson({}, async (page, context) => {
      const ran: string[] = []
      context.on('dialog', dialog => {
        ran.push(dialog.message())
        dialog.dismiss().catch(() => {})
      })
      context.on('request', asked => {
        if (asked.url().includes('evil.example')) ran.push(asked.url())
      })
      await page.goto(link)
      await press(page, 'Abrir a notificação')
      const frame = page.frameLocator('iframe')
      await frame.getByText('depois').waitFor()
      expect(await frame.getByRole('link', { name: 'fora' }).getAttribute('rel')).toContain('noopener')
      await page.goto(`${link}/conteudo`)
      await page.getByText('depois').waitFor()
      expect(await page.title()).toBe('Conteúdo da notificação')
      expect(await page.evaluate('origin')).toBe('null')
      expect(ran).toEqual([])
    })
  })

  test('another site cannot put a page of ours in a frame', async () => {
    const { link } = await deliver()
    const other = createServer((_request, response) => {
      response.setHeader('content-type', 'text/html').end(`<h1>outro</h1><iframe src="${link}"></iframe>`)
    })
    await new Promise<void>(resolve => other.listen(0, '127.0.0.1', resolve))
    try {
      await withPerson({}, async page => {
        await page.goto(`http://localhost:${(other.address() as AddressInfo).port}/`)
        await expect.poll(() => page.frames().length).toBe(2)
        await expect.poll(() => page.frames()[1]!.url()).toBe('chrome-error://chromewebdata/')
      })
    } finally {
      other.close()
    }
  })
})
