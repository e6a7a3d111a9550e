import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { EmailMessage, WrittenEmail } from '../../../../src/channels/email/email-message.js'
import { forwardJobs, queueForward } from '../../../../src/channels/email/forward/forward-store.js'
import { createForwarder } from '../../../../src/channels/email/forward/forwarder.js'
import { composeEmail, writtenOf } from '../../../../src/channels/email/message/compose.js'
import { type Report, readReport } from '../../../../src/channels/email/reports/reports.js'
import { createReturns } from '../../../../src/channels/email/reports/returns.js'
import { type ReturnAddress, readVerp, verpAddress } from '../../../../src/channels/email/verp.js'
import { type Carrier, SendError } from '../../../../src/channels/provider.js'
import { makeLinkCode } from '../../../../src/domain/recipient/link.js'
import { createRecorder } from '../../../../src/engine/record/recorder.js'
import { finishRestoration } from '../../../../src/engine/unknown/restored.js'
import { Wake } from '../../../../src/runtime/wake.js'
import { findRecipient } from '../../../../src/store/delivery/deliveries.js'
import { type HoldScope, liftHold, placeHold } from '../../../../src/store/delivery/holds.js'
import { confirmHomeServer, openRestoration } from '../../../../src/store/home-server.js'
import { transaction } from '../../../../src/store/postgres.js'
import { createDatabase, type TestDatabase } from '../../../support/database/database.js'
import { createAccount, type Gateway, issueToken, startGateway, testKeys } from '../../../support/gateway/gateway.js'
import { request, send, validSend } from '../../../support/gateway/requests.js'

/** Replies on their way to the sender's own mailbox. */
let database: TestDatabase
let gateway: Gateway

beforeAll(async () => {
  database = await createDatabase()
  gateway = await startGateway(database.pool)
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
})

const verp = { domain: 'retorno.example.com', key: Buffer.alloc(32, 3) }
const mailbox = 'respostas@empresa.example'
const reply = (text: string, more: object = {}): Report => ({
  kind: 'reply',
  text,
  from: validSend.to,
  id: `${text}@mail.example`,
  files: [],
  ...more,
})

const CARRIER = 'smtp:relay.example.com/1f0c2a9b'

type Outcome = SendError | 'taken'

/** A world with one account: what comes back for its e-mails, and a carrier that answers as it is told. */
async function world(
  outcomes: Outcome[] = [],
  settings: object = { 'email.replies.forward': mailbox },
  mode: 'live' | 'test' = 'live',
) {
  const { pool } = database
  const account = await createAccount(pool, { settings: settings as Record<string, string> })
  const { token } = mode === 'live' ? account : await issueToken(pool, account.id, { mode })
  const { record } = createRecorder(pool, Date.now, new Wake())
  const sent: { message: WrittenEmail; mode: string }[] = []
  const carrierOf = (of: string): Carrier<EmailMessage> => ({
    async send(message) {
      sent.push({ message: writtenOf(message), mode: of })
      const outcome = outcomes.shift() ?? 'taken'
      if (outcome !== 'taken') throw outcome
      return { references: [], answer: '250 Ok', delivered: false }
    },
    contentOf: () => null,
    close: async () => {},
  })
  const run = createForwarder({
    jobs: forwardJobs(pool),
    clock: Date.now,
    record,
    carriers: async of => [{ identity: CARRIER, carrier: carrierOf(of) }],
    defaultFrom: 'avisos@orgao.example',
    bounceDomain: verp.domain,
    envelopeFrom: notification => verpAddress(notification, verp, 'forward'),
    retryMs: [0, 0],
  })
  const take = createReturns({
    findRecipient: notification => findRecipient(pool, notification, 'email'),
    clock: Date.now,
    record,
    suppress: async () => {},
    forward: (notification, told) => queueForward(pool, notification, told),
    onLastNote: () => {},
  })
  const id = ((await send(gateway.url, token, validSend)).body as { idEmail: string }).idEmail
  return {
    id,
    account: account.id,
    sent,
    forward: () => run(new AbortController().signal),
    take: (report: Report, purpose: ReturnAddress['purpose'] = 'return') => take({ notification: id, purpose }, report),
    state: async () => (await pool.query('select state, reply from email_forward where notification_id = $1', [id])).rows,
    events: async () =>
      ((await request(`${gateway.url}/gw/events/${id}`, { token })).body as { data: Record<string, unknown>[] }).data,
  }
}

