import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../src/domain/id.js'
import { brazilianDate } from '../../src/domain/text/dates.js'
import { listNotifications } from '../../src/store/console/notification-list.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { createAccount, type Gateway, startGateway, type TestAccount } from '../support/gateway/gateway.js'
import { errorBody, send, validSend } from '../support/gateway/requests.js'
import { happen as record } from '../support/gateway/webhooks.js'
import { type Ask, conformingRequests } from '../support/openapi.js'

let database: TestDatabase
let gateway: Gateway
let account: TestAccount
let stranger: TestAccount
let ask: Ask

beforeAll(async () => {
  database = await createDatabase()
  gateway = await startGateway(database.pool)
  account = await createAccount(database.pool)
  stranger = await createAccount(database.pool)
  ask = conformingRequests(gateway, { token: account.token })
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
})

const number = '11987654321'
const everyChannel = { ...validSend, customID: 'c-1', sms: { number }, whatsapp: { number }, voz: { number }, carta: {} }
const wireChannels = ['email', 'sms', 'whatsapp', 'voz', 'carta']

async function accept(body: object = everyChannel, token = account.token): Promise<string> {
  const answer = await send(gateway.url, token, body)
  expect(answer.status).toBe(200)
  return (answer.body as { idEmail: string }).idEmail
}

/** Sets when it was accepted, and what happened on a channel. */
async function happen(id: string, channel: string, changes: string): Promise<void> {
  await database.tamper("update delivery set accepted_at = '2026-07-18T02:59:00Z' where notification_id = $1", [id])
  const { rowCount } = await database.pool.query(`update delivery set ${changes} where notification_id = $1 and channel = $2`, [
    id,
    channel,
  ])
  expect(rowCount).toBe(1)
}

interface Full {
  codEmail: number
  statusFull: Record<string, { label: string; dateTime: string }[]>
  lastStatus: Record<string, { label: string; dateTime: string }>
  [channel: string]: unknown
}

async function full(id: string): Promise<Full> {
  const answer = await ask(`/gw/full/${id}`)
  expect(answer.status).toBe(200)
  return answer.body as Full
}

