import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { queueForward } from '../../../../src/channels/email/forward/forward-store.js'
import { type Report, readReport } from '../../../../src/channels/email/reports/reports.js'
import { createReturns, RETURNED_NOTES, type TakeReturn } from '../../../../src/channels/email/reports/returns.js'
import { makeLinkCode } from '../../../../src/domain/recipient/link.js'
import { recordChanges } from '../../../../src/engine/record/record.js'
import { createRecorder } from '../../../../src/engine/record/recorder.js'
import { Wake } from '../../../../src/runtime/wake.js'
import { suppress } from '../../../../src/store/accounts/suppressions.js'
import { findRecipient } from '../../../../src/store/delivery/deliveries.js'
import { createDatabase, type TestDatabase } from '../../../support/database/database.js'
import { brokenChains } from '../../../support/evidence/chain.js'
import { createAccount, type Gateway, startGateway, type TestAccount, testKeys } from '../../../support/gateway/gateway.js'
import { request, send, validSend } from '../../../support/gateway/requests.js'

/** What comes back for one e-mail, again and again, from whoever knows its address. */
let database: TestDatabase
let gateway: Gateway
let account: TestAccount
type Take = (id: string, report: Report, original?: { sha256: string; size: number }) => Promise<void>
let take: Take
let takeElsewhere: Take
let takeReceipt: Take
const told: string[] = []

beforeAll(async () => {
  database = await createDatabase()
  gateway = await startGateway(database.pool)
  account = await createAccount(database.pool)
  const { pool } = database
  const node = (): TakeReturn =>
    createReturns({
      findRecipient: notification => findRecipient(pool, notification, 'email'),
      clock: Date.now,
      record: createRecorder(pool, Date.now, new Wake()).record,
      suppress: (notification, reason) => suppress(pool, { notification, channel: 'email', reason }),
      forward: (notification, reply) => queueForward(pool, notification, reply),
      onLastNote: (notification, kind) => void told.push(`${notification} ${kind}`),
    })
  const [here, elsewhere] = [node(), node()]
  take = (notification, ...rest) => here({ notification, purpose: 'return' }, ...rest)
  takeElsewhere = (notification, report) => elsewhere({ notification, purpose: 'return' }, report)
  takeReceipt = (notification, report) => here({ notification, purpose: 'receipt' }, report)
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
})

const accept = async (): Promise<string> =>
  ((await send(gateway.url, account.token, validSend)).body as { idEmail: string }).idEmail
/** Of somebody whose address is not the recipient's. */
const reply = (text: string): Report => ({ kind: 'reply', text, from: 'outra@example.com', id: null, files: [] })
const answer = (text: string, more: object = {}): Report => ({
  kind: 'reply',
  text,
  from: 'Maria@Example.com',
  id: `${text}@x`,
  files: [],
  ...more,
})
const delayed = { action: 'delayed', status: '4.4.1', diagnostic: null, recipients: [] as string[] } as const
const failed = { ...delayed, action: 'failed', status: '5.1.1', recipients: [validSend.to] } as const
const bounce = (id: string): Report => ({ kind: 'dsn', messages: [`${id}.email.1`], entries: [failed] })
const statusOf = async (id: string): Promise<Record<string, unknown>> =>
  (await request(`${gateway.url}/gw/email/${id}`, { token: account.token })).body as Record<string, unknown>
const happened = (id: string, type: 'sent' | 'delivered' | 'read' | 'confirmed') =>
  recordChanges(database.pool, Date.now, [
    { kind: 'fact', notification: id, fact: { channel: 'email', type, at: new Date(), source: 'test', data: {} } },
  ])
const suppressed = async (): Promise<string[]> =>
  (await database.pool.query('select reason from suppression where account_id = $1', [account.id])).rows.map(row => row.reason)
const notesOf = async (id: string, source: string): Promise<Record<string, unknown>[]> =>
  (
    await database.pool.query(
      "select data from event where notification_id = $1 and type = 'note' and source = $2 order by seq",
      [id, source],
    )
  ).rows.map(row => row.data)

