import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeVerificationCode } from '../../src/domain/evidence/verification-code.js'
import { requestTimeStamp } from '../../src/evidence/signature/time-stamp-client.js'
import { sampleBundle } from '../support/evidence/bundles.js'
import { createCertification } from '../support/evidence/certification.js'
import { extendTo, logParts } from '../support/evidence/log.js'
import { startTimeStampAuthority } from '../support/evidence/time-stamp-authority.js'
import { gatewayForFile, testKeys } from '../support/gateway/gateway.js'
import { sendNotification } from '../support/gateway/recipients.js'
import { request } from '../support/gateway/requests.js'
import { happen } from '../support/gateway/webhooks.js'
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

/** The public page of verification in a real browser: the file is checked there, and sent nowhere. */
const { database, gateway, account } = await gatewayForFile({
  account: {
    settings: { 'brand.name': 'Banco Aurora', 'sender.legalName': 'Banco Aurora S.A.', 'sender.document': '11222333000181' },
  },
})
const title = missingBrowser === null ? 'in Chromium' : `in Chromium: ${missingBrowser}`

describe.skipIf(missingBrowser !== null)(title, () => {
  let browser: Browser

  beforeAll(async () => {
    browser = await launchPersonal()
  })
  afterAll(() => browser.close())

  async function withPerson(options: PersonOptions, walk: (page: Page, requests: string[]) => Promise<void>): Promise<void> {
    const context = await asPerson(browser, options)
    try {
      const page = await context.newPage()
      const requests: string[] = []
      page.on('request', asked => requests.push(`${asked.method()} ${new URL(asked.url()).pathname}`))
      await walk(page, requests)
    } finally {
      await context.close()
    }
  }

  const scrollsSideways = (page: Page) => page.evaluate('document.documentElement.scrollWidth > innerWidth')
  const drop = (page: Page, name: string, buffer: Buffer) =>
    page.getByLabel('Escolha o arquivo, ou solte-o aqui').setInputFiles({ name, mimeType: 'application/zip', buffer })
  const heading = (page: Page, name: string) => page.getByRole('heading', { name }).waitFor()

  async function realBundle(): Promise<Buffer> {
    const { id } = await sendNotification(gateway, database.pool, account, {
      attachments: [{ name: 'contrato.pdf', base64: 'JVBERi0xLjQ=' }],
      sms: { number: '11987654321' },
    })
    await happen(database.pool, id, 'email', 'delivered', {})
    await extendTo(await logParts(database.pool), Number((await database.pool.query('select count(*) from event')).rows[0].count))
    const { body } = await request(`${gateway.url}/gw/evidence/${id}`, { token: account.token })
    return Buffer.from(body as string, 'latin1')
  }

  for (const [size, viewport] of Object.entries({ phone: PHONE, desktop: DESKTOP })) {
    test(`a bundle of this gateway holds, and nothing is uploaded (${size})`, async () => {
      const bundle = await realBundle()
      await withPerson({ viewport }, async (page, requests) => {
        await page.goto(`${gateway.url}/verificar`)
        await keepPicture(page, `verify-start-${size}`, 'whole')
        expect(await seriousViolations(page)).toEqual([])
        const before = requests.length
        await drop(page, 'evidencia.zip', bundle)
        await heading(page, 'Tudo confere')
        expect(requests.slice(before)).toEqual([])
        expect(await page.evaluate('document.activeElement.textContent')).toBe('Tudo confere')
        await page.getByText('A chave do pacote é a deste site.').waitFor()
        await page.getByText('contrato.pdf', { exact: false }).first().waitFor()
        expect(await scrollsSideways(page)).toBe(false)
        await keepPicture(page, `verify-holds-${size}`, 'whole')
        expect(await seriousViolations(page)).toEqual([])
      })
    })

    test(`a damaged one is refused with the reason, and the next file is checked anew (${size})`, async () => {
      const { bytes } = await sampleBundle({ seed: 0, edit: files => void files.set('content/2-email.eml', Buffer.from('x')) })
      await withPerson({ viewport, dark: size === 'phone' }, async page => {
        await page.goto(`${gateway.url}/verificar`)
        await drop(page, 'falso.zip', bytes)
        await heading(page, 'Algo não confere')
        await page.getByText('O arquivo content/2-email.eml não é o que foi registrado', { exact: false }).first().waitFor()
        expect(await scrollsSideways(page)).toBe(false)
        await keepPicture(page, `verify-broken-${size}`, 'whole')
        expect(await seriousViolations(page)).toEqual([])
        await drop(page, 'outro.zip', (await sampleBundle({ seed: 0 })).bytes)
        await heading(page, 'Tudo confere')
        await page.getByText('A chave do pacote não é a deste site', { exact: false }).waitFor()
        await drop(page, 'carta.pdf', Buffer.from('%PDF-1.7'))
        await heading(page, 'Este arquivo não é um pacote de evidências')
      })
    })

    test(`a code leads to what the gateway knows, by keyboard alone (${size})`, async () => {
      const { id } = await sendNotification(gateway, database.pool, account, {
        sms: { number: '11987654321' },
        carta: {},
        voz: { number: '11987654321' },
      })
      await withPerson({ viewport }, async page => {
        await page.goto(`${gateway.url}/verificar`)
        await page.keyboard.press('Tab')
        await page.keyboard.type(makeVerificationCode(testKeys.derive('verification'), id).toUpperCase())
        await page.keyboard.press('Enter')
        await heading(page, 'Esta notificação existe')
        expect(await scrollsSideways(page)).toBe(false)
        await keepPicture(page, `verify-code-${size}`, 'whole')
        expect(await seriousViolations(page)).toEqual([])
      })
    })
  }

  test('a browser without Ed25519 says what it did not check', async () => {
    const bundle = await realBundle()
    await withPerson({}, async page => {
      await page.addInitScript(
        "const real = SubtleCrypto.prototype.importKey; SubtleCrypto.prototype.importKey = function (...a) { return a[2] === 'Ed25519' ? Promise.reject(new DOMException('', 'NotSupportedError')) : real.apply(this, a) }",
      )
      await page.goto(`${gateway.url}/verificar`)
      await drop(page, 'evidencia.zip', bundle)
      await heading(page, 'O que se pôde conferir está certo')
      await page.getByText('Este navegador não confere assinaturas Ed25519', { exact: false }).first().waitFor()
      expect(await page.getByText('Tudo confere').count()).toBe(0)
    })
  })

  test('a bundle with a time-stamp, of which a browser checks no signature, is not said to hold in everything', async () => {
    const certification = createCertification()
    const authority = await startTimeStampAuthority(certification)
    try {
      const digests: Buffer[] = []
      await sampleBundle({ seed: 0, stamp: digest => digests[digests.push(digest) - 1]! })
      const token = await requestTimeStamp(authority.url, digests[0]!)
      const { bytes } = await sampleBundle({ seed: 0, stamp: () => token })
      await withPerson({}, async page => {
        await page.goto(`${gateway.url}/verificar`)
        await drop(page, 'evidencia.zip', bytes)
        await heading(page, 'O que se pôde conferir está certo')
        await page.getByText('Navegadores não conferem a assinatura dos carimbos do tempo', { exact: false }).first().waitFor()
        expect(await page.getByText('Tudo confere').count()).toBe(0)
      })
    } finally {
      await authority.close()
      certification.remove()
    }
  })

  test('without https there are no hashes, and the page says so', async () => {
    await withPerson({}, async page => {
      await page.addInitScript("Object.defineProperty(crypto, 'subtle', { value: undefined })")
      await page.goto(`${gateway.url}/verificar`)
      await drop(page, 'evidencia.zip', (await sampleBundle({ seed: 0 })).bytes)
      await heading(page, 'Este navegador não pode conferir aqui')
    })
  })

  test('without scripts the code still works, and the page says what the file needs', async () => {
    await withPerson({ script: false }, async page => {
      await page.goto(`${gateway.url}/verificar`)
      await page.getByText('permita scripts neste site', { exact: false }).waitFor()
      expect(await page.locator('#arquivo').isVisible()).toBe(false)
    })
  })
})
