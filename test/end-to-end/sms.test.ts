import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Simulator } from '../../simulator/simulator.js'
import { findFaults } from '../../src/evidence/notification-faults.js'
import { readEventLog } from '../../src/store/notification/event-log.js'
import type { TestDatabase } from '../support/database/database.js'
import { createAccount, type Gateway, type TestAccount } from '../support/gateway/gateway.js'
import { request, send, validSend } from '../support/gateway/requests.js'
import { type Stack, startStack } from '../support/gateway/stack.js'

/** From POST to every date over real sockets: the gateway, its worker and the simulated SMSC, each on its own port. */
let database: TestDatabase
let simulator: Simulator
let gateway: Gateway
let stack: Stack
let account: TestAccount
/** Given up after a while, and looked at when the others are done. */
let silent: string

beforeAll(async () => {
  stack = await startStack()
  database = stack.database
  simulator = stack.simulator
  gateway = stack.gateway
  account = await createAccount(database.pool, { name: 'Acme' })
  silent = await accept('03')
})

afterAll(() => stack.close())

const brt = /^\d\d\/\d\d\/\d{4} \d\d:\d\d:\d\d$/
const areas = '11 12 13 14 15 16 17 18 19 21 22 24 27 28 31 32 33 34 35 37 38 41 42 43 44 45 46 47 48 49 51 53 54 55'.split(' ')
let area = 0

/** A number of that fate that no other test writes to. */
const numberOf = (fate: string): string => `${areas[area++ % areas.length]}9000000${fate}`

async function accept(fate: string, sms: object = {}, body: object = {}): Promise<string> {
  const given = { number: numberOf(fate), typeSend: '2', ...sms }
  const answer = await send(gateway.url, account.token, { ...validSend, to: undefined, sms: given, ...body })
  expect(answer.status).toBe(200)
  return (answer.body as { idEmail: string }).idEmail
}

const statusOf = async (id: string, channel = 'sms'): Promise<Record<string, unknown>> =>
  (await request(`${gateway.url}/gw/${channel}/${id}`, { token: account.token })).body as Record<string, unknown>

const settled = (id: string, description: string, channel = 'sms') =>
  expect.poll(() => statusOf(id, channel), { interval: 100 }).toMatchObject({ description })

const eventsOf = async (id: string): Promise<{ type: string; data: Record<string, unknown> }[]> =>
  (await database.pool.query("select type, data from event where notification_id = $1 and type <> 'note' order by seq", [id]))
    .rows

const messagesTo = async (number: string): Promise<{ text: string; segments: number; encoding: string }[]> => {
  const found = (await request(`${simulator.url}/simulator/messages?to=55${number}&wait=20s`)).body as { id: string }[]
  return Promise.all(found.map(async ({ id }) => (await request(`${simulator.url}/simulator/messages/${id}`)).body as never))
}