test('a chain holds a hundred of each kind, the last one says so, and the rest is dropped', async () => {
  const id = await accept()
  for (let n = 1; n <= RETURNED_NOTES.most + 5; n++) await take(id, reply(`n.º ${n}`))
  const notes = await notesOf(id, 'report:reply')
  expect(notes).toHaveLength(RETURNED_NOTES.most)
  expect(notes.at(-1)).toMatchObject({ reply: `n.º ${RETURNED_NOTES.most}`, lastNote: true })
  expect(notes.filter(({ lastNote }) => lastNote)).toHaveLength(1)
  expect(told).toEqual([`${id} reply`])
  // Another kind has places of its own, and one report with many entries cannot take more than there are.
  for (let n = 0; n < 3; n++) await take(id, { kind: 'dsn', messages: [], entries: Array(50).fill(delayed) })
  expect(await notesOf(id, 'report:dsn')).toHaveLength(RETURNED_NOTES.most)
  expect(await brokenChains(database.pool)).toEqual([])

  // What changes the status counts whatever came before it, and so does a wish to be left alone.
  await take(id, { kind: 'dsn', messages: [`${id}.email.1`], entries: [{ ...failed, status: '5.2.2' }] })
  const status = (await request(`${gateway.url}/gw/email/${id}`, { token: account.token })).body
  expect(status).toMatchObject({ description: 'Devolvido', error: true })
  const complaint: Report = { kind: 'complaint', messages: [`${id}.email.1@x.example`], recipients: [], feedbackType: 'abuse' }
  for (let n = 0; n < RETURNED_NOTES.most; n++) await take(id, complaint)
  await database.pool.query('delete from suppression')
  await take(id, complaint)
  expect((await database.pool.query('select reason from suppression')).rows).toEqual([{ reason: 'complaint' }])
})

