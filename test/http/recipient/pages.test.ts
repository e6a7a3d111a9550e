import { describe, expect, test } from 'vitest'
import { moduleOf } from '../../../src/channels/registry.js'
import { makeLinkCode, typedLink } from '../../../src/domain/recipient/link.js'
import { createShortLinks } from '../../../src/engine/recipient/short-links.js'
import { VISIT_NOTES } from '../../../src/engine/recipient/visits.js'
import { recordChanges } from '../../../src/engine/record/record.js'
import { findFaults } from '../../../src/evidence/notification-faults.js'
import { saveLogo } from '../../../src/store/accounts/accounts.js'
import { readEventLog } from '../../../src/store/notification/event-log.js'
import { createAccount, gatewayForFile, testKeys } from '../../support/gateway/gateway.js'
import { eventsOf, openLink, type Sent, sendNotification, statusOf } from '../../support/gateway/recipients.js'
import { request, send, validSend } from '../../support/gateway/requests.js'
import { ANY_TIME, cookieOf, filled, visit } from '../../support/gateway/visitor.js'

/** The recipient's pages over HTTP: what counts, what is only noted, and how a link ends. */

const LIMITS = { robot: { sinceSentMs: ANY_TIME, sincePageMs: 700 } }
const brt = /^\d\d\/\d\d\/\d{4} \d\d:\d\d:\d\d$/

const { database, gateway, account } = await gatewayForFile({
  parts: { recipientLimits: LIMITS },
  account: { settings: { validation: true, 'brand.name': 'Banco Aurora' } },
})

const sent = (body: object = {}, channel: Sent['target']['channel'] = 'email', owner = account): Promise<Sent> =>
  sendNotification(gateway, database.pool, owner, body, channel)
const status = (channel: string, id: string) => statusOf(gateway, account, channel, id)
const events = (id: string) => eventsOf(database.pool, id)

