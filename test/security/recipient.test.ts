import { hash, randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { Refusal } from '../../src/domain/errors.js'
import { matchesReply } from '../../src/domain/recipient/reply.js'
import { createReplies, replyLimit } from '../../src/engine/recipient/replies.js'
import { createVisitRecorder } from '../../src/engine/recipient/visits.js'
import { resetAttempts, takeAttempt } from '../../src/store/recipient/visit-counts.js'
import { createAccount, gatewayForFile, gatewayForTest, testKeys } from '../support/gateway/gateway.js'
import { eventsOf, openLink, type Sent, sendNotification, statusOf } from '../support/gateway/recipients.js'
import { ANY_TIME, cookieOf, filled, type Seen, visit } from '../support/gateway/visitor.js'

/** Attacks on the recipient's pages, and the answers that they must get. */

const LIMITS = { robot: { sinceSentMs: ANY_TIME, sincePageMs: ANY_TIME } }
const validation = { question: 'Três primeiros dígitos do CPF?', reply: '123' }

const { database, gateway, account } = await gatewayForFile({
  env: { TRUSTED_PROXIES: '127.0.0.1' },
  parts: { recipientLimits: LIMITS },
  account: { settings: { validation: true } },
})

const sent = (body: object = {}, channel: Sent['target']['channel'] = 'email'): Promise<Sent> =>
  sendNotification(gateway, database.pool, account, body, channel)
const status = (id: string) => statusOf(gateway, account, 'email', id)

const withoutChance = ({ status: code, headers, text }: Seen) => {
  const kept = [...headers].filter(([name]) => !['x-request-id', 'date'].includes(name))
  return { code, headers: Object.fromEntries(kept), text }
}

describe('guessed links', () => {
  test('malformed, altered and unknown full codes get one and the same page', async () => {
    const { url } = await sent()
    const code = url.slice(url.lastIndexOf('/') + 1)
    const altered = `${code.slice(0, -2)}${code.at(-2) === 'A' ? 'B' : 'A'}${code.at(-1)}`
    const guesses = [
      altered,
      randomBytes(33).toString('base64url'),
      'x',
      'x'.repeat(5_000),
      '%00',
      '..%2f..%2fetc%2fpasswd',
      `${code}A`,
    ]
    const answers = await Promise.all(guesses.map(guess => visit(`${gateway.url}/n/${guess}`)))
    for (const answer of answers) expect(withoutChance(answer)).toEqual(withoutChance(answers[0]!))
    expect(answers[0]!.status).toBe(404)
    expect((await visit(url)).status).toBe(200)
  })

  test('unknown and malformed short codes get the same page too, and the page of a full code', async () => {
    const guesses = ['zzzzzzzzzz', 'x', '%00', "'%20or%201=1", '%F0%9F%98%80', 'x'.repeat(5_000)]
    const answers = await Promise.all(guesses.map(guess => visit(`${gateway.url}/s/${guess}`)))
    for (const answer of [...answers, await visit(`${gateway.url}/n/x`)]) {
      expect(withoutChance(answer)).toEqual(withoutChance(answers[0]!))
    }
  })

  test('wrong short codes from one address lock it, on every node, also for right ones; others are served', async () => {
    const guesses = {
      perAddress: { wrong: 20, windowMs: 60_000, lockMs: 60_000 },
      perSite: { wrong: 10_000, windowMs: 60_000, lockMs: 1 },
      total: { wrong: 10_000, windowMs: 60_000, lockMs: 1 },
    }
    const nodes = [
      await gatewayForTest(database.pool, { TRUSTED_PROXIES: '127.0.0.1' }, { recipientLimits: { ...LIMITS, guesses } }),
      await gatewayForTest(database.pool, { TRUSTED_PROXIES: '127.0.0.1' }, { recipientLimits: { ...LIMITS, guesses } }),
    ]
    const { short } = await sent({ sms: { number: '11987654321', typeSend: '2' } }, 'sms')
    const path = new URL(short).pathname
    const from = (address: string) => ({ headers: { 'x-forwarded-for': address } })
    const attacker = from('203.0.113.7')
    // All at once: what is looked at before the lock is what was under way when it came.
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, index) => visit(`${nodes[index % 2]!.url}/s/${`guess${index}`.padEnd(10, 'a')}`, attacker)),
    )
    const unlocked = answers.filter(({ status: code }) => code === 404).length
    expect(unlocked).toBeGreaterThanOrEqual(20)
    expect(unlocked).toBeLessThan(20 + 2 * 4)
    for (const node of nodes) {
      const locked = await visit(`${node.url}${path}`, attacker)
      expect(locked.status).toBe(429)
      expect(Number(locked.headers.get('retry-after'))).toBeGreaterThan(0)
      const wrong = await visit(`${node.url}/s/aaaaaaaaab`, attacker)
      expect(wrong.text).toBe(locked.text)
      expect((await visit(`${node.url}${path}`, from('203.0.113.8'))).status).toBe(200)
    }
    await database.pool.query("update guess_window set locked_until = now(), started_at = now() - interval '1 hour'")
    const later = await gatewayForTest(
      database.pool,
      { TRUSTED_PROXIES: '127.0.0.1' },
      { recipientLimits: { ...LIMITS, guesses } },
    )
    expect((await visit(`${later.url}${path}`, attacker)).status).toBe(200)
  })

  test('guesses from many addresses are locked in total; full links, and people who guess nothing, are served', async () => {
    await database.pool.query('delete from guess_window')
    const guesses = {
      perAddress: { wrong: 50, windowMs: 60_000, lockMs: 60_000 },
      perSite: { wrong: 50, windowMs: 60_000, lockMs: 60_000 },
      total: { wrong: 30, windowMs: 60_000, lockMs: 60_000 },
    }
    const options = { recipientLimits: { ...LIMITS, guesses } }
    const nodes = [
      await gatewayForTest(database.pool, { TRUSTED_PROXIES: '127.0.0.1' }, options),
      await gatewayForTest(database.pool, { TRUSTED_PROXIES: '127.0.0.1' }, options),
    ]
    const { url, short } = await sent({ sms: { number: '11987654321', typeSend: '2' } }, 'sms')
    const from = (address: string) => ({ headers: { 'x-forwarded-for': address } })
    const addressOf = (index: number): string => (index % 2 === 0 ? `198.51.100.${index}` : `2001:db8:${index}::1`)
    for (let index = 0; index < 30; index++) {
      const code = String(index).padEnd(10, 'b')
      expect((await visit(`${nodes[0]!.url}/s/${code}`, from(addressOf(index)))).status).toBe(404)
    }
    const [path, fullPath] = [new URL(short).pathname, new URL(url).pathname]
    for (const node of nodes) {
      for (const guilty of ['198.51.100.0', '2001:db8:1::1', '2001:db8:1:ffff::1', '198.51.100.28']) {
        const locked = await visit(`${node.url}${path}`, from(guilty))
        expect(locked.status, guilty).toBe(429)
        expect(Number(locked.headers.get('retry-after'))).toBeGreaterThan(0)
        expect((await visit(`${node.url}/s/aaaaaaaaab`, from(guilty))).text).toBe(locked.text)
        expect((await visit(`${node.url}${fullPath}`, from(guilty))).status).toBe(200)
      }
      for (const innocent of ['192.0.2.1', '2001:db8:ffff::1']) {
        expect((await visit(`${node.url}${path}`, from(innocent))).status, innocent).toBe(200)
      }
    }
    expect((await visit(`${nodes[0]!.url}/s/aaaaaaaaac`, from('192.0.2.2'))).status).toBe(404)
    expect((await visit(`${nodes[1]!.url}${path}`, from('192.0.2.2'))).status).toBe(429)
    await database.pool.query('delete from guess_window')
  })

  test('one IPv6 site that guesses from all its networks is locked as one, and nobody else is', async () => {
    await database.pool.query('delete from guess_window')
    const guesses = {
      perAddress: { wrong: 50, windowMs: 60_000, lockMs: 60_000 },
      perSite: { wrong: 20, windowMs: 60_000, lockMs: 60_000 },
      total: { wrong: 10_000, windowMs: 60_000, lockMs: 1 },
    }
    const node = await gatewayForTest(
      database.pool,
      { TRUSTED_PROXIES: '127.0.0.1' },
      { recipientLimits: { ...LIMITS, guesses } },
    )
    const { short } = await sent({ sms: { number: '11987654321', typeSend: '2' } }, 'sms')
    const from = (address: string) => ({ headers: { 'x-forwarded-for': address } })
    for (let index = 0; index < 20; index++) {
      const code = String(index).padEnd(10, 'c')
      expect((await visit(`${node.url}/s/${code}`, from(`2001:db8:7:${index.toString(16)}::1`))).status).toBe(404)
    }
    const path = `${node.url}${new URL(short).pathname}`
    expect((await visit(path, from('2001:db8:7:abcd::1'))).status).toBe(429)
    expect((await visit(path, from('2001:db8:8::1'))).status).toBe(200)
    await database.pool.query('delete from guess_window')
  })
})

