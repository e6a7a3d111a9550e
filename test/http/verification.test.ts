import { describe, expect, test } from 'vitest'
import { makeVerificationCode, showVerificationCode } from '../../src/domain/evidence/verification-code.js'
import { newId } from '../../src/domain/id.js'
import { browserModules, ENTRY } from '../../src/http/verification/modules.js'
import { extendTo, insertChain, logParts } from '../support/evidence/log.js'
import { gatewayForFile, gatewayForTest, testKeys } from '../support/gateway/gateway.js'
import { sendNotification } from '../support/gateway/recipients.js'
import { send, validSend } from '../support/gateway/requests.js'
import { visit } from '../support/gateway/visitor.js'
import { happen } from '../support/gateway/webhooks.js'
import { importsOf } from '../support/sources.js'

/** /verificar: whether a document is genuine, for anyone that has it. */
const { database, gateway, account } = await gatewayForFile({
  account: { settings: { 'brand.name': 'Banco Aurora', 'sender.document': '11222333000181' } },
})
const key = testKeys.derive('verification')
const codeOf = (id: string): string => makeVerificationCode(key, id)
const pageAt = (path: string) => visit(`${gateway.url}${path}`)

describe('by code', () => {
  test('shows sender, date, channels with masked recipients, hashes and the newest checkpoint; nothing of the message', async () => {
    const sent = await sendNotification(gateway, database.pool, account, { sms: { number: '11987654321' }, carta: {} })
    await happen(database.pool, sent.id, 'email', 'delivered', {})
    const { rows } = await database.pool.query<{ hash: string }>(
      "select encode(hash, 'hex') as hash from event where notification_id = $1",
      [sent.id],
    )
    const parts = await logParts(database.pool)
    await extendTo(parts, Number((await database.pool.query('select count(*) from event')).rows[0].count))
    const { status, text, headers } = await pageAt(`/verificar/${codeOf(sent.id)}`)
    expect(status).toBe(200)
    for (const shown of [
      'Esta notificação existe',
      'Ponto de controle assinado',
      'Banco Aurora',
      '11.222.333/0001-81',
      sent.id,
      'ma***@example.com',
      'final 4321',
      'Entregue',
      parts.key.vkey.replaceAll('+', '+'),
    ])
      expect(text).toContain(shown)
    for (const { hash } of rows) expect(text).toContain(hash)
    const { rows: newest } = await database.pool.query('select root from checkpoint order by size desc limit 1')
    expect(text).toContain(newest[0].root.toString('base64'))
    const secrets = [
      'maria@example.com',
      '11987654321',
      validSend.subject,
      'Seu contrato vence',
      'Maria da Silva',
      new URL(sent.url).pathname,
      new URL(sent.short).pathname,
    ]
    for (const secret of secrets) expect(text).not.toContain(secret)
    expect(text).not.toContain('SIMULADO')
    expect(headers.get('cache-control')).toContain('no-store')
    expect(headers.get('x-robots-tag')).toContain('noindex')
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; .*script-src 'self'; /)
  })

  test.each(['/verificar', '/verificar/nada'])('the tab of %s has a title like any other', async path => {
    expect((await pageAt(path)).text).toMatch(
      /<title>\p{Lu}.*verificar uma notificação<\/title>|<title>Verificar uma notificação<\/title>/u,
    )
  })

  test('case, blanks and hyphens do not count; a typed code leads to its page', async () => {
    const { body } = await send(gateway.url, account.token, validSend)
    const { idEmail } = body as { idEmail: string }
    const code = codeOf(idEmail)
    expect(showVerificationCode(code)).toMatch(/^[0-9A-Z]{4}(-[0-9A-Z]{4}){3}$/)
    for (const typed of [
      showVerificationCode(code),
      code.replaceAll('0', 'o').replaceAll('1', 'L'),
      ` ${code.slice(0, 5)} ${code.slice(5)}`,
    ]) {
      const posted = await visit(`${gateway.url}/verificar`, { form: { codigo: typed } })
      expect([typed, posted.status]).toEqual([typed, 303])
      const { status, text } = await pageAt(posted.headers.get('location')!)
      expect([typed, status]).toEqual([typed, 200])
      expect(text).toContain(idEmail)
    }
    const empty = await visit(`${gateway.url}/verificar`, { form: { codigo: ' ' } })
    expect([empty.status, empty.text.includes('Digite o código')]).toEqual([400, true])
  })

  test('a delivery by the simulator says SIMULADO', async () => {
    const { body } = await send(gateway.url, account.token, validSend)
    const { idEmail } = body as { idEmail: string }
    await database.pool.query("update delivery set carrier = 'simulator/smtp' where notification_id = $1", [idEmail])
    expect((await pageAt(`/verificar/${codeOf(idEmail)}`)).text).toMatch(/<strong>SIMULADO<\/strong>/)
  })

  test('a notification that left with its month existed: its hashes, the archive, and no guess is counted', async () => {
    const limit = { wrong: 2, windowMs: 600_000, lockMs: 600_000 }
    const guesses = { perAddress: limit, perSite: limit, total: { ...limit, wrong: 1_000 } }
    const guarded = await gatewayForTest(database.pool, { TRUSTED_PROXIES: '127.0.0.0/8' }, { recipientLimits: { guesses } })
    const headers = { 'x-forwarded-for': '198.51.100.79' }
    await database.pool.query("select ensure_month('2025-03-10')")
    const at = Date.UTC(2025, 2, 10, 15)
    // Two of the same millisecond.
    const [id, other] = [newId(at), newId(at)]
    for (const each of [id, other]) {
      await insertChain(database.pool, 2, each)
      await database.pool.query(
        "insert into notification (id, account_id, mode, accepted_at, erased_at) values ($1, $2, 'live', to_timestamp($3), now())",
        [each, account.id, at / 1_000],
      )
    }
    const { rows } = await database.pool.query<{ hash: string }>(
      "select encode(hash, 'hex') as hash from event where notification_id = $1",
      [id],
    )
    await extendTo(await logParts(database.pool), Number((await database.pool.query('select count(*) from event')).rows[0].count))
    await database.tamper("select drop_month('2025-03-01', decode($1, 'hex'))", ['ab'.repeat(32)])
    for (let round = 0; round < 4; round++) {
      const { status, text } = await visit(`${guarded.url}/verificar/${codeOf(id)}`, { headers })
      expect(status).toBe(200)
      for (const shown of ['Esta notificação existiu', id, '10/03/2025 12:00', 'mês 03/2025', 'ab'.repeat(32)])
        expect(text).toContain(shown)
      for (const { hash } of rows) expect(text).toContain(hash)
      expect(text).not.toContain(other)
    }
    const unknown = newId(at)
    expect((await visit(`${guarded.url}/verificar/${codeOf(unknown)}`, { headers })).status).toBe(404)
  })

  test('a code of nobody is not found, and of a link neither', async () => {
    const sent = await sendNotification(gateway, database.pool, account)
    const wrong = `${codeOf(sent.id).slice(0, -1)}${codeOf(sent.id).endsWith('0') ? '2' : '0'}`
    for (const code of [
      wrong,
      '0000000000000000',
      'u',
      'x'.repeat(5_000),
      '%00',
      '..%2f',
      new URL(sent.url).pathname.slice(3),
      sent.id,
    ]) {
      const { status, text } = await pageAt(`/verificar/${code}`)
      expect([code, status]).toEqual([code, 404])
      expect(text).toContain('Nenhuma notificação tem este código')
    }
    // Nor does the code open anything else.
    expect((await pageAt(`/n/${codeOf(sent.id)}`)).status).toBe(404)
    expect((await pageAt(`/s/${codeOf(sent.id)}`)).status).toBe(404)
  })

  test('guesses are limited: a locked client learns nothing more, and links stay open to it', async () => {
    const limit = { wrong: 3, windowMs: 600_000, lockMs: 600_000 }
    const guesses = { perAddress: limit, perSite: limit, total: { ...limit, wrong: 1_000 } }
    const guarded = await gatewayForTest(database.pool, { TRUSTED_PROXIES: '127.0.0.0/8' }, { recipientLimits: { guesses } })
    const sent = await sendNotification(guarded, database.pool, account)
    const headers = { 'x-forwarded-for': '198.51.100.77' }
    const at = async (path: string) => (await visit(`${guarded.url}${path}`, { headers })).status
    for (let round = 0; round < 3; round++) expect(await at(`/verificar/000000000000000${round}`)).toBe(404)
    const locked = await visit(`${guarded.url}/verificar/${codeOf(sent.id)}`, { headers })
    expect([locked.status, Number(locked.headers.get('retry-after'))]).toEqual([429, expect.any(Number)])
    expect(locked.text).toContain('códigos errados demais')
    expect(await at(new URL(sent.short).pathname)).toBe(200)
    expect(
      (await visit(`${guarded.url}/verificar/${codeOf(sent.id)}`, { headers: { 'x-forwarded-for': '198.51.100.78' } })).status,
    ).toBe(200)
  })
})