describe('reading', () => {
  test('viewing the page does not count, pressing "Abrir" counts as reading', async () => {
    const { id, url, target } = await sent()
    const landing = await visit(url)
    expect(landing.status).toBe(200)
    expect(landing.text).toContain(validSend.subject)
    expect(landing.text).not.toContain('Seu contrato vence')
    for (const page of ['', '/pergunta', '/mensagem', '/nao-sou-eu', '/recibo', '/conteudo']) await visit(`${url}${page}`)
    expect(await status('email', id)).toMatchObject({ description: 'Enviado', dateReading: null })

    const opened = await visit(url, { form: filled(target) })
    expect(opened.status).toBe(303)
    expect(opened.headers.get('location')).toBe(`${new URL(url).pathname}/mensagem`)
    const cookie = cookieOf(opened)
    expect((await visit(`${url}/mensagem`, { headers: { cookie } })).text).toContain('Confirmar recebimento')
    expect((await visit(`${url}/conteudo`, { headers: { cookie } })).text).toContain('Seu contrato vence em 30 dias.')
    expect(await status('email', id)).toMatchObject({
      description: 'Lido',
      dateReading: expect.stringMatching(brt),
      dateAcceptance: null,
    })
  })

  test('through its own link, the SMS is read and the e-mail is not', async () => {
    const { id, short, target } = await sent({ sms: { number: '11987654321', typeSend: '2' } }, 'sms')
    await openLink(short, target)
    expect(await status('sms', id)).toMatchObject({ description: 'Lido (acessou o link)', dateReading: expect.any(String) })
    expect(await status('email', id)).toMatchObject({ dateReading: null })
  })

  test('through WhatsApp’s link, the access has its date; behind a question the reading waits for the reply', async () => {
    const validation = { question: 'Cor?', reply: 'Azul' }
    const { id, short, target } = await sent({ whatsapp: { number: '11987654321' }, validation }, 'whatsapp')
    await visit(short, { form: filled(target) })
    expect(await status('whatsapp', id)).toMatchObject({ description: 'Enviado', dateAccessLink: expect.stringMatching(brt) })
    const answered = await visit(`${short}/pergunta`, { form: filled(target, { resposta: ' AZÚL! ' }) })
    expect(answered.headers.get('location')).toMatch(/\/mensagem$/)
    expect(await status('whatsapp', id)).toMatchObject({ description: 'Lido' })
  })

  test('a confirmation also dates the opening of WhatsApp’s link when the first press looked like a program’s', async () => {
    const { id, short, target } = await sent({ whatsapp: { number: '11987654321' } }, 'whatsapp')
    const cookie = cookieOf(await visit(short, { form: filled(target, {}, 50) }))
    const early = await status('whatsapp', id)
    expect(early).toMatchObject({ description: 'Enviado' })
    expect(early).not.toHaveProperty('dateAccessLink')
    await visit(`${short}/confirmar`, { form: filled(target), headers: { cookie } })
    expect(await status('whatsapp', id)).toMatchObject({
      description: 'Confirmou o recebimento',
      dateAccessLink: expect.stringMatching(brt),
    })
  })

  test('opening the link proves a send of unknown outcome', async () => {
    const answer = await send(gateway.url, account.token, { ...validSend, sms: { number: '11987654321', typeSend: '2' } })
    const { idEmail: id } = answer.body as { idEmail: string }
    const target = { notification: id, channel: 'sms' as const }
    const short = `${gateway.url}/s/${await createShortLinks(database.pool, testKeys.link)(target)}`
    await openLink(short, target)
    expect(await status('sms', id)).toMatchObject({ dateSend: '', dateReading: null })
    const fact = { channel: 'sms' as const, type: 'uncertain' as const, at: new Date(), source: 'test', data: {} }
    await recordChanges(database.pool, Date.now, [{ kind: 'fact', notification: id, fact }])
    await openLink(short, target)
    expect(await status('sms', id)).toMatchObject({ description: 'Lido (acessou o link)', dateSend: expect.stringMatching(brt) })
  })

  test('a copied short code leads to the same page in capitals', async () => {
    const { short } = await sent({ sms: { number: '11987654321' } }, 'sms')
    const { pathname } = new URL(short)
    expect((await visit(`${gateway.url}/s/${pathname.slice(3).toUpperCase()}`)).text).toContain(validSend.subject)
  })
})

describe('confirmation', () => {
  test('is dated on the channel of its link, and its receipt names the event that proves it', async () => {
    const { id, url, target } = await sent()
    const cookie = await openLink(url, target)
    expect((await visit(`${url}/recibo`, { headers: { cookie } })).headers.get('location')).toMatch(/\/mensagem$/)
    const confirmed = await visit(`${url}/confirmar`, { form: filled(target), headers: { cookie } })
    expect(confirmed.headers.get('location')).toMatch(/\/recibo$/)
    const { dateAcceptance } = await status('email', id)
    expect(dateAcceptance).toMatch(brt)
    const { rows } = await database.pool.query(
      "select encode(hash, 'hex') as hash from event where notification_id = $1 and type = 'confirmed'",
      [id],
    )
    const receipt = await visit(`${url}/recibo`, { headers: { cookie } })
    for (const text of [id, rows[0].hash, dateAcceptance as string, 'horário de Brasília', 'Banco Aurora']) {
      expect(receipt.text).toContain(text)
    }
    await visit(`${url}/confirmar`, { form: filled(target), headers: { cookie } })
    expect((await events(id)).filter(({ type }) => type === 'confirmed')).toHaveLength(1)
    expect((await visit(`${url}/mensagem`, { headers: { cookie } })).text).toContain('Recebimento confirmado')
  })

  test('needs the session that "Abrir" gave', async () => {
    const { id, url, target } = await sent()
    const refused = await visit(`${url}/confirmar`, { form: filled(target) })
    expect([refused.status, refused.headers.get('location')]).toEqual([303, new URL(url).pathname])
    expect(await status('email', id)).toMatchObject({ dateAcceptance: null })
  })
})