const isTold = <T>(one: PromiseSettledResult<T>): one is PromiseFulfilledResult<T> => one.status === 'fulfilled'
const isRefused = <T>(one: PromiseSettledResult<T>): one is PromiseRejectedResult => one.status === 'rejected'

describe('guessed replies', () => {
  test('of 10,000 sent at once to two nodes, five are compared', async () => {
    const { id, target } = await sent({ validation })
    const { rows } = await database.pool.query('select validation from notification where id = $1', [id])
    let looked = 0
    const node = () => {
      const record = async () => 'recorded' as const
      return createReplies({
        pepper: testKeys.pepper,
        record,
        visits: createVisitRecorder({ record, isSenders: async () => false }),
        isSenders: async () => false,
        takeAttempt: (notification, limit) => takeAttempt(database.pool, notification, limit),
        resetAttempts: notification => resetAttempts(database.pool, notification),
        matches: (...given) => {
          looked++
          return matchesReply(...given)
        },
      })
    }
    const nodes = [node(), node()]
    const verdicts = await Promise.allSettled(
      Array.from({ length: 10_000 }, (_, index) => {
        const visitor = { target, at: new Date(), address: `10.0.${index >> 8}.${index & 255}`, userAgent: 'x', signals: [] }
        return nodes[index % 2]!(visitor, rows[0].validation, String(index + 1_000))
      }),
    )
    expect(looked).toBe(5)
    const [told, refused] = [verdicts.filter(isTold), verdicts.filter(isRefused)]
    expect(told.length).toBeGreaterThan(5)
    expect(told.every(({ value }) => !value.right)).toBe(true)
    // The rest is sent away at once, and does not keep the database from anybody.
    expect(refused.length).toBeGreaterThan(9_000)
    expect(refused.every(({ reason }) => reason instanceof Refusal && reason.code === 'overloaded')).toBe(true)
  })

  test('five wrong ones lock for 15 minutes: a right one is refused too, the page shows how long, and the chain records it', async () => {
    const { id, url, target } = await sent({ validation })
    const reply = (resposta: string) => visit(`${url}/pergunta`, { form: filled(target, { resposta }) })
    const answers = await Promise.all(['000', '001', '002', '003', '004', '005', '006', '007'].map(reply))
    expect(answers.map(answer => answer.status).sort()).toEqual([422, 422, 422, 422, 429, 429, 429, 429])
    const locked = await reply('123')
    expect(locked.status).toBe(429)
    expect(locked.text).toContain('bloqueadas por 15 minutos')
    expect(Number(locked.headers.get('retry-after'))).toBeGreaterThan(800)
    expect((await visit(`${url}/pergunta`)).text).toContain('bloqueadas por 15 minutos')
    const told = (await eventsOf(database.pool, id)).filter(({ data }) => data.right === false)
    expect(told.map(({ data }) => data.try).sort()).toEqual([1, 2, 3, 4, 5])
    expect(told.filter(({ data }) => typeof data.lockedUntil === 'string')).toHaveLength(1)

    const endLock = () => database.pool.query('update visit_count set locked_until = now() where notification_id = $1', [id])
    await endLock()
    for (const wrong of ['008', '009', '010', '011', '012']) await reply(wrong)
    expect((await reply('123')).text).toContain('bloqueadas por 30 minutos')
    await endLock()
    expect((await reply('1-2-3')).status).toBe(303)
    // A right reply starts the count again.
    expect((await reply('999')).text).toContain(`Restam ${replyLimit.attempts - 1} tentativas.`)
  })

  test('slow wrong ones lock too, and each lock lasts longer; only a right one resets them', async () => {
    const { id, url, target } = await sent({ validation })
    const reply = (resposta: string) => visit(`${url}/pergunta`, { form: filled(target, { resposta }) })
    const passTime = (hours: number) =>
      database.pool.query(
        `update visit_count set tried_at = tried_at - $2 * interval '1 hour', locked_until = locked_until - $2 * interval '1 hour'
         where notification_id = $1`,
        [id, hours],
      )
    for (const minutes of [15, 30]) {
      for (const wrong of ['000', '001', '002', '003']) {
        expect((await reply(wrong)).status).toBe(422)
        await passTime(1)
      }
      const last = await reply('004')
      expect(last.status).toBe(429)
      expect(last.text).toContain(`bloqueadas por ${minutes} minutos`)
      await passTime(1)
    }
    await passTime(1_000)
    for (const wrong of ['005', '006', '007', '008', '009']) await reply(wrong)
    expect((await reply('123')).text).toContain('bloqueadas por 1 hora')
  })

  test('nothing behind the question is shown without the reply: not by address, not with an unprotected session', async () => {
    const { url } = await sent({
      validation,
      content: '<p>segredo-4471</p>',
      attachments: [{ name: 'a.txt', base64: 'c2VncmVkbw==' }],
    })
    const other = await sent()
    const cookie = await openLink(other.url, other.target)
    for (const page of ['/mensagem', '/conteudo', '/baixar', '/anexo/1', '/recibo']) {
      for (const headers of [{}, { cookie }]) {
        const answer = await visit(`${url}${page}`, { headers })
        expect([answer.status, answer.headers.get('location')], page).toEqual([303, new URL(url).pathname])
        expect(answer.text).not.toContain('segredo')
      }
    }
  })
})

