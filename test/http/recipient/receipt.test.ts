import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sha256 } from '../../../src/domain/evidence/evidence.js'
import { qrCode } from '../../../src/domain/recipient/qr-code.js'
import { createShortLinks } from '../../../src/engine/recipient/short-links.js'
import { recordChanges } from '../../../src/engine/record/record.js'
import { createDatabase, type TestDatabase } from '../../support/database/database.js'
import { createAccount, type Gateway, startGateway, type TestAccount, testKeys } from '../../support/gateway/gateway.js'
import { openLink, type Sent, sendNotification, statusOf } from '../../support/gateway/recipients.js'
import { validSend } from '../../support/gateway/requests.js'
import { ANY_TIME, filled, visit } from '../../support/gateway/visitor.js'

/** What the recipient keeps: the receipt, and what every page says of the sender. */
let database: TestDatabase
let gateway: Gateway
let account: TestAccount

const identity = {
  'brand.name': 'Banco Aurora',
  'sender.legalName': 'Banco Aurora S.A.',
  'sender.document': '11222333000181',
  'sender.phone': '(11) 3003-1234',
  'sender.site': 'https://www.aurora.example',
  'sender.privacy': 'dados@aurora.example',
}
const identityShown = [
  'Banco Aurora S.A.',
  '11.222.333/0001-81',
  '<a href="tel:1130031234"',
  '<a href="https://www.aurora.example"',
  '<a href="mailto:dados@aurora.example"',
]
const sms = { number: '11987654321', typeSend: '2' }
const validation = { question: 'Cor?', reply: 'Azul' }

beforeAll(async () => {
  database = await createDatabase()
  const recipientLimits = { robot: { sinceSentMs: ANY_TIME, sincePageMs: ANY_TIME } }
  gateway = await startGateway(database.pool, {}, { recipientLimits })
  account = await createAccount(database.pool, { settings: { validation: true, ...identity } })
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
})

const sent = (body: object = {}, channel: Sent['target']['channel'] = 'email'): Promise<Sent> =>
  sendNotification(gateway, database.pool, account, body, channel)

async function confirm(url: string, target: Sent['target']): Promise<string> {
  const cookie = await openLink(url, target)
  await visit(`${url}/confirmar`, { form: filled(target), headers: { cookie } })
  return cookie
}

describe('the receipt', () => {
  const content = '<p>Olá, <b>Maria</b>: vence em 30 dias.</p><script>alert(1)</script>'
  const attachments = [
    { name: 'contrato.pdf', base64: Buffer.from('%PDF-1.4 é').toString('base64') },
    { name: 'um.txt', base64: Buffer.from('1').toString('base64') },
  ]

  test('lists the content and the attachments with the name, size and SHA-256 of the bytes that it gives to download', async () => {
    const { url, target } = await sent({ content, attachments })
    const cookie = await confirm(url, target)
    const { text } = await visit(`${url}/recibo`, { headers: { cookie } })
    const listed = [
      ...text.matchAll(
        /<li><a href="([^"]+)" download>([^<]+)<\/a> <span class="hint">([\d.]+) bytes?,[^<]*<\/span>\s*<span class="code">SHA-256 (\w+)</g,
      ),
    ].map(([, path, name, size, hash]) => ({ path: path!, name: name!, size: Number(size!.replace('.', '')), hash: hash! }))
    expect(listed.map(({ name }) => name)).toEqual(['notificacao-original.txt', 'contrato.pdf', 'um.txt'])
    const files = [Buffer.from(content), ...attachments.map(({ base64 }) => Buffer.from(base64, 'base64'))]
    for (const [index, { path, name, size, hash }] of listed.entries()) {
      const file = await visit(`${gateway.url}${path}`, { headers: { cookie } })
      expect(file.headers.get('content-type')).toBe('application/octet-stream')
      expect(file.headers.get('content-disposition')).toContain(`filename="${name}"`)
      expect(file.bytes.equals(files[index]!)).toBe(true)
      expect([size, hash]).toEqual([file.bytes.length, sha256(file.bytes)])
    }
  })

  test('has its own address, as text and as a QR code, and says who sent', async () => {
    const { url, target } = await sent()
    const cookie = await confirm(url, target)
    const { text } = await visit(`${url}/recibo`, { headers: { cookie } })
    const [, address] = /Endereço deste comprovante<\/strong><br><span class="code">([^<]+)</.exec(text)!
    expect(new URL(address!).pathname).toBe(`${new URL(url).pathname}/recibo`)
    expect(text).toContain(qrCode(address!))
    for (const shown of identityShown) expect(text).toContain(shown)
  })

  test('and the original are for the session that "Abrir" gave alone', async () => {
    const { url, target } = await sent()
    await confirm(url, target)
    for (const page of ['/recibo', '/original']) {
      const refused = await visit(`${url}${page}`)
      expect([refused.status, refused.headers.get('location')]).toEqual([303, new URL(url).pathname])
    }
  })
})