describe('each fixed fate ends in its documented status', () => {
  test('entregue: sent, delivered, and every member of the record is there', async () => {
    const id = await accept('01')
    await settled(id, 'Entregue')
    expect(await statusOf(id)).toEqual({
      dateSend: expect.stringMatching(brt),
      dateReading: null,
      description: 'Entregue',
      dateAnswered: null,
      answered: [],
    })
    expect((await eventsOf(id)).map(({ type }) => type)).toEqual(['accepted', 'sent', 'delivered'])
  })

  test('any other number is delivered', async () => {
    await settled(await accept('', { number: '11987650011' }), 'Entregue')
  })

  test.each([
    ['02', 'Não entregue'],
    ['06', 'Falha no envio'],
    ['10', 'Não entregue'],
    ['11', 'Enviado'],
  ])('%s: %s', async (fate, description) => {
    const id = await accept(fate)
    await settled(id, description)
    expect(await statusOf(id)).toMatchObject({ dateSend: fate === '06' ? '' : expect.stringMatching(brt) })
  })

  test('lento: a slow carrier is waited for', async () => {
    await settled(await accept('04'), 'Entregue')
  })

  test('devagar: told to slow down twice, then delivered under the same reference', async () => {
    const id = await accept('05')
    await settled(id, 'Entregue')
    const { rows } = await database.pool.query('select attempt, reference from delivery where notification_id = $1', [id])
    expect(rows).toEqual([{ attempt: 3, reference: `${id}.sms.1` }])
  })

  test('abre o link: the reading and its date; robô: what a link scanner loads is no reading', async () => {
    const [person, machine] = [await accept('09'), await accept('16')]
    await settled(person, 'Lido (acessou o link)')
    expect(await statusOf(person)).toMatchObject({ dateReading: expect.stringMatching(brt) })
    const notes = async () =>
      (await database.pool.query("select from event where notification_id = $1 and type = 'note'", [machine])).rows.length
    await expect.poll(notes).toBeGreaterThan(0)
    expect(await statusOf(machine)).toMatchObject({ description: 'Entregue', dateReading: null })
  })

  test('responde: the answer and its date', async () => {
    const id = await accept('07')
    await settled(id, 'Respondido')
    expect(await statusOf(id)).toMatchObject({
      dateAnswered: expect.stringMatching(brt),
      answered: ['Recebido, obrigado.'],
    })
  })

  test('responde longo: an answer in parts arrives whole, with its accents', async () => {
    const id = await accept('12')
    await settled(id, 'Respondido')
    expect((await statusOf(id)).answered).toEqual([expect.stringMatching(/^Olá! Recebi a notificação .* Até breve\.$/)])
    const waiting = async (): Promise<unknown[]> => (await database.pool.query('select from reply_part where not joined')).rows
    await expect.poll(waiting).toEqual([])
  })

  test('sai: the answer is kept, and the account sends no more SMS to that number', async () => {
    const number = numberOf('08')
    const id = await accept('', { number })
    await settled(id, 'Respondido')
    expect((await database.pool.query('select reason from suppression where recipient = $1', [`+55${number}`])).rows).toEqual([
      { reason: 'opt-out' },
    ])
    const again = await accept('', { number })
    await settled(again, 'Falha no envio')
    expect((await eventsOf(again)).at(-1)!.data.reason).toBe('O destinatário pediu para não receber mais SMS desta conta.')
    expect(await messagesTo(number)).toHaveLength(1)
    const other = await createAccount(database.pool)
    const answer = await send(gateway.url, other.token, { ...validSend, to: undefined, sms: { number, typeSend: '2' } })
    const { idEmail } = answer.body as { idEmail: string }
    const ofOther = async () => (await request(`${gateway.url}/gw/sms/${idEmail}`, { token: other.token })).body
    await expect.poll(ofOther).toMatchObject({ description: 'Respondido' })
  })

  test('queda: the connection breaks after the message was taken, and the receipt settles it without a second send', async () => {
    const number = numberOf('13')
    const id = await accept('', { number, customMessage: 'Queda' })
    await settled(id, 'Entregue')
    expect((await eventsOf(id)).map(({ type }) => type)).toEqual(['accepted', 'uncertain', 'delivered'])
    expect(await messagesTo(number)).toHaveLength(1)
  })

  test('liga depois: an intermediate report settles it before the phone is switched on, without a second send', async () => {
    const number = numberOf('17')
    const id = await accept('', { number, customMessage: 'Celular desligado' })
    await settled(id, 'Entregue')
    // The note of the state may come to the chain before or after what it proves.
    const types = (await eventsOf(id)).map(({ type }) => type)
    expect(types.filter(type => type !== 'note')).toEqual(['accepted', 'uncertain', 'sent', 'delivered'])
    expect(await messagesTo(number)).toHaveLength(1)
  })

  test.each([
    ['14', 'apressado: a receipt that overtakes the answer is not lost'],
    ['15', 'decimal: ids in hexadecimal here and in decimal there are the same'],
  ])('%s %s', async fate => {
    const id = await accept(fate)
    await settled(id, 'Entregue')
    expect((await eventsOf(id)).map(({ type }) => type)).toEqual(['accepted', 'sent', 'delivered'])
  })
})