describe('GET /gw/full', () => {
  test('4 right after the acceptance every asked channel has its first step, and its record', async () => {
    const id = await accept()
    await happen(id, 'email', "state = 'queued'")
    const answer = await full(id)
    const first = { label: 'Processado', dateTime: '17/07/2026 23:59:00' }
    expect(answer.statusFull).toEqual(Object.fromEntries(wireChannels.map(channel => [channel, [first]])))
    expect(answer.lastStatus).toEqual({
      ...Object.fromEntries(wireChannels.map(channel => [channel, first])),
      sms: { ...first, label: 'Aguardando o e-mail' },
    })
    expect(Object.keys(answer).sort()).toEqual(['codEmail', 'evidencias', 'lastStatus', 'statusFull', ...wireChannels].sort())
  })

  test('4 the records are those of the status lookups', async () => {
    const id = await accept()
    await happen(id, 'letter', "sent_at = '2026-07-18T04:00:00Z', tracking_code = 'AA123456785BR'")
    await happen(id, 'voice', "failure = 'busy', failed_at = '2026-07-18T05:00:00Z'")
    const answer = await full(id)
    for (const channel of wireChannels) expect(answer[channel]).toEqual([(await ask(`/gw/${channel}/${id}`)).body])
  })

  test('4 a channel that was not used is absent from the two maps and empty below', async () => {
    for (const [body, used] of [
      [validSend, 'email'],
      [{ ...validSend, to: null, voz: { number } }, 'voz'],
    ] as const) {
      const answer = await full(await accept(body))
      expect(Object.keys(answer.statusFull)).toEqual([used])
      expect(Object.keys(answer.lastStatus)).toEqual([used])
      for (const channel of wireChannels) expect(answer[channel]).toHaveLength(channel === used ? 1 : 0)
    }
  })

  test('4 the steps are told oldest first, each with its date, across midnight too', async () => {
    const id = await accept()
    await happen(
      id,
      'email',
      `state = 'done', sent_at = '2026-07-18T02:59:59Z', delivered_at = '2026-07-18T03:00:00Z', read_at = '2026-07-19T11:00:00Z',
       confirmed_at = '2026-07-19T11:01:00Z'`,
    )
    const { statusFull, lastStatus } = await full(id)
    expect(statusFull.email).toEqual([
      { label: 'Processado', dateTime: '17/07/2026 23:59:00' },
      { label: 'Enviado', dateTime: '17/07/2026 23:59:59' },
      { label: 'Entregue', dateTime: '18/07/2026 00:00:00' },
      { label: 'Lido', dateTime: '19/07/2026 08:00:00' },
      { label: 'Confirmou o recebimento', dateTime: '19/07/2026 08:01:00' },
    ])
    expect(lastStatus.email).toEqual({ label: 'Confirmou o recebimento', dateTime: '19/07/2026 08:01:00' })
  })

  test('4 the last status is the highest step with its own date, also when a lower one came in later', async () => {
    const id = await accept()
    await happen(id, 'email', "state = 'done', read_at = '2026-07-18T04:00:00Z', delivered_at = '2026-07-18T05:00:00Z'")
    const { statusFull, lastStatus } = await full(id)
    expect(statusFull.email!.map(step => step.label)).toEqual(['Processado', 'Lido', 'Entregue'])
    expect(lastStatus.email).toEqual({ label: 'Lido', dateTime: '18/07/2026 01:00:00' })
  })

  test('4 a failure and a cancelled step are steps of their own', async () => {
    const id = await accept()
    await happen(
      id,
      'email',
      "state = 'dead', sent_at = '2026-07-18T04:00:00Z', failed_at = '2026-07-18T05:00:00Z', failure = 'bounced'",
    )
    await happen(id, 'sms', "state = 'cancelled', cancelled_at = '2026-07-18T06:00:00Z', cancel_reason = 'not needed'")
    const { statusFull, lastStatus } = await full(id)
    expect(statusFull.email!.map(step => step.label)).toEqual(['Processado', 'Enviado', 'Devolvido'])
    expect(lastStatus.email).toEqual({ label: 'Devolvido', dateTime: '18/07/2026 02:00:00' })
    expect(statusFull.sms!.map(step => step.label)).toEqual(['Processado', 'Não enviado: e-mail entregue'])
    expect(lastStatus.sms).toEqual({ label: 'Não enviado: e-mail entregue', dateTime: '18/07/2026 03:00:00' })
  })

  test('4 a bounce has its reason in the record too, and the last status agrees with it', async () => {
    const id = await accept(validSend)
    await happen(
      id,
      'email',
      `state = 'done', sent_at = '2026-07-18T04:00:00Z', failed_at = '2026-07-18T05:00:00Z', failure = 'bounced',
       failure_detail = 'A caixa de e-mail não existe.'`,
    )
    const answer = await full(id)
    expect(answer.lastStatus.email).toEqual({
      label: 'Devolvido',
      dateTime: '18/07/2026 02:00:00',
      reason: 'A caixa de e-mail não existe.',
    })
    expect(answer.email).toMatchObject([
      { failureReason: 'Devolvido', failureReasonDescription: 'A caixa de e-mail não existe.', error: true },
    ])
    // 2.5 the lookup keeps them for a failed validation.
    expect((await ask(`/gw/email/${id}`)).body).toMatchObject({ failureReason: null, failureReasonDescription: null })
  })

  test('4 an outcome that is being checked has the time since which it is', async () => {
    const id = await accept(validSend)
    await record(database.pool, id, 'email', 'uncertain')
    const { statusFull, lastStatus } = await full(id)
    const { rows } = await database.pool.query("select at from event where notification_id = $1 and type = 'uncertain'", [id])
    expect(lastStatus.email).toEqual({ label: 'Em verificação', dateTime: brazilianDate(rows[0].at) })
    expect(statusFull.email!.map(step => step.label)).toEqual(['Processado', 'Em verificação'])
    expect(statusFull.email!.at(-1)).toEqual(lastStatus.email)
  })

  test('a page of a list has for each outcome that is being checked the time since which it is', async () => {
    const ids = [await accept(validSend), await accept(validSend), await accept(validSend)]
    for (const id of [ids[2]!, ids[0]!]) await record(database.pool, id, 'email', 'uncertain')
    const page = { text: null, channel: null, status: null, notReached: false, fromMs: null, toMs: null, before: null } as const
    const { notifications } = await listNotifications(database.pool, { ...page, accounts: [account.id], mode: 'live' })
    const { rows } = await database.pool.query("select notification_id as id, at from event where type = 'uncertain'")
    const shown = ids.map(id => notifications.find(found => found.id === id)!.deliveries[0]!.unknownSince)
    expect(shown).toEqual([rows.find(({ id }) => id === ids[0]).at, null, rows.find(({ id }) => id === ids[2]).at])
  })

  test('4 replies are told with their text, on every channel that has them', async () => {
    const id = await accept()
    for (const channel of ['email', 'whatsapp', 'sms']) {
      await record(database.pool, id, channel, 'answered', { answer: `primeira por ${channel}`, answerId: '1' })
      await record(database.pool, id, channel, 'answered', { answer: `segunda por ${channel}`, answerId: '2' })
    }
    const answer = await full(id)
    for (const channel of ['email', 'whatsapp', 'sms'])
      expect(answer[channel]).toMatchObject([{ answered: [`primeira por ${channel}`, `segunda por ${channel}`] }])
    for (const channel of ['voz', 'carta']) expect((answer[channel] as object[])[0]).not.toHaveProperty('answered')
  })

  test('4 codEmail is a whole number, grows with every notification and stays the same', async () => {
    const [one, two] = [await accept(), await accept()]
    const codes = [(await full(one)).codEmail, (await full(two)).codEmail, (await full(one)).codEmail]
    expect(codes.every(code => Number.isSafeInteger(code) && code > 0)).toBe(true)
    expect(codes[1]).toBeGreaterThan(codes[0]!)
    expect(codes[2]).toBe(codes[0])
  })

  test('4 an id in upper case, a trailing slash and a Content-Type without a body are fine', async () => {
    const id = await accept()
    const plain = await full(id)
    for (const path of [id.toUpperCase(), `${id}/`])
      expect((await ask(`/gw/full/${path}`, { headers: { 'content-type': 'application/json' } })).body).toEqual(plain)
  })
})

describe('proofs while there is nothing to prove', () => {
  test('4 sending-proof says so in a message, and has no content', async () => {
    const answer = await ask(`/gw/sending-proof/${await accept()}`)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ message: expect.stringMatching(/^Ainda não há o que comprovar/) })
  })

  test('4 the report of the e-mail is 404', async () => {
    const answer = await ask(`/gw/email/laudo/${await accept()}`)
    expect(answer.body).toEqual(errorBody(404, 'Registro não encontrado', 'Not Found'))
    expect(answer.status).toBe(404)
  })
})

describe('no such notification', () => {
  test.each([
    ['full', 'Email sem status!'],
    ['sending-proof', 'Email sem status!'],
    ['email/laudo', 'Registro não encontrado'],
  ])('4 /gw/%s of an unknown id, a foreign one and what is no UUID: 404', async (path, message) => {
    const foreign = await accept(everyChannel, stranger.token)
    for (const id of [newId(Date.now()), foreign, 'nada', `${foreign}0`, '%00', '__proto__', 'null', newId(Date.UTC(1999, 0))]) {
      const answer = await ask(`/gw/${path}/${id}`)
      expect([id, answer.status, answer.body]).toEqual([id, 404, errorBody(404, message, 'Not Found')])
    }
  })
})