describe('sessions', () => {
  test('are for one notification and channel, end, and cannot be made up', async () => {
    const [one, two] = [await sent(), await sent()]
    const opened = await visit(one.url, { form: filled(one.target) })
    expect(opened.headers.get('set-cookie')).toMatch(
      /^carteiro=[\w-]+; Path=\/n\/[\w-]{44}; Max-Age=1800; HttpOnly; SameSite=Lax$/,
    )
    const cookie = cookieOf(opened)
    const landed = async (url: string, value: string) => (await visit(`${url}/mensagem`, { headers: { cookie: value } })).status
    expect(await landed(one.url, cookie)).toBe(200)
    expect(await landed(one.url, `outro=1; carteiro=falso; ${cookie}`)).toBe(200)
    expect(await landed(two.url, cookie)).toBe(303)
    // A form's stamp is signed too, and is no session.
    for (const forged of ['', 'x', cookie.slice(9, -1), filled(one.target).carimbo!]) {
      expect(await landed(one.url, `carteiro=${forged}`)).toBe(303)
    }
  })

  test.each([
    ['another site', { origin: 'https://evil.example' }],
    ['another site, by Sec-Fetch-Site', { 'sec-fetch-site': 'cross-site' }],
    ['a neighbour below the same domain', { 'sec-fetch-site': 'same-site' }],
    ['a sandboxed frame', { origin: 'null' }],
    ['nowhere', { origin: undefined }],
  ])('a form from %s is refused and changes nothing', async (_name, headers) => {
    const { id, url, target } = await sent()
    const cookie = await openLink(url, target)
    for (const page of ['', '/confirmar', '/nao-sou-eu', '/pergunta']) {
      expect((await visit(`${url}${page}`, { form: filled(target), headers: { cookie, ...headers } })).status, page).toBe(403)
    }
    expect(await status(id)).toMatchObject({ dateAcceptance: null, error: false })
  })

  test('an old browser that sends only Referer is believed', async () => {
    const { id, url, target } = await sent()
    await visit(url, { form: filled(target), headers: { origin: undefined, referer: url } })
    expect(await status(id)).toMatchObject({ description: 'Lido' })
  })

  test('bodies of another kind, or too large, get a page and change nothing', async () => {
    const { id, url, target } = await sent()
    const json = await visit(url, { form: filled(target), headers: { 'content-type': 'application/json' } })
    const large = await visit(url, { form: filled(target, { resposta: 'x'.repeat(20_000) }) })
    for (const answer of [json, large]) {
      expect(answer.status).toBe(400)
      expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
    }
    expect(await status(id)).toMatchObject({ dateReading: null })
  })
})