describe('a report that anybody may have written', () => {
  beforeEach(() => database.pool.query('delete from suppression'))

  test.each([
    ['read', 'read before', 'Lido'],
    ['confirmed', 'confirmed before', 'Confirmou o recebimento'],
  ] as const)(
    'a bounce after the e-mail was %s is a note: the status stays, and nobody is suppressed',
    async (type, because, label) => {
      const id = await accept()
      await happened(id, type)
      const before = await statusOf(id)
      expect(before).toMatchObject({ description: label, error: false })
      await take(id, bounce(id))
      expect(await statusOf(id)).toEqual(before)
      expect(await suppressed()).toEqual([])
      expect(await notesOf(id, 'report:dsn')).toMatchObject([{ claimed: 'failed', because, status: '5.1.1' }])
      // However many come, they do not make the chain grow without end.
      for (let n = 0; n < RETURNED_NOTES.most + 5; n++) await take(id, bounce(id))
      expect(await notesOf(id, 'report:dsn')).toHaveLength(RETURNED_NOTES.most)
      expect(await statusOf(id)).toEqual(before)
      expect(await suppressed()).toEqual([])
      expect(await brokenChains(database.pool)).toEqual([])
    },
  )

  test('a confirmation and a bounce that are recorded together: the confirmation stays', async () => {
    const id = await accept()
    await Promise.all([happened(id, 'confirmed'), take(id, bounce(id)), take(id, bounce(id))])
    await take(id, bounce(id))
    const status = await statusOf(id)
    expect(status.dateAcceptance).toEqual(expect.any(String))
    if (status.error === false) expect(await suppressed()).toEqual([])
  })

  test('a bounce after "Entregue" counts: error, and the address is suppressed', async () => {
    const id = await accept()
    await happened(id, 'delivered')
    await take(id, bounce(id))
    expect(await statusOf(id)).toMatchObject({ description: 'Devolvido', error: true, dateDelivery: expect.stringMatching(/\d/) })
    expect(await suppressed()).toEqual(['hard bounce'])
    // A bounce that comes twice suppresses an address that the first one did not: the process may have died in between.
    await database.pool.query('delete from suppression')
    await take(id, bounce(id))
    expect(await suppressed()).toEqual(['hard bounce'])
  })

  test.each([
    ['no message', 'another message', { messages: [] }],
    ['the message of another notification', 'another message', { messages: ['01890a5d-ac96-774b-bcce-b302099a8057.email.1'] }],
    ['our id inside another one', 'another message', { messages: ['x', 'evil.email.1@a.example'] }],
    ['no recipient', 'another recipient', { entries: [{ ...failed, recipients: [] }] }],
    ['another recipient', 'another recipient', { entries: [{ ...failed, recipients: ['outra@example.com', 'x'] }] }],
  ] as const)('a bounce that names %s is a note', async (_, because, changes) => {
    const id = await accept()
    await happened(id, 'sent')
    await take(id, { ...bounce(id), ...changes } as unknown as Report)
    expect(await statusOf(id)).toMatchObject({ description: 'Enviado', error: false })
    expect(await suppressed()).toEqual([])
    expect(await notesOf(id, 'report:dsn')).toMatchObject([{ claimed: 'failed', because }])
  })

  test.each([
    ['the envelope id', (id: string) => [`${id}.email.1`]],
    ['the Message-ID of the returned headers', (id: string) => ['outro', `${id}.email.1@orgao.example.com`]],
  ])('a bounce that names our message by %s, and our recipient in any case, counts', async (_, messages) => {
    const id = await accept()
    await take(id, {
      ...bounce(id),
      messages: messages(id),
      entries: [{ ...failed, recipients: ['x', 'MARIA@example.com'] }],
    } as Report)
    expect(await statusOf(id)).toMatchObject({ description: 'Devolvido', error: true })
  })

  test('a delivery report that names another message does not deliver', async () => {
    const id = await accept()
    await happened(id, 'sent')
    await take(id, { kind: 'dsn', messages: [], entries: [{ ...failed, action: 'delivered', status: '2.0.0' }] })
    expect(await statusOf(id)).toMatchObject({ description: 'Enviado', dateDelivery: '' })
  })

  const receipt = (id: string): Report => ({
    kind: 'mdn',
    messages: [`${id}.email.1@orgao.example.com`],
    recipients: [validSend.to],
    disposition: 'displayed',
    automatic: false,
  })

  test('a reading receipt counts where it was asked for, and is a note where it was not', async () => {
    const [asked, unasked] = [await accept(), await accept()]
    await take(unasked, receipt(unasked))
    expect(await statusOf(unasked)).toMatchObject({ dateReading: null })
    expect(await notesOf(unasked, 'report:mdn')).toMatchObject([{ claimed: 'read', because: 'not asked for' }])
    await takeReceipt(asked, receipt(asked))
    expect(await statusOf(asked)).toMatchObject({ description: 'Lido', dateReading: expect.any(String) })
  })

  test('a reading receipt about another message or of another recipient is a note', async () => {
    const id = await accept()
    await takeReceipt(id, { ...receipt(id), messages: [] } as Report)
    await takeReceipt(id, { ...receipt(id), recipients: ['outra@example.com'] } as Report)
    expect(await statusOf(id)).toMatchObject({ dateReading: null })
    expect(await notesOf(id, 'report:mdn')).toMatchObject([{ because: 'another message' }, { because: 'another recipient' }])
  })

  test('a complaint that does not name our message, or names somebody else, suppresses nobody', async () => {
    const id = await accept()
    const complaint = {
      kind: 'complaint',
      messages: [`${id}.email.1`],
      recipients: [] as string[],
      feedbackType: 'abuse',
    } as const
    await take(id, { ...complaint, messages: [] })
    await take(id, { ...complaint, messages: [...complaint.messages], recipients: ['outra@example.com'] })
    expect(await suppressed()).toEqual([])
    await take(id, { ...complaint, messages: [...complaint.messages] })
    expect(await suppressed()).toEqual(['complaint'])
  })

  test('an answer that quotes the whole message is kept without the recipient’s link', async () => {
    const id = await accept()
    const code = makeLinkCode(testKeys.link, id, 0)
    const raw = `From: <${validSend.to}>\r\nSubject: Re: Aviso\r\n\r\nAcima: https://notifica.example/n/${code} e =2Fs=2F\r\n`
    await take(id, await readReport(Buffer.from(raw)))
    const full = (await request(`${gateway.url}/gw/full/${id}`, { token: account.token })).body
    const [{ answered }] = (full as { email: [{ answered: string[] }] }).email
    const text = answered[0]!
    expect(text).toContain('Acima: https://notifica.example/n/…')
    expect(text).not.toContain(code.slice(0, 8))
  })
})

