import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../src/domain/id.js'
import type { SequenceStep } from '../../src/domain/send/sequence.js'
import { updateSequence } from '../../src/store/accounts/accounts.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { chainFault, readStored, type Stored } from '../support/database/stored.js'
import { createAccount, type Gateway, startGateway, type TestAccount } from '../support/gateway/gateway.js'
import { errorBody, request, send, validSend } from '../support/gateway/requests.js'
import { type Ask, conformingRequests } from '../support/openapi.js'

let database: TestDatabase
let gateway: Gateway
/** Under a sequence in which e-mail goes first and all others wait. */
let account: TestAccount
let stranger: TestAccount
let ask: Ask

const sequence: SequenceStep[] = [
  { channel: 'email', waitMinutes: 0, condition: 'always' },
  { channel: 'sms', waitMinutes: 60, condition: 'not delivered' },
  { channel: 'whatsapp', waitMinutes: 60, condition: 'not read' },
  { channel: 'voice', waitMinutes: 60, condition: 'always' },
  { channel: 'letter', waitMinutes: 60, condition: 'not confirmed' },
]

beforeAll(async () => {
  database = await createDatabase()
  gateway = await startGateway(database.pool)
  account = await createAccount(database.pool)
  await updateSequence(database.pool, account.id, sequence)
  stranger = await createAccount(database.pool)
  ask = conformingRequests(gateway, { token: account.token })
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
})

const number = '11987654321'
const everyChannel = { ...validSend, sms: { number }, whatsapp: { number }, voz: { number }, carta: {} }
const done = { message: 'Regua de notificação finalizada com sucesso' }

async function accept(body: object = everyChannel, token = account.token): Promise<string> {
  const answer = await send(gateway.url, token, body)
  expect(answer.status).toBe(200)
  return (answer.body as { idEmail: string }).idEmail
}

/** What is stored; the chain of events must be whole. */
async function stored(id: string): Promise<Stored> {
  const found = await readStored(database.pool, id)
  expect(chainFault(found!)).toBe(null)
  return found!
}

const states = ({ deliveries }: Stored): Record<string, string> =>
  Object.fromEntries(deliveries.map(({ channel, state }) => [channel, state]))

/** The channels that events after the acceptance tell of, as often as they do. */
const toldOf = ({ events }: Stored): unknown[] =>
  events
    .slice(1)
    .flatMap(({ data }) => data.channels ?? data.channel)
    .sort()

async function finalize(id: string): Promise<void> {
  const answer = await ask(`/regua-notificacao/finalizar/${id}`)
  expect(answer.body).toEqual(done)
  expect(answer.status).toBe(200)
}