describe('a letter', () => {
  const letterOf = () => sent({ to: undefined, carta: {} }, 'letter')
  const post = (id: string, type: 'delivered') =>
    recordChanges(database.pool, Date.now, [
      { kind: 'fact', notification: id, fact: { channel: 'letter', type, at: new Date(), source: 'test', data: {} } },
    ])

  test('that is not delivered cannot be read: the access is an event with its circumstances, the status stays', async () => {
    const { id, url, target } = await letterOf()
    const cookie = await openLink(url, target)
    expect(cookie).not.toBe('')
    const posted = await status('carta', id)
    expect(posted).toMatchObject({ description: 'Enviado' })
    expect(posted).not.toHaveProperty('dateDelivery')
    const confirmed = await visit(`${url}/confirmar`, { form: filled(target), headers: { cookie } })
    expect(confirmed.status).toBe(200)
    expect(confirmed.text).toContain('ainda não consta como feita')
    expect(await status('carta', id)).toMatchObject({ description: 'Enviado' })
    const { rows } = await database.pool.query(
      'select delivered_at, read_at, confirmed_at from delivery where notification_id = $1',
      [id],
    )
    expect(rows).toEqual([{ delivered_at: null, read_at: null, confirmed_at: null }])
    const circumstances = { address: '127.0.0.1', userAgent: expect.stringContaining('Mozilla'), because: 'not delivered' }
    expect((await events(id)).filter(({ data }) => data.claimed !== undefined)).toMatchObject([
      { type: 'note', data: { claimed: 'read', by: 'open', ...circumstances } },
      { type: 'note', data: { claimed: 'confirmed', by: 'confirm', ...circumstances } },
    ])
  })

  test('that was delivered is read and confirmed through its link', async () => {
    const { id, url, target } = await letterOf()
    await openLink(url, target)
    await post(id, 'delivered')
    expect(await status('carta', id)).toMatchObject({ description: 'Entregue' })
    const cookie = await openLink(url, target)
    expect(await status('carta', id)).toMatchObject({ description: 'Lido' })
    const confirmed = await visit(`${url}/confirmar`, { form: filled(target), headers: { cookie } })
    expect(confirmed.headers.get('location')).toMatch(/\/recibo$/)
    expect(await status('carta', id)).toMatchObject({ description: 'Confirmou o recebimento' })
  })
})