describe('a reply is forwarded', () => {
  test('as a new message from us, which the sender answers to the person', async () => {
    const { id, take, forward, sent, state, events } = await world()
    await take(reply('Recebi, obrigada.', { files: ['recibo.pdf'] }))
    await forward()
    expect(sent).toHaveLength(1)
    const { message, mode } = sent[0]!
    expect(mode).toBe('live')
    expect(message).toMatchObject({ to: mailbox, replyTo: validSend.to, from: 'avisos@orgao.example', attachments: [] })
    expect(message.subject).toBe('Resposta de Maria da Silva: Aviso de vencimento')
    for (const part of [message.text, message.html])
      for (const words of ['Recebi, obrigada.', id, 'recibo.pdf']) expect(part).toContain(words)
    expect(await state()).toEqual([{ state: 'done', reply: null }])
    expect((await events()).at(-1)).toMatchObject({
      label: 'Resposta encaminhada',
      respostaOperadora: '250 Ok',
      detalhes: { to: mailbox },
    })
  })

  test('once, however often it comes, and however many workers look for it', async () => {
    const { take, forward, sent } = await world()
    for (let n = 0; n < 3; n++) await take(reply('Uma só.'))
    await Promise.all([forward(), forward(), forward()])
    await take(reply('Uma só.'))
    await forward()
    expect(sent).toHaveLength(1)
  })

  test('without the recipient’s link, wherever it stands', async () => {
    const { id, take, forward, sent } = await world()
    const code = makeLinkCode(testKeys.link, id, 0)
    const link = `https://notifica.example/n/${code}`
    const raw = `From: <${validSend.to}>\r\nMessage-ID: <q@x>\r\nSubject: Re: Aviso\r\n\r\nNão abre: ${link}\r\n\r\n> ${link}\r\n`
    await take(await readReport(Buffer.from(raw)))
    await take(reply('arquivo', { files: [`de /n/${code}.eml`] }))
    await forward()
    expect(sent).toHaveLength(2)
    for (const { message } of sent) {
      const bytes = composeEmail(message).toString().replaceAll('=\r\n', '')
      for (const part of [bytes, message.text, message.html, message.subject]) expect(part).not.toContain(code.slice(0, 10))
    }
    const { rows } = await database.pool.query('select * from event where notification_id = $1', [id])
    expect(JSON.stringify(rows)).not.toContain(code.slice(0, 10))
  })

  test('with a warning where it comes from another address, and as text alone', async () => {
    const { take, forward, sent } = await world()
    await take(reply('<script>alert(1)</script>', { from: 'outra@example.com' }))
    await forward()
    expect(sent[0]!.message.text).toContain('um endereço que não é o do destinatário')
    expect(sent[0]!.message.html).not.toContain('<script>')
    expect(sent[0]!.message.replyTo).toBe('outra@example.com')
  })

  test('of a test message by the carriers of the test mode', async () => {
    const { take, forward, sent } = await world([], { 'email.replies.forward': mailbox }, 'test')
    await take(reply('Teste.'))
    await forward()
    expect(sent.map(({ mode }) => mode)).toEqual(['test'])
  })
})