describe('what arrives', () => {
  test('is the sender’s text with the short link in its place', async () => {
    const number = numberOf('01')
    await accept('', { number, customMessage: 'Boleto: {SHORT_LINK} (Acme)' })
    const [message] = await messagesTo(number)
    expect(message!.text).toMatch(new RegExp(`^Boleto: ${gateway.url}/s/[0-9a-z]{10} \\(Acme\\)$`))
  })

  test('is the sender’s text alone where it names no link', async () => {
    const number = numberOf('01')
    await accept('', { number, customMessage: 'Seu pedido saiu para entrega.' })
    expect((await messagesTo(number))[0]!.text).toBe('Seu pedido saiu para entrega.')
  })

  test('without a text of the sender: who, about what, and the link, in one part', async () => {
    const number = numberOf('01')
    await accept('', { number }, { subject: `Notificação extrajudicial ${'sobre o contrato '.repeat(12)}` })
    const [message] = await messagesTo(number)
    expect(message).toMatchObject({ segments: 1, encoding: 'gsm7' })
    expect(message!.text).toMatch(new RegExp(`^Acme: Notificacao extrajudicial sobre .*\\.\\.\\. ${gateway.url}/s/[0-9a-z]{10}$`))
  })

  test('in several parts: each has its receipt, and the parts are told to the sender', async () => {
    const number = numberOf('01')
    const keep = await createAccount(database.pool, { settings: { 'sms.accents': 'keep' } })
    const customMessage = `Atenção: ${'informação '.repeat(11)}`.trim()
    const answer = await send(gateway.url, keep.token, {
      ...validSend,
      to: undefined,
      sms: { number, typeSend: '2', customMessage },
    })
    const { idEmail } = answer.body as { idEmail: string }
    const full = async () => (await request(`${gateway.url}/gw/full/${idEmail}`, { token: keep.token })).body
    await expect.poll(full).toMatchObject({ sms: [{ description: 'Entregue', segments: 2 }] })
    expect(await messagesTo(number)).toMatchObject([{ text: customMessage, segments: 2, encoding: 'ucs2' }])
    const events = await eventsOf(idEmail)
    expect(events.map(({ type }) => type)).toEqual(['accepted', 'sent', 'delivered', 'delivered'])
    expect(events[1]!.data).toMatchObject({ segments: 2, encoding: 'ucs2' })
  })

  test('without accents where that saves a part, with them where it does not', async () => {
    const [long, short] = [numberOf('01'), numberOf('01')]
    await accept('', { number: long, customMessage: `Atenção: ${'informação '.repeat(11)}`.trim() })
    await accept('', { number: short, customMessage: 'Atenção, João' })
    expect(await messagesTo(long)).toMatchObject([
      { text: `Atencao: ${'informacao '.repeat(11)}`.trim(), segments: 1, encoding: 'gsm7' },
    ])
    expect(await messagesTo(short)).toMatchObject([{ text: 'Atenção, João', segments: 1, encoding: 'ucs2' }])
  })
})

describe('typeSend', () => {
  test("'1' with an e-mail that is delivered: the SMS is not sent", async () => {
    const number = numberOf('01')
    const id = await accept('', { number, typeSend: '1' }, { to: 'entregue@simulador.test' })
    await settled(id, 'Entregue', 'email')
    expect(await statusOf(id)).toMatchObject({ description: 'Não enviado: e-mail entregue', dateSend: '' })
  })

  test("'1' with an e-mail that comes back: the SMS goes after all, and arrives", async () => {
    const id = await accept('01', { typeSend: '1' }, { to: `devolvido+${Date.now()}@simulador.test` })
    await settled(id, 'Devolvido', 'email')
    await settled(id, 'Entregue')
  })

  test("'2' goes together with the e-mail, whatever becomes of it", async () => {
    const id = await accept('01', { typeSend: '2' }, { to: 'entregue@simulador.test' })
    await settled(id, 'Entregue')
    await settled(id, 'Entregue', 'email')
  })
})

test('silêncio: a carrier that takes a message and never answers leaves it under verification', async () => {
  await settled(silent, 'Em verificação')
  expect(await statusOf(silent)).toMatchObject({ dateSend: '', dateReading: null, answered: [] })
})

test('duplicate and late receipts change nothing that is known', async () => {
  const faults = (sms: object) => request(`${simulator.url}/simulator/faults`, { method: 'PUT', body: { sms } })
  await faults({ duplicateReports: true, lateReportsMs: 500 })
  const id = await accept('07')
  await settled(id, 'Respondido')
  await faults({})
  expect((await statusOf(id)).answered).toEqual(['Recebido, obrigado.'])
  expect((await eventsOf(id)).map(({ type }) => type)).toEqual(['accepted', 'sent', 'delivered', 'answered'])
})

test('the statuses are what the events add up to, and every chain is whole', async () => {
  const faults: string[] = []
  for await (const page of readEventLog(database.pool)) faults.push(...page.flatMap(findFaults))
  expect(faults).toEqual([])
})