describe('machines', () => {
  const robots: [string, Parameters<typeof visit>[1], string][] = [
    ['a scanner by name', { headers: { 'user-agent': 'Mozilla/5.0 (compatible; BarracudaCentral/1.0)' } }, 'scanner'],
    ['a form that is sent as soon as the page is there', {}, 'too soon after the page'],
    ['a request that no page of ours made', {}, 'no page'],
    ['who fills in what cannot be seen', {}, 'trap'],
    ['a steered browser', {}, 'steered browser'],
    ['a script in place of a page', { headers: { 'sec-fetch-mode': 'cors' } }, 'not a navigation'],
    [
      'a client with a browser’s name and nothing else',
      { headers: { 'sec-fetch-mode': undefined, 'accept-language': undefined } },
      'bare client',
    ],
    ['a browser that loads ahead', { headers: { 'sec-purpose': 'prefetch' } }, 'prefetch header'],
  ]
  const forms: Record<string, (target: Sent['target']) => Record<string, string>> = {
    'too soon after the page': target => filled(target, {}, 50),
    'no page': target => filled(target, { carimbo: 'AAAA' }),
    trap: target => filled(target, { aceitar_tudo: '1' }),
    'steered browser': target => filled(target, { guiado: '1' }),
  }

  test.each(robots)('%s sees the message, reads nothing and confirms nothing', async (_name, options, signal) => {
    const { id, url, target } = await sent()
    const form = () => (forms[signal] ?? filled)(target)
    const opened = await visit(url, { ...options, form: form() })
    expect(opened.headers.get('location')).toMatch(/\/mensagem$/)
    const cookie = cookieOf(opened)
    const again = await visit(`${url}/confirmar`, { form: form(), headers: { ...options?.headers, cookie } })
    expect(again.status).toBe(200)
    expect(again.text).toContain('pressione o botão mais uma vez')
    expect(await status('email', id)).toMatchObject({ description: 'Enviado', dateReading: null, dateAcceptance: null })
    for (const step of ['open', 'confirm']) {
      expect(await events(id)).toContainEqual(
        expect.objectContaining({
          type: 'note',
          data: expect.objectContaining({ by: step, automated: true, signals: [signal] }),
        }),
      )
    }
    await visit(`${url}/confirmar`, { form: filled(target), headers: { cookie } })
    expect(await status('email', id)).toMatchObject({ description: 'Confirmou o recebimento' })
  })

  test('no script, and no Sec-Fetch headers: an old phone is a person', async () => {
    const { id, url, target } = await sent()
    const { guiado: _, ...form } = filled(target)
    await visit(url, { form, headers: { 'sec-fetch-mode': undefined } })
    expect(await status('email', id)).toMatchObject({ description: 'Lido' })
  })

  test('HEAD and GET are noted with what was seen, and equal ones once', async () => {
    const { id, url } = await sent()
    for (let round = 0; round < 3; round++) await visit(url, { method: 'HEAD' })
    for (let round = 0; round < 3; round++) await visit(url)
    const noted = (await events(id)).map(({ type, data }) => [type, data.by, data.signals])
    expect(noted).toEqual([
      ['note', 'landing', ['method']],
      ['note', 'landing', []],
    ])
    expect((await events(id))[0]!.data).toMatchObject({ address: '127.0.0.1', userAgent: expect.stringContaining('moto e13') })
  })

  test('a flood of different accesses, by page and by image, cannot grow the chain without end', async () => {
    const { id, url } = await sent()
    const image = url.replace('/n/', '/o/')
    const one = (round: number) => visit(round % 2 === 0 ? url : `${image}.gif`, { headers: { 'user-agent': `curl/${round}` } })
    for (let start = 0; start < 3 * VISIT_NOTES.most; start += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, index) => one(start + index)))
    }
    const noted = await events(id)
    expect(noted).toHaveLength(VISIT_NOTES.most)
    expect(noted.filter(({ data }) => data.lastNote === true)).toHaveLength(1)
    expect(await status('email', id)).toMatchObject({ dateReading: null })
  })
})