describe('a reply is not forwarded', () => {
  test.each([
    ['where the account names no mailbox', {}],
    ['to an address of our own return domain', { 'email.replies.forward': `x@${verp.domain}` }],
  ])('%s', async (_, settings) => {
    const { take, forward, sent } = await world([], settings)
    await take(reply('Oi.'))
    await forward()
    expect(sent).toEqual([])
  })

  test('where it is automatic, and nothing that comes back for a forwarded one is', async () => {
    const { id, take, forward, sent, events } = await world()
    await take({ kind: 'automatic' })
    await take(reply('Oi.'))
    await forward()
    expect(sent).toHaveLength(1)
    const { envelopeFrom, reference } = sent[0]!.message
    const address = readVerp(envelopeFrom, verp)!
    expect(address).toEqual({ notification: id, purpose: 'forward' })
    // Our own message, sent back to us by a rule of the mailbox, says of itself that it is automatic.
    expect(await readReport(composeEmail(sent[0]!.message))).toEqual({ kind: 'automatic' })
    const before = (await events()).length
    await take(reply('De volta.'), 'forward')
    await take({ kind: 'automatic' }, 'forward')
    const failed = {
      action: 'failed',
      status: '5.1.1',
      diagnostic: '550 no such user',
      recipients: [mailbox, validSend.to],
    } as const
    await take({ kind: 'dsn', messages: [reference, `${id}.email.1`], entries: [failed] }, 'forward')
    await forward()
    expect(sent).toHaveLength(1)
    const told = (await events()).slice(before)
    expect(told).toMatchObject([{ type: 'note', label: 'Resposta não encaminhada' }])
  })

  test('from a database that may be an older copy, not while one is looking and not while its work is being held', async () => {
    const { pool } = database
    const { take, forward, sent, state } = await world()
    await take(reply('Antes da cópia.'))
    await database.asOwner("update home_server set started_at = started_at - interval '1 hour'")
    await forward()
    expect(sent).toEqual([])
    const id = (await transaction(pool, db => openRestoration(db, 'behind', 'x')))!
    // Another node found nothing wrong.
    await confirmHomeServer(pool)
    await forward()
    expect(sent).toEqual([])
    await finishRestoration(pool, Date.now, id, { by: 'node:x' })
    await forward()
    expect([sent, await state()]).toEqual([[], [{ state: 'unknown', reply: null }]])
    await take(reply('Depois.'))
    await forward()
    expect(sent).toHaveLength(1)
  })

  test.each<[string, (account: string) => HoldScope]>([
    ['everything', () => ({ channel: null, carrier: null, account: null })],
    ['e-mail', () => ({ channel: 'email', carrier: null, account: null })],
    ['the account', account => ({ channel: null, carrier: null, account })],
    ['the provider of its carrier', () => ({ channel: null, carrier: 'smtp', account: null })],
    ['its carrier, for the account', account => ({ channel: 'email', carrier: CARRIER, account })],
  ])('while a person holds back %s, and is afterwards', async (_, scopeOf) => {
    const { pool } = database
    const { id, account, take, forward, sent } = await world()
    await take(reply('Espere.'))
    const scope = scopeOf(account)
    await placeHold(pool, { ...scope, reason: 'x', by: 'x' })
    for (let tries = 0; tries < 30; tries++) {
      await forward()
      await pool.query('update email_forward set due_at = now() where notification_id = $1', [id])
    }
    expect(sent).toEqual([])
    await liftHold(pool, scope)
    await forward()
    expect(sent).toHaveLength(1)
  })

  test('a hold on another channel, carrier or account holds nothing else', async () => {
    const { pool } = database
    const { take, forward, sent } = await world()
    const other = await createAccount(pool, {})
    const scopes: HoldScope[] = [
      { channel: 'sms', carrier: null, account: null },
      { channel: null, carrier: 'smpp', account: null },
      { channel: 'email', carrier: null, account: other.id },
      { channel: null, carrier: 'smtp', account: other.id },
    ]
    for (const scope of scopes) await placeHold(pool, { ...scope, reason: 'x', by: 'x' })
    await take(reply('Siga.'))
    await forward()
    for (const scope of scopes) await liftHold(pool, scope)
    expect(sent).toHaveLength(1)
  })

  test('a second time where nobody knows whether the server took it', async () => {
    const { take, forward, sent, state, events } = await world([new SendError('uncertain', 'x')])
    await take(reply('Oi.'))
    await forward()
    await forward()
    expect(sent).toHaveLength(1)
    expect(await state()).toEqual([{ state: 'unknown', reply: null }])
    expect((await events()).at(-1)).toMatchObject({
      label: 'Resposta não encaminhada',
      motivo: expect.stringContaining('Não se sabe'),
    })
  })

  test('a second time where the worker died while it was being sent', async () => {
    const { id, take, forward, sent, state } = await world()
    await take(reply('Oi.'))
    await database.pool.query(
      "update email_forward set state = 'sending', due_at = now() - interval '1 day' where notification_id = $1",
      [id],
    )
    await forward()
    expect(sent).toEqual([])
    expect(await state()).toEqual([{ state: 'unknown', reply: null }])
  })

  test('more than a hundred times for one notification', async () => {
    const { take, forward, sent } = await world()
    for (let n = 0; n < 105; n++) await take(reply(`n.º ${n}`))
    await forward()
    expect(sent).toHaveLength(100)
  })
})

test('a server that asks to wait is tried again, with the same Message-ID, and one that refuses is not', async () => {
  const patient = await world([new SendError('temporary', 'x'), new SendError('throttled', 'x')])
  await patient.take(reply('Oi.'))
  await patient.forward()
  expect(patient.sent).toHaveLength(3)
  expect(new Set(patient.sent.map(({ message }) => message.reference)).size).toBe(1)
  expect(await patient.state()).toEqual([{ state: 'done', reply: null }])
  const refused = await world([new SendError('permanent', 'A caixa não existe.', { answer: '550 5.1.1' })])
  await refused.take(reply('Oi.'))
  await refused.forward()
  expect(refused.sent).toHaveLength(1)
  expect((await refused.events()).at(-1)).toMatchObject({
    label: 'Resposta não encaminhada',
    motivo: 'A caixa não existe.',
    respostaOperadora: '550 5.1.1',
  })
})