describe('what the sender wrote', () => {
  const attacks = [
    '<script>alert(1)</script>',
    '<svg onload=alert(1)><circle r=1></svg>',
    '<img src=x onerror=alert(1)>',
    '<a href="javascript:alert(1)">x</a>',
    '<a href="&#106;avascript:alert(1)">x</a>',
    '<a href="data:text/html,<script>alert(1)</script>">x</a>',
    '<iframe src="https://evil.example"></iframe>',
    '<form action="https://evil.example"><input name=senha></form>',
    '<meta http-equiv=refresh content="0;url=https://evil.example">',
    '<base href="https://evil.example/">',
    '<math><mi xlink:href="javascript:alert(1)">x</mi></math>',
    '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
    '<textarea><img src=x onerror=alert(1)></textarea>',
    '<style>@import url(https://evil.example)</style>',
    '<object data="x"></object><embed src="x"><link rel=stylesheet href="//evil.example">',
  ]

  test.each(attacks)('%s runs nowhere', async attack => {
    const { url, target } = await sent({ content: `<p>antes</p>${attack}<p>depois</p>` })
    const cookie = await openLink(url, target)
    const shown = await visit(`${url}/conteudo`, { headers: { cookie } })
    // A title is text, and may say anything.
    const body = shown.text.slice(shown.text.indexOf('<body>')).replace(/ title="[^"]*"/g, '')
    expect(body).toContain('antes')
    expect(body).not.toMatch(
      /<(script|svg|iframe|form|input|meta|base|math|object|embed|link|style|textarea)\b|javascript:|data:text|<[^>]*\son\w+=/i,
    )
    const policy = shown.headers.get('content-security-policy')!
    expect(policy).toMatch(/default-src 'none'/)
    expect(policy).toMatch(/sandbox allow-popups allow-popups-to-escape-sandbox$/)
    expect(policy).not.toMatch(/allow-scripts|allow-same-origin|script-src/)
    // In the frame one script runs: ours, by its hash, without an origin.
    const framed = await visit(`${url}/conteudo?moldura`, { headers: { cookie } })
    const [, script] = /<script>(.*?)<\/script><\/body>/s.exec(framed.text)!
    expect(framed.text.replace(`<script>${script}</script>`, '')).toBe(shown.text)
    const framedPolicy = framed.headers.get('content-security-policy')!
    expect(framedPolicy).toContain(`script-src 'sha256-${hash('sha256', script!, 'base64')}';`)
    expect(framedPolicy).not.toMatch(/allow-same-origin|unsafe-(?!inline'; base)|allow-forms|allow-top/)
  })

  test('subject, names, question and brand are text', async () => {
    const evil = '"><script>alert(1)</script>'
    const owner = await createAccount(database.pool, { settings: { validation: true, 'brand.name': evil } })
    const { url, target } = await sendNotification(gateway, database.pool, owner, {
      subject: evil,
      nameTo: evil,
      validation: { question: evil, reply: '1' },
      attachments: [{ name: `${evil.replaceAll('/', '')}.txt`, base64: 'eA==' }],
    })
    const cookie = cookieOf(await visit(`${url}/pergunta`, { form: filled(target, { resposta: '1' }) }))
    await visit(`${url}/confirmar`, { form: filled(target), headers: { cookie } })
    for (const page of ['', '/pergunta', '/mensagem', '/recibo', '/nao-sou-eu']) {
      expect((await visit(`${url}${page}`, { headers: { cookie } })).text, page).not.toMatch(/<script>/)
    }
  })

  test('a content that would take too long to clean is not shown, is offered as plain text, and delays no other visitor', async () => {
    const { url, target } = await sent({ content: `Aviso${'<b>'.repeat(300_000)}` })
    const cookie = await openLink(url, target)
    const { url: other } = await sent()
    // More than the entrance lets in at once.
    const slow = Array.from({ length: 150 }, () => visit(`${url}/conteudo`, { headers: { cookie } }))
    let done = 0
    for (const visiting of slow) void visiting.then(() => done++)
    expect((await visit(other)).status).toBe(200)
    expect(done).toBeLessThan(slow.length)
    const answers = await Promise.all(slow)
    expect(new Set(answers.map(({ status: code }) => code))).toEqual(new Set([200, 503]))
    for (const { text, status: code } of answers) if (code === 200) expect(text).toContain('complexa demais')
    const file = await visit(`${url}/baixar`, { headers: { cookie } })
    expect(file.headers.get('content-disposition')).toContain('notificacao.txt')
  })
})

describe('files', () => {
  const attachments = [
    { name: 'boleto.pdf', base64: Buffer.from('<html><script>alert(1)</script>').toString('base64') },
    { name: 'relatório "final"; v2 — ação.html', base64: Buffer.from('<script>alert(2)</script>').toString('base64') },
  ]

  test('are only ever downloads, whatever they hold and are called', async () => {
    const { url, target } = await sent({ attachments })
    const cookie = await openLink(url, target)
    for (const [index, { base64 }] of attachments.entries()) {
      const file = await visit(`${url}/anexo/${index + 1}`, { headers: { cookie } })
      expect(file.status).toBe(200)
      expect(file.bytes.toString('base64')).toBe(base64)
      expect(Object.fromEntries(file.headers)).toMatchObject({
        'content-type': 'application/octet-stream',
        'x-content-type-options': 'nosniff',
        'content-disposition': expect.stringMatching(/^attachment; filename="[ -~]+"; filename\*=UTF-8''[\w%.~-]+$/),
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
        'cache-control': 'no-store, private',
      })
    }
    const named = (await visit(`${url}/anexo/2`, { headers: { cookie } })).headers.get('content-disposition')!
    expect(decodeURIComponent(named.split("UTF-8''")[1]!)).toBe(attachments[1]!.name)
  })

  test.each([
    '0',
    '-1',
    '3',
    '01',
    '1.5',
    '1e1',
    '99999',
    '..%2f1',
    '%2e%2e%2f%2e%2e%2fetc%2fpasswd',
    '1%00',
    '١',
    '1/../../etc/passwd',
  ])('anexo/%s leads nowhere', async ordinal => {
    const { url, target } = await sent({ attachments })
    const cookie = await openLink(url, target)
    const answer = await visit(`${url}/anexo/${ordinal}`, { headers: { cookie } })
    expect(answer.status).toBe(404)
  })
})

test('no page may be framed, kept, sniffed or told where the reader came from', async () => {
  const { url, target } = await sent({ validation })
  const cookie = cookieOf(await visit(`${url}/pergunta`, { form: filled(target, { resposta: '123' }) }))
  await visit(`${url}/confirmar`, { form: filled(target), headers: { cookie } })
  for (const page of ['', '/pergunta', '/mensagem', '/recibo', '/x', '/conteudo']) {
    const { headers } = await visit(`${url}${page}`, { headers: { cookie } })
    const frames =
      page === '/conteudo' ? /frame-ancestors 'self'/ : /default-src 'none'.*form-action 'self'.*frame-ancestors 'none'/
    expect(headers.get('content-security-policy'), page).toMatch(frames)
    expect(headers.get('content-security-policy'), page).not.toMatch(/unsafe-eval|script-src [^;]*unsafe/)
    expect(headers.get('cache-control'), page).toBe('no-store, private')
    expect(headers.get('x-content-type-options'), page).toBe('nosniff')
    expect(headers.get('referrer-policy'), page).toBe('same-origin')
  }
})