describe('not this person', () => {
  test('is asked first; then the address is suppressed for that account, the delivery fails, and the link ends', async () => {
    const to = 'outra@example.com'
    const { id, url, target } = await sent({ to, sms: { number: '11987654321' } })
    expect((await visit(`${url}/nao-sou-eu`)).text).toContain('Você não é Maria S.?')
    const flagged = await visit(`${url}/nao-sou-eu`, { form: filled(target, { guiado: '1' }) })
    expect(flagged.text).toContain('pressione o botão mais uma vez')
    expect(await status('email', id)).toMatchObject({ error: false })

    const done = await visit(`${url}/nao-sou-eu`, { form: filled(target) })
    expect(done.text).toContain('Obrigado por avisar')
    expect(await status('email', id)).toMatchObject({ error: true, description: 'Não é o destinatário' })
    const full = (await request(`${gateway.url}/gw/full/${id}`, { token: account.token })).body as {
      statusFull: { email: { label: string }[] }
    }
    expect(full.statusFull.email.at(-1)!.label).toBe('Não é o destinatário')
    // As after a bounce: the SMS that waited for the e-mail goes.
    expect(await status('sms', id)).toMatchObject({ description: 'Processado' })
    const { rows } = await database.pool.query('select account_id, channel, reason from suppression where recipient = $1', [to])
    expect(rows).toEqual([{ account_id: account.id, channel: 'email', reason: 'stranger' }])
    const over = await visit(url)
    expect(over.status).toBe(410)
    expect(over.text).not.toContain('Abrir a notificação')
    expect((await visit(url, { form: filled(target) })).status).toBe(410)
  })

  test('is announced to webhooks', async () => {
    const owner = await createAccount(database.pool)
    await database.pool.query(
      "insert into webhook_endpoint (id, account_id, mode, url, payload_version, secret) values (gen_random_uuid(), $1, 'live', 'https://example.com', 'v2', 'x')",
      [owner.id],
    )
    const { id, url, target } = await sent({}, 'email', owner)
    await visit(`${url}/nao-sou-eu`, { form: filled(target) })
    const { rows } = await database.pool.query(
      'select e.type, e.data from webhook_message w join event e on e.notification_id = w.notification_id and e.seq = w.event_seq where w.notification_id = $1 order by e.seq',
      [id],
    )
    expect(rows.at(-1)).toMatchObject({ type: 'failed', data: { failure: 'stranger', by: 'not me' } })
  })

  test('cannot be reported after a confirmation', async () => {
    const { id, url, target } = await sent()
    const cookie = await openLink(url, target)
    await visit(`${url}/confirmar`, { form: filled(target), headers: { cookie } })
    expect((await visit(`${url}/nao-sou-eu`, { form: filled(target) })).status).toBe(303)
    expect(await status('email', id)).toMatchObject({ error: false })
  })

  test('is offered before a confirmation, and after one only where another channel confirmed', async () => {
    const validation = { question: 'Cor?', reply: 'Azul' }
    const { id, url, short, target } = await sent({ sms: { number: '11987654321', typeSend: '2' }, validation }, 'sms')
    const offers = async (link: string) =>
      Promise.all(['', '/pergunta'].map(async page => (await visit(`${link}${page}`)).text.includes('Não sou esta pessoa')))
    expect(await offers(short)).toEqual([true, true])
    const cookie = cookieOf(await visit(`${short}/pergunta`, { form: filled(target, { resposta: 'azul' }) }))
    await visit(`${short}/confirmar`, { form: filled(target), headers: { cookie } })
    expect(await status('sms', id)).toMatchObject({ description: 'Confirmou o recebimento' })
    expect(await offers(short)).toEqual([false, false])
    expect(await offers(url)).toEqual([false, false])
    expect(await offers(`${gateway.url}/n/${makeLinkCode(testKeys.link, id, moduleOf('email').linkCode)}`)).toEqual([true, true])
  })
})

describe('the end of a link', () => {
  test('comes after the account’s days', async () => {
    const owner = await createAccount(database.pool, { settings: { 'link.days': 2 } })
    const { id, url, target } = await sent({}, 'email', owner)
    expect((await visit(url)).status).toBe(200)
    await database.tamper("update notification set accepted_at = accepted_at - interval '49 hours' where id = $1", [id])
    const over = await visit(url)
    expect([over.status, over.text.includes('Este link expirou')]).toEqual([410, true])
    expect((await visit(url, { form: filled(target) })).status).toBe(410)
    expect((await statusOf(gateway, owner, 'email', id)).dateReading).toBeNull()
  })

  test('comes when its channel was cancelled', async () => {
    const answer = await send(gateway.url, account.token, { ...validSend, sms: { number: '11987654321' } })
    const { idEmail } = answer.body as { idEmail: string }
    const code = await createShortLinks(database.pool, testKeys.link)({ notification: idEmail, channel: 'sms' })
    await request(`${gateway.url}/regua-notificacao/finalizar/${idEmail}`, { token: account.token })
    const over = await visit(`${gateway.url}/s/${code}`)
    expect([over.status, over.text.includes('foi retirada')]).toEqual([410, true])
  })
})