describe('the script', () => {
  test('is the compiled modules of the verifier: a fixed list, with all that they import and nothing of Node', () => {
    const sourceOf = (path: string): string => `src/${path.replace(/\.js$/, '.ts')}`
    const needed = new Set<string>()
    const follow = (path: string): void => {
      if (needed.has(path)) return
      needed.add(path)
      for (const { path: next, name, typesOnly } of importsOf(path)) {
        if (typesOnly) continue
        expect(next, `${path} imports ${name}`).not.toBeNull()
        follow(next!)
      }
    }
    follow(sourceOf(ENTRY))
    expect([...needed].sort()).toEqual(browserModules.map(sourceOf).sort())
  })

  test('is served under addresses with its hash, to be kept; nothing beside the list is', async () => {
    const { text } = await pageAt('/verificar')
    const entry = /<script type="module" src="([^"]+)"/.exec(text)![1]!
    expect(entry).toMatch(/^\/r\/[0-9a-f]{16}\/http\/verification\/verify-page\.js$/)
    const base = entry.slice(0, -ENTRY.length)
    for (const path of browserModules) {
      const { status, headers } = await pageAt(`${base}${path}`)
      expect([path, status, headers.get('content-type')]).toEqual([path, 200, 'text/javascript; charset=utf-8'])
      expect(headers.get('cache-control')).toContain('immutable')
    }
    for (const path of ['main.js', 'domain/access/keys.js', 'app/config.js', '../../package.json'])
      expect((await pageAt(`${base}${path}`)).status).toBe(404)
  })

  test('/verificar shows the key of the log', async () => {
    expect((await pageAt('/verificar')).text).toContain(`data-key="${(await logParts(database.pool)).key.vkey}"`)
  })
})