test('concurrent messages, on two nodes, do not exceed the limit of notes', async () => {
  const id = await accept()
  for (let n = 1; n < RETURNED_NOTES.most; n++) await take(id, reply('antes'))
  await Promise.all(Array.from({ length: 40 }, (_, n) => (n % 2 === 0 ? take : takeElsewhere)(id, reply('junto'))))
  const notes = await notesOf(id, 'report:reply')
  expect(notes).toHaveLength(RETURNED_NOTES.most)
  expect(notes.filter(({ lastNote }) => lastNote)).toHaveLength(1)
  expect(told.filter(line => line.startsWith(id))).toEqual([`${id} reply`])
})

describe('a reply by e-mail', () => {
  const fullOf = async (id: string) =>
    (await request(`${gateway.url}/gw/full/${id}`, { token: account.token })).body as {
      email: [Record<string, unknown>]
      statusFull: { email: { label: string; dateTime: string }[] }
      lastStatus: { email: { label: string; dateTime: string } }
    }

  test('of the recipient is an answer: its text is in /gw/full and in the timeline, and one that comes twice counts once', async () => {
    const id = await accept()
    await happened(id, 'sent')
    await take(id, answer('Recebi.'))
    await takeElsewhere(id, answer('Recebi.'))
    await take(id, answer('E pago amanhã.', { files: ['comprovante.pdf'] }))
    await take(id, answer('', { id: 'z@x', files: ['foto.jpg'] }))
    const full = await fullOf(id)
    expect(full.email[0]).toMatchObject({
      answered: ['Recebi.', 'E pago amanhã.', '[anexo] foto.jpg'],
      description: 'Respondido',
    })
    expect(full.statusFull.email.at(-1)).toEqual(full.lastStatus.email)
    const events = (await request(`${gateway.url}/gw/events/${id}`, { token: account.token })).body as { data: object[] }
    expect(events.data.slice(2)).toMatchObject([
      { type: 'answered', label: 'Respondido', respostaDestinatario: 'Recebi.' },
      { type: 'answered', respostaDestinatario: 'E pago amanhã.', detalhes: { files: ['comprovante.pdf'] } },
      { type: 'answered', respostaDestinatario: '[anexo] foto.jpg' },
    ])
    expect(await brokenChains(database.pool)).toEqual([])
  })

  test('of another address is told, and is not the recipient’s answer', async () => {
    const id = await accept()
    await happened(id, 'sent')
    await take(id, reply('Ela está de férias.'))
    expect((await fullOf(id)).email[0]).not.toHaveProperty('answered')
    expect(await statusOf(id)).toMatchObject({ description: 'Enviado' })
    const events = (await request(`${gateway.url}/gw/events/${id}`, { token: account.token })).body as { data: object[] }
    expect(events.data.at(-1)).toMatchObject({
      type: 'note',
      label: 'Não contou: Respondido (é de outro endereço)',
      respostaDestinatario: 'Ela está de férias.',
      detalhes: { from: 'outra@example.com' },
    })
  })
})

test('the event of a reply and of a bounce has the digest of the message as it came', async () => {
  const original = { sha256: 'ab'.repeat(32), size: 1_234 }
  const [answered, bounced] = [await accept(), await accept()]
  await take(answered, answer('com resumo'), original)
  await take(bounced, bounce(bounced), original)
  const { rows } = await database.pool.query(
    "select type, data -> 'original' as original from event where notification_id = any($1) and seq > 1 order by type",
    [[answered, bounced]],
  )
  expect(rows).toEqual([
    { type: 'answered', original },
    { type: 'failed', original },
  ])
})