describe('a code on paper', () => {
  test('is typed on a page of its own and leads where the QR code leads', async () => {
    const { url, short, target } = await sent({ carta: { variables: {} } }, 'letter')
    const code = new URL(short).pathname.slice('/s/'.length)
    const typed = typedLink(gateway.url, code)
    const form = await visit(`http://${typed.address}`)
    expect([form.status, form.text.includes('name="codigo"')]).toEqual([200, true])
    const followed = await visit(`http://${typed.address}`, { form: { codigo: ` ${typed.code} ` } })
    expect([followed.status, followed.headers.get('location')]).toEqual([303, `/s/${code}`])
    // The same page, but for its own address and the moment of its forms.
    const shown = async (address: string) =>
      (await visit(address)).text.replaceAll(/\/[ns]\/[\w-]+/g, '').replaceAll(/name="carimbo" value="[^"]+"/g, '')
    expect(await shown(short)).toBe(await shown(url))
    expect(await shown(`http://${typed.address}/${typed.code}`)).toBe(await shown(url))
    expect(await openLink(short, target)).toMatch(/^carteiro=/)
  })

  test('that is none says what to do, and one that nobody has is counted as any guess', async () => {
    expect((await visit(`${gateway.url}/s/`)).status).toBe(200)
    const empty = await visit(`${gateway.url}/s`, { form: { codigo: ' - ' } })
    expect([empty.status, empty.text.includes('name="codigo"')]).toEqual([400, true])
    const wrong = await visit(`${gateway.url}/s`, { form: { codigo: '../n/x?y#z' } })
    expect([wrong.status, wrong.headers.get('location')]).toEqual([303, '/s/___n_x_y_z'])
    expect((await visit(`${gateway.url}/s/___n_x_y_z`)).status).toBe(404)
  })
})

describe('an account’s brand', () => {
  test('shows its name, colour, logo and own address', async () => {
    const owner = await createAccount(database.pool, {
      settings: { 'brand.name': 'Aurora & Filhos', 'brand.color': '#7a1f5c', 'link.domain': 'https://avisos.aurora.example' },
    })
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')
    const hash = await saveLogo(database.pool, owner.id, { type: 'image/svg+xml', bytes: svg })
    const { url, target } = await sent({}, 'email', owner)
    const landing = await visit(url, { headers: { host: 'avisos.aurora.example' } })
    for (const text of ['Aurora &amp; Filhos', ':root{--brand:#7a1f5c}', `/r/logo/${hash}`, '<b>avisos.aurora.example</b>']) {
      expect(landing.text).toContain(text)
    }
    const logo = await visit(`${gateway.url}/r/logo/${hash}`)
    expect(logo.headers.get('content-type')).toBe('image/svg+xml')
    expect(logo.headers.get('content-security-policy')).toMatch(/default-src 'none'.*sandbox$/)
    expect((await visit(`${gateway.url}/r/logo/${'0'.repeat(64)}`)).status).toBe(404)
    // E-mails that have gone out still show the logo of their day.
    await saveLogo(database.pool, owner.id, {
      type: 'image/svg+xml',
      bytes: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'),
    })
    expect((await visit(`${gateway.url}/r/logo/${hash}`)).status).toBe(200)
    const opened = await visit(url, {
      form: filled(target),
      headers: { host: 'avisos.aurora.example', origin: 'https://avisos.aurora.example' },
    })
    expect(opened.headers.get('set-cookie')).toMatch(/; HttpOnly; SameSite=Lax; Secure$/)
  })

  test('the first view stays below 15 kB, script below 5 kB', async () => {
    const { url } = await sent()
    const landing = await visit(url)
    const assets = [...landing.text.matchAll(/(?:href|src)="(\/r\/[^"]+)"/g)].map(([, path]) => path!)
    expect(assets).toHaveLength(2)
    const loaded = await Promise.all(assets.map(path => visit(`${gateway.url}${path}`)))
    expect(loaded.map(({ status }) => status)).toEqual([200, 200])
    expect(loaded[1]!.bytes.length).toBeLessThan(5_000)
    expect(landing.bytes.length + loaded.reduce((sum, { bytes }) => sum + bytes.length, 0)).toBeLessThan(15_000)
  })
})

test('the statuses are what the events add up to, and every chain is whole', async () => {
  const faults: string[] = []
  for await (const page of readEventLog(database.pool)) faults.push(...page.flatMap(findFaults))
  expect(faults).toEqual([])
})