describe('a confirmation on another channel', () => {
  /** A notification by SMS and e-mail whose receipt was confirmed through the SMS's link. */
  async function confirmedBySms() {
    const bySms = await sent({ sms }, 'sms')
    const { id } = bySms
    const target = { notification: id, channel: 'email' as const }
    const fact = { channel: 'email' as const, type: 'sent' as const, at: new Date(), source: 'test', data: {} }
    await recordChanges(database.pool, Date.now, [{ kind: 'fact', notification: id, fact }])
    const code = await createShortLinks(database.pool, testKeys.link)(target)
    await confirm(bySms.short, bySms.target)
    return { id, bySms, email: { target, url: `${gateway.url}/s/${code}` } }
  }

  const confirmedAt = async (id: string): Promise<Record<string, Date | null>> => {
    const { rows } = await database.pool.query('select channel, confirmed_at from delivery where notification_id = $1', [id])
    return Object.fromEntries(rows.map(row => [row.channel, row.confirmed_at]))
  }

  test('is shown with its time and channel, its receipt is there, and this channel’s status stays', async () => {
    const { id, email } = await confirmedBySms()
    const before = await statusOf(gateway, account, 'email', id)
    const landing = await visit(email.url)
    expect(landing.text).toMatch(
      /Recebimento confirmado<\/strong> em \d\d\/\d\d\/\d{4} \d\d:\d\d:\d\d \(horário de Brasília\), <span class="together">por SMS/,
    )
    expect(await statusOf(gateway, account, 'email', id)).toEqual(before)

    const cookie = await openLink(email.url, email.target)
    const message = await visit(`${email.url}/mensagem`, { headers: { cookie } })
    expect(message.text).toMatch(/Recebimento confirmado.*por SMS/s)
    expect(message.text).not.toContain('Confirmar recebimento')
    const again = await visit(`${email.url}/confirmar`, { form: filled(email.target), headers: { cookie } })
    expect(again.headers.get('location')).toMatch(/\/recibo$/)
    const receipt = await visit(`${email.url}/recibo`, { headers: { cookie } })
    expect(receipt.text).toMatch(
      /Confirmada<\/dt><dd><strong>[^<]+<\/strong> \(horário de Brasília\), <span class="together">por SMS/,
    )
    expect(await confirmedAt(id)).toEqual({ email: null, sms: expect.any(Date) })
    expect(await statusOf(gateway, account, 'email', id)).toMatchObject({ dateAcceptance: null })
    const { rows } = await database.pool.query(
      "select data->>'channel' as channel, encode(hash, 'hex') as hash from event where notification_id = $1 and type = 'confirmed'",
      [id],
    )
    expect(rows.map(({ channel }) => channel)).toEqual(['sms'])
    expect(receipt.text).toContain(rows[0].hash)
  })

  test('leads to a receipt whose address opens nothing on this channel', async () => {
    const { id, email } = await confirmedBySms()
    const cookie = await openLink(email.url, email.target)
    const { text } = await visit(`${email.url}/recibo`, { headers: { cookie } })
    const [, address] = /Endereço deste comprovante<\/strong><br><span class="code">([^<]+)</.exec(text)!
    const landing = await visit(`${gateway.url}${new URL(address!).pathname.replace(/\/recibo$/, '')}`)
    expect(landing.status).toBe(200)
    expect(landing.text).toContain('SMS: final 4321')
    expect(landing.text).toContain(id)
  })

  test('leaves "Não sou esta pessoa" to whom this channel’s message reached by mistake', async () => {
    const { id, email, bySms } = await confirmedBySms()
    expect((await visit(`${email.url}/nao-sou-eu`)).text).toContain('Avisar que não sou eu')
    await visit(`${email.url}/nao-sou-eu`, { form: filled(email.target) })
    expect(await statusOf(gateway, account, 'email', id)).toMatchObject({ description: 'Não é o destinatário' })
    expect((await visit(`${bySms.short}/nao-sou-eu`)).status).toBe(303)
    expect(await confirmedAt(id)).toEqual({ email: null, sms: expect.any(Date) })
  })
})

describe('every page says who sends', () => {
  test.each(['', '/pergunta'])('%s', async page => {
    const { url } = await sent({ validation })
    const { text } = await visit(`${url}${page}`)
    for (const shown of identityShown) expect(text).toContain(shown)
  })

  test('the message, and a link that expired', async () => {
    const { id, url, target } = await sent()
    const cookie = await openLink(url, target)
    const message = await visit(`${url}/mensagem`, { headers: { cookie } })
    await database.tamper("update notification set accepted_at = accepted_at - interval '10 years' where id = $1", [id])
    const expired = await visit(url)
    expect(expired.status).toBe(410)
    for (const { text } of [message, expired]) for (const shown of identityShown) expect(text).toContain(shown)
  })

  test('an account that states nothing of itself shows its name alone', async () => {
    const owner = await createAccount(database.pool, { name: 'Só o nome' })
    const { url } = await sendNotification(gateway, database.pool, owner)
    const { text } = await visit(url)
    expect(text).toContain('<dt>De</dt><dd>Só o nome</dd>')
    expect(text).not.toMatch(/CNPJ|Encarregado/)
  })
})

test('the question says who asks, about what and why, and leads to "Não sou esta pessoa"', async () => {
  const { id, url } = await sent({ validation })
  const { text } = await visit(`${url}/pergunta`)
  for (const shown of ['Quem pergunta', 'Banco Aurora', validSend.subject, 'Maria S.', id, 'para que só Maria S. leia'])
    expect(text).toContain(shown)
  const [, path] = /<a href="([^"]+)">Não sou esta pessoa</.exec(text)!
  expect((await visit(`${gateway.url}${path}`)).text).toContain('Você não é Maria S.?')
})
