import { execFileSync } from 'node:child_process'
import type { Browser, Frame, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { createAccount, type Gateway, startGateway, type TestAccount } from '../support/gateway/gateway.js'
import { openLink, type Sent, sendNotification } from '../support/gateway/recipients.js'
import { ANY_TIME, filled, visit } from '../support/gateway/visitor.js'
import { needPrograms } from '../support/programs/needed-programs.js'
import {
  asPerson,
  DESKTOP,
  keepPicture,
  launchPersonal,
  missingBrowser,
  type PersonOptions,
  PHONE,
  seriousViolations,
} from './browser.js'

/** How the pages look in a real browser: the whole notice, and nothing wider than a small phone. */
/** What the pages look like, for whoever wants to see; the last run's stay. */
const sizes = { phone: PHONE, desktop: DESKTOP }
const columns = Array.from({ length: 14 }, (_, index) => index + 1)
const wideTable = `<table border="1" cellpadding="6"><tr>${columns.map(n => `<th>Parcela&nbsp;${n}</th>`).join('')}</tr><tr>${columns.map(n => `<td>R$&nbsp;1.${String(n).padStart(3, '0')},90</td>`).join('')}</tr></table>`
const content = `<h2>Aviso de vencimento</h2><p>Prezada <b>Maria</b>, o contrato nº 4.217 vence em 30 dias.</p>
  ${'<p>As condições do contrato continuam as mesmas até o vencimento. Depois dele, aplicam-se os encargos da cláusula quinta.</p>'.repeat(25)}
  ${wideTable}<p>Fim do aviso.</p>`
const attachments = [{ name: 'contrato nº 4217.pdf', base64: Buffer.from('%PDF-1.4 teste').toString('base64') }]
const validation = { question: 'Qual é o nome da rua em que você nasceu?', reply: 'Rua São João' }
const identity = {
  'brand.name': 'Banco Aurora',
  'brand.color': '#1f3f8f',
  'sender.legalName': 'Banco Aurora S.A.',
  'sender.document': '11222333000181',
  'sender.phone': '(11) 3003-1234',
  'sender.site': 'https://www.aurora.example',
  'sender.privacy': 'encarregado@aurora.example',
}

const title = missingBrowser === null ? 'in Chromium' : `in Chromium: ${missingBrowser}`

describe.skipIf(missingBrowser !== null)(title, () => {
  let database: TestDatabase
  let gateway: Gateway
  let account: TestAccount
  let browser: Browser

  beforeAll(async () => {
    database = await createDatabase()
    const recipientLimits = { robot: { sinceSentMs: ANY_TIME, sincePageMs: ANY_TIME } }
    gateway = await startGateway(database.pool, {}, { recipientLimits })
    account = await createAccount(database.pool, { settings: { validation: true, ...identity } })
    browser = await launchPersonal()
  })

  afterAll(async () => {
    await browser.close()
    await gateway.close()
    await database.drop()
  })

  const sent = (body: object = {}, channel: Sent['target']['channel'] = 'email'): Promise<Sent> =>
    sendNotification(gateway, database.pool, account, { content, ...body }, channel)

  async function withPerson(options: PersonOptions, walk: (page: Page) => Promise<void>): Promise<void> {
    const context = await asPerson(browser, options)
    try {
      await walk(await context.newPage())
    } finally {
      await context.close()
    }
  }

  async function openMessage(page: Page, url: string): Promise<Frame> {
    await page.goto(url)
    await page.getByRole('button', { name: 'Abrir a notificação' }).click()
    await page.getByRole('heading', { name: 'Quem enviou' }).waitFor()
    return (await (await page.waitForSelector('iframe')).contentFrame())!
  }

  const scrollsDown = (frame: Frame) => frame.evaluate('document.documentElement.scrollHeight > innerHeight')
  const scrollsSideways = (where: Page | Frame) => where.evaluate('document.documentElement.scrollWidth > innerWidth')

  test('the message page shows the whole notice; only a wide table scrolls, sideways, and can be reached by keyboard', async () => {
    const { url } = await sent()
    await withPerson({}, async page => {
      const frame = await openMessage(page, url)
      await frame.getByText('Fim do aviso.').waitFor()
      for (const viewport of [PHONE, DESKTOP, PHONE]) {
        await page.setViewportSize(viewport)
        await expect.poll(() => scrollsDown(frame)).toBe(false)
        expect(await scrollsSideways(frame)).toBe(false)
        expect(await scrollsSideways(page)).toBe(false)
      }
      const table = frame.locator('.wide-table')
      expect(await table.evaluate(box => box.scrollWidth > box.clientWidth)).toBe(true)
      await expect.poll(() => table.getAttribute('tabindex')).toBe('0')
      // A phone hides its scroll bars: something must say that there is more.
      expect(await frame.evaluate("getComputedStyle(document.querySelector('.wide-table'), '::before').content")).toContain(
        'Role',
      )
      const lastLine = await frame.getByText('Fim do aviso.').boundingBox()
      const box = (await page.locator('iframe').boundingBox())!
      expect(lastLine!.y + lastLine!.height).toBeLessThan(box.y + box.height)
    })
  })

  test('cells have room and single lines, and an amount stays on one line, unless the sender’s own style says otherwise', async () => {
    const rows = '<tr><td>11ª</td><td>R$ 1.250,00</td></tr>'
    const { url } = await sent({
      content: `<table border="1" width="10">${rows}</table><table border="1" style="border-collapse:separate"><tr><td style="padding:1px">x</td></tr></table><table cellpadding="0">${rows}</table>`,
    })
    await withPerson({}, async page => {
      const frame = await openMessage(page, url)
      const looks = (selector: string, property: string) =>
        frame.evaluate(`[...document.querySelectorAll('${selector}')].map(node => getComputedStyle(node)['${property}'])`)
      expect(await looks('table', 'border-collapse')).toEqual(['collapse', 'separate', 'separate'])
      expect(await looks('td', 'padding-left')).toEqual(['5px', '5px', '1px', '0px', '0px'])
      const [ordinal, amount] = await frame.locator('table').first().locator('td').all()
      expect((await amount!.boundingBox())!.height).toBe((await ordinal!.boundingBox())!.height)
      expect((await amount!.boundingBox())!.height).toBeLessThan(40)
    })
  })

  test('a notice that grows when it is read stays whole; one that grows with its frame does not grow without end', async () => {
    const details = '<details><summary>Ver mais</summary><p>linha</p><p>linha</p><p>linha</p><p>última</p></details>'
    const { url } = await sent({ content: `<p>Aviso</p>${details}` })
    const endless = await sent({ content: '<div style="height:110vh">Aviso</div>' })
    await withPerson({}, async page => {
      const frame = await openMessage(page, url)
      await expect.poll(() => scrollsDown(frame)).toBe(false)
      const small = (await page.locator('iframe').boundingBox())!.height
      expect(small).toBeLessThan(200)
      await frame.getByText('Ver mais').click()
      await expect.poll(async () => (await page.locator('iframe').boundingBox())!.height).toBeGreaterThan(small + 100)
      await expect.poll(() => scrollsDown(frame)).toBe(false)

      const growing = await openMessage(page, endless.url)
      await expect.poll(() => growing.evaluate('growths > 30')).toBe(true)
      await expect.poll(async () => (await page.locator('iframe').boundingBox())!.height).toBeLessThan(PHONE.height)
      expect(await page.locator('iframe').getAttribute('class')).toBe('content')
    })
  })

  test('without script the notice has most of the screen, scrolls, and opens by itself', async () => {
    const { url } = await sent()
    await withPerson({ script: false }, async page => {
      const frame = await openMessage(page, url)
      await frame.getByText('Fim do aviso.').scrollIntoViewIfNeeded()
      const { height } = (await page.locator('iframe').boundingBox())!
      expect(height).toBeGreaterThan(PHONE.height * 0.7)
      expect(await scrollsSideways(page)).toBe(false)
      await page.goto(`${url}/conteudo`)
      await page.getByText('Fim do aviso.').waitFor()
      expect(await scrollsSideways(page)).toBe(false)
    })
  })

  test('the frame cannot reach the page, and the page takes no height from elsewhere', async () => {
    const { url } = await sent()
    await withPerson({}, async page => {
      const frame = await openMessage(page, url)
      await expect.poll(() => scrollsDown(frame)).toBe(false)
      const before = (await page.locator('iframe').boundingBox())!.height
      expect(await frame.evaluate('origin')).toBe('null')
      await expect(frame.evaluate('parent.document.title')).rejects.toThrow(/cross-origin/)
      await page.evaluate('postMessage(5)')
      await page.evaluate('new Promise(resolve => setTimeout(resolve))')
      expect((await page.locator('iframe').boundingBox())!.height).toBe(before)
    })
  })

  async function confirmedLink(body: object): Promise<string> {
    const { url, target } = await sent(body)
    const cookie = await openLink(url, target)
    await visit(`${url}/confirmar`, { form: filled(target), headers: { cookie } })
    return url
  }

  /** The words on each sheet of A4, as a person prints the page. */
  async function printed(page: Page, margin: string): Promise<string[][]> {
    const pdf = await page.pdf({ format: 'A4', margin: { top: margin, right: margin, bottom: margin, left: margin } })
    const text = execFileSync('pdftotext', ['-layout', '-', '-'], { input: pdf, encoding: 'utf8' })
    return text
      .split('\f')
      .slice(0, -1)
      .map(sheet => sheet.trim().split(/\s+/))
  }

  describe('on paper', () => {
    needPrograms('pdftotext')

    test.each([
      [1, 1],
      [3, 1],
      [10, 2],
    ])('the receipt with %i attachments fits %i sheets, none of them almost empty', async (count, sheets) => {
      const files = Array.from({ length: count }, (_, index) => ({ ...attachments[0]!, name: `anexo ${index + 1}.pdf` }))
      const url = await confirmedLink({ attachments: files })
      await withPerson({}, async page => {
        await openMessage(page, url)
        await page.goto(`${url}/recibo`)
        for (const margin of ['10mm', '20mm']) {
          const words = await printed(page, margin)
          expect([margin, words.length]).toEqual([margin, sheets])
          for (const sheet of words) expect(sheet.length).toBeGreaterThan(40)
          // The two addresses stay together: one of them alone says little.
          expect(words.at(-1)!.join(' ')).toMatch(/Endereço deste.*Para quem quiser conferir/)
        }
      })
    })
  })

  test.each([
    ['with script', true],
    ['without script', false],
  ])('%s, no page scrolls sideways on a phone, and axe-core finds nothing serious', async (name, script) => {
    const asked = await sent({ validation, attachments, sms: { number: '11987654321', typeSend: '2' } }, 'sms')
    const plain = await sent({ attachments })
    const confirmed = await sent({ attachments })
    const cookie = await openLink(confirmed.url, confirmed.target)
    await visit(`${confirmed.url}/confirmar`, { form: filled(confirmed.target), headers: { cookie } })
    const ended = await sent()
    await visit(`${ended.url}/nao-sou-eu`, { form: filled(ended.target) })
    await withPerson({ script }, async page => {
      const look = async (shown: string): Promise<void> => {
        for (const [size, viewport] of Object.entries(sizes)) {
          await page.setViewportSize(viewport)
          const frame = page.frames()[1]
          if (script && frame !== undefined) await expect.poll(() => scrollsDown(frame)).toBe(false)
          // Chromium paints a frame without an origin only where the screen shows it, so the screen becomes as high as the page.
          const height = Number(await page.evaluate('document.documentElement.scrollHeight'))
          if (script) await page.setViewportSize({ ...viewport, height })
          await keepPicture(page, `${shown}-${size}-${name.replace(' ', '-')}`, 'whole')
          expect([shown, size, await scrollsSideways(page)]).toEqual([shown, size, false])
          expect(await page.title()).toMatch(/^\p{Lu}/u)
          if (script) expect([shown, await seriousViolations(page)]).toEqual([shown, []])
        }
      }
      await page.goto(asked.short)
      await look('landing')
      await page.goto(`${asked.short}/pergunta`)
      await look('question')
      await page.goto(`${asked.short}/nao-sou-eu`)
      await look('not-me')
      const frame = await openMessage(page, plain.url)
      await frame.getByText('Fim do aviso.').waitFor()
      await look('message')
      await openMessage(page, confirmed.url)
      await look('message-confirmed')
      await page.goto(`${confirmed.url}/recibo`)
      await look('receipt')
      await page.goto(confirmed.url)
      await look('landing-confirmed')
      for (const [shown, path] of [
        ['ended', new URL(ended.url).pathname],
        ['unknown-link', '/s/zzzzzzzzzz'],
        ['home', '/'],
        ['document-missing', '/gravacao/nada.wav'],
        ['not-found', '/nada'],
      ] as const) {
        await page.goto(`${gateway.url}${path}`)
        await look(shown)
      }
    })
  })
})
