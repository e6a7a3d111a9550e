import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { encloseContent, encloseNotice } from '../../src/channels/email/message/enclose.js'
import { frameWith, IDENTITY } from '../channels/email/frames.js'
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

/** The e-mail as a mail program shows it: readable on a phone and on a desktop, in the light and in the dark, whatever the content. */
const CODE = 'AZqPLnequ3yNkhIzRFVniaIEo7hwnyLk0r0N3bXwS1kq'
const LOGO = { url: 'https://n.test/r/logo/ab', width: 110, height: 44 }
const branded = frameWith(CODE, IDENTITY)
const frame = { ...branded, sender: { ...branded.sender, logo: LOGO } }
const picture = (width: number, height: number, color: string): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><rect width="100%" height="100%" rx="8" fill="${color}"/><text x="50%" y="62%" text-anchor="middle" font-family="sans-serif" font-size="18" fill="#fff">Aurora</text></svg>`

const PLAIN = `<h2>Aviso de vencimento</h2><p>Prezada Maria,</p><p>O contrato <b>nº 4.217</b> vence em 30/11/2026. Regularize até essa data:</p>
<table border="1"><tr><th>Parcela</th><th>Vencimento</th><th>Valor</th></tr><tr><td>11ª</td><td>30/10/2026</td><td>R$ 1.250,00</td></tr>
<tr><td>12ª</td><td>30/11/2026</td><td>R$ 1.250,00</td></tr></table><ul><li>Boleto em anexo</li><li>Dúvidas: <a href="https://aurora.com.br">aurora.com.br</a></li></ul>`
const DESIGNED = `<html><head><style>body{font-family:Georgia}.w{width:600px}h1{color:#7a1f5c}</style></head><body bgcolor="#f7efe2" style="margin:0;width:640px">
<table class="w" width="600" cellpadding="0" cellspacing="0"><tr><td width="600"><img src="https://aurora.test/capa.png" width="900" height="300" alt="Capa"></td></tr>
<tr><td width="300" style="padding:20px"><h1>Sua fatura chegou</h1><p>Veja em https://aurora.com.br/${'documentos-muito-longos/'.repeat(8)}</p></td></tr></table></body></html>`
const HOSTILE = `<style>a,p,td,table,img{display:none!important}body{position:fixed;top:0;height:900px;z-index:9}</style><div style="width:3000px">largo</div>
<div style="position:fixed;top:0;left:0;width:100%;height:100%;z-index:99;background:#fff">por cima</div><div style="margin-bottom:-900px">x</div>`

const MESSAGES: [string, string][] = [
  ['plain', encloseContent(PLAIN, frame).html],
  ['designed', encloseContent(DESIGNED, frame).html],
  ['hostile', encloseContent(HOSTILE, frame).html],
  ['protected', encloseNotice(frame).html],
  ['wide', encloseContent('<p>Olá, Maria.</p><div style="width:3000px">largo</div>', frameWith(CODE)).html],
]
/** To be looked at. */
const SCREENS: [string, PersonOptions][] = [
  ['phone in the dark', { viewport: PHONE, dark: true }],
  ['desktop', { viewport: DESKTOP }],
]

const title = missingBrowser === null ? 'in Chromium' : `in Chromium: ${missingBrowser}`

describe.skipIf(missingBrowser !== null)(title, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launchPersonal()
  })
  afterAll(() => browser.close())

  async function show(html: string, options: PersonOptions, look: (page: Page) => Promise<void>): Promise<void> {
    const context = await asPerson(browser, options)
    // Nothing leaves the machine: every picture is made here.
    await context.route('**/*', route => {
      const isLogo = route.request().url() === LOGO.url
      return route.fulfill({
        contentType: 'image/svg+xml',
        body: isLogo ? picture(110, 44, '#1f3f8f') : picture(900, 300, '#8f5a1f'),
      })
    })
    try {
      const page = await context.newPage()
      await page.setContent(html, { waitUntil: 'load' })
      await look(page)
    } finally {
      await context.close()
    }
  }

  describe.each(MESSAGES)('the %s message', (name, html) => {
    test.each(SCREENS)('on a %s fits, can be opened and read by everybody', async (screen, options) => {
      await show(html, options, async page => {
        await keepPicture(page, `email-${name}-${screen.split(' ')[0]}`, 'whole')
        const { scrollWidth, clientWidth } = await page.evaluate(() => {
          const { documentElement: root } = (
            globalThis as unknown as { document: { documentElement: { scrollWidth: number; clientWidth: number } } }
          ).document
          return { scrollWidth: root.scrollWidth, clientWidth: root.clientWidth }
        })
        expect(scrollWidth).toBeLessThanOrEqual(clientWidth)
        const card = await page.locator('.nt-card').boundingBox()
        expect(card!.width).toBeLessThanOrEqual(602)
        const button = page.getByRole('link', { name: 'Abrir a notificação' })
        // Nothing lies above it.
        await button.click({ trial: true })
        // Large enough for a finger (WCAG 2.2, 2.5.8 asks for 24).
        expect((await button.boundingBox())!.height).toBeGreaterThanOrEqual(44)
        expect(await page.getByRole('link', { name: frame.link }).isVisible()).toBe(true)
        expect(await seriousViolations(page)).toEqual([])
      })
    })
  })

  test('on a phone only a wide table scrolls, and an amount stays on one line', async () => {
    const columns = Array.from({ length: 8 }, (_, index) => `<td>R$ ${index + 1}.250,00</td>`).join('')
    const { html } = encloseContent(`<p>Parcelas:</p><table border="1"><tr>${columns}</tr></table>`, frame)
    await show(html, { viewport: PHONE }, async page => {
      await keepPicture(page, 'email-table-phone', 'whole')
      const goesOn = (selector: string) => page.locator(selector).evaluate(box => box.scrollWidth > box.clientWidth)
      expect([await goesOn('.nt-content'), await goesOn('.nt-wide')]).toEqual([false, true])
      expect((await page.locator('.nt-wide td').first().boundingBox())!.height).toBeLessThan(40)
      expect(await seriousViolations(page)).toEqual([])
    })
  })

  test('the logo has its size before it is loaded, and its text where it is not', async () => {
    await show(MESSAGES[0]![1], { viewport: PHONE }, async page => {
      expect(await page.getByRole('img', { name: 'Logotipo de Banco Aurora' }).boundingBox()).toMatchObject({
        width: 110,
        height: 44,
      })
    })
  })
})