describe('4 operation 9, finalizar', () => {
  test('4 ends the steps that wait, for their condition or for their turn, and nothing else', async () => {
    const id = await accept()
    expect(states(await stored(id))).toEqual({
      email: 'queued',
      sms: 'waiting',
      whatsapp: 'waiting',
      voice: 'waiting',
      letter: 'waiting',
    })
    await finalize(id)
    const after = await stored(id)
    expect(states(after)).toEqual({
      email: 'queued',
      sms: 'cancelled',
      whatsapp: 'cancelled',
      voice: 'cancelled',
      letter: 'cancelled',
    })
    for (const [channel, description] of [
      ['email', 'Processado'],
      ['sms', 'Finalizado'],
      ['whatsapp', 'Finalizado'],
      ['voz', 'Finalizado'],
      ['carta', 'Finalizado'],
    ])
      expect((await ask(`/gw/${channel}/${id}`)).body).toMatchObject({ description })
  })

  test('4 is told as an event of every step that it ended, once, with who asked and why', async () => {
    const id = await accept()
    await finalize(id)
    const after = await stored(id)
    expect(toldOf(after)).toEqual(['letter', 'sms', 'voice', 'whatsapp'])
    for (const event of after.events.slice(1)) {
      expect(event).toMatchObject({ source: 'api', data: { reason: 'Finalizado a pedido do remetente.' } })
      expect(event.at >= after.events[0]!.at).toBe(true)
    }
  })

  test('4 HEAD ends nothing: the route is GET alone', async () => {
    const id = await accept()
    const before = await stored(id)
    const { status } = await request(`${gateway.url}/regua-notificacao/finalizar/${id}`, { method: 'HEAD', token: account.token })
    expect(status).toBe(404)
    expect(await stored(id)).toEqual(before)
  })

  test('4 a second call answers the same and changes nothing', async () => {
    const id = await accept()
    await finalize(id)
    const after = await stored(id)
    for (const path of [id, `${id}/`, id.toUpperCase()]) await finalize(path)
    expect(await stored(id)).toEqual(after)
  })

  test('4 sixty-four calls at once answer the same, and each step is ended once', async () => {
    const id = await accept()
    const answers = await Promise.all(Array.from({ length: 64 }, () => ask(`/regua-notificacao/finalizar/${id}`)))
    for (const answer of answers) expect([answer.status, answer.body]).toEqual([200, done])
    const after = await stored(id)
    expect(toldOf(after)).toEqual(['letter', 'sms', 'voice', 'whatsapp'])
    expect(Object.values(states(after)).filter(state => state === 'waiting')).toEqual([])
  })

  test('4 calls for many notifications at once do not disturb each other', async () => {
    const ids = await Promise.all(Array.from({ length: 40 }, () => accept()))
    await Promise.all([...ids, ...ids.toReversed()].map(finalize))
    for (const id of ids) expect(toldOf(await stored(id))).toEqual(['letter', 'sms', 'voice', 'whatsapp'])
  })

  test("4 what goes unconditionally goes on: the e-mail, typeSend '2', and all where there is no sequence", async () => {
    const id = await accept({ ...everyChannel, sms: { number, typeSend: '2' } }, stranger.token)
    const before = await stored(id)
    const answer = await ask(`/regua-notificacao/finalizar/${id}`, { token: stranger.token })
    expect([answer.status, answer.body]).toEqual([200, done])
    expect(await stored(id)).toEqual(before)
    expect(before.events).toHaveLength(1)
  })

  test("4 without a sequence it ends the SMS of typeSend '1' that waits for the e-mail", async () => {
    const id = await accept({ ...validSend, sms: { number } }, stranger.token)
    await ask(`/regua-notificacao/finalizar/${id}`, { token: stranger.token })
    const after = await stored(id)
    expect(states(after)).toEqual({ email: 'queued', sms: 'cancelled' })
    expect(toldOf(after)).toEqual(['sms'])
  })

  test.each(['queued', 'sending', 'uncertain', 'unresolved', 'done', 'dead'])(
    '4 a step that is %s already is left alone',
    async state => {
      const id = await accept()
      await database.pool.query(
        "update delivery set state = $2, lease_owner = $1, lease_until = now() + interval '1 hour' where notification_id = $1 and channel <> 'letter'",
        [id, state],
      )
      await finalize(id)
      expect(states(await stored(id))).toEqual({ email: state, sms: state, whatsapp: state, voice: state, letter: 'cancelled' })
    },
  )

  test('5.3 a call that bears Content-Type and no body is fine', async () => {
    const answer = await ask(`/regua-notificacao/finalizar/${await accept()}`, {
      headers: { 'content-type': 'application/json' },
    })
    expect([answer.status, answer.body]).toEqual([200, done])
  })
})

describe('4 operation 9, refused', () => {
  test('4 an unknown id, a foreign one and what is no UUID are 404, and change nothing', async () => {
    const foreign = await accept(everyChannel, stranger.token)
    const before = await stored(foreign)
    for (const id of [newId(Date.now()), foreign, 'nada', `${foreign}0`, '%00', '__proto__', newId(Date.UTC(1999, 0))]) {
      const answer = await ask(`/regua-notificacao/finalizar/${id}`)
      expect([id, answer.status, answer.body]).toEqual([id, 404, errorBody(404, 'Email sem status!', 'Not Found')])
    }
    expect(await stored(foreign)).toEqual(before)
    expect(states(before)).toMatchObject({ sms: 'waiting' })
  })

  test('5.6 without a token it is 401, and changes nothing', async () => {
    const id = await accept()
    for (const headers of [{}, { authorization: `Bearer ${account.token}` }] as Record<string, string>[]) {
      const answer = await request(`${gateway.url}/regua-notificacao/finalizar/${id}`, { headers })
      expect(answer.body).toEqual(errorBody(401, 'Unauthorized', 'Unauthorized'))
      expect(answer.status).toBe(401)
    }
    expect(states(await stored(id))).toMatchObject({ sms: 'waiting' })
  })

  test.each(['POST', 'PUT', 'PATCH', 'DELETE'])('4 %s is 404: the contract knows GET alone', async method => {
    const id = await accept()
    const answer = await request(`${gateway.url}/regua-notificacao/finalizar/${id}`, { method, token: account.token })
    expect(answer.body).toEqual(errorBody(404, expect.stringMatching(/^Rota não encontrada/), 'Not Found'))
    expect(states(await stored(id))).toMatchObject({ sms: 'waiting' })
  })
})
