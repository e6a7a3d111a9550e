import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { moduleOf } from '../../src/channels/registry.js'
import { rebuildStatuses } from '../../src/domain/delivery/rebuild.js'
import { brazilianDate } from '../../src/domain/text/dates.js'
import { promoteDueSteps, recordChanges } from '../../src/engine/record/record.js'
import { gatewayForFile } from '../support/gateway/gateway.js'
import { errorBody, request, send, validSend } from '../support/gateway/requests.js'

const { database, gateway, account } = await gatewayForFile()
const HOUR = 3_600_000
const inHours = (hours: number): Date => new Date(Math.floor((Date.now() + hours * HOUR) / 1_000) * 1_000)

const post = (body: object, headers: Record<string, string> = {}) =>
  send(gateway.url, account.token, { ...validSend, ...body }, headers)
const idOf = async (body: object): Promise<string> => ((await post(body)).body as { idEmail: string }).idEmail
const get = async (path: string) =>
  (await request(`${gateway.url}${path}`, { token: account.token })).body as Record<string, unknown>

const rowsOf = async (id: string): Promise<{ channel: string; state: string; due: Date }[]> =>
  (
    await database.pool.query('select channel, state, due_at as due from delivery where notification_id = $1 order by channel', [
      id,
    ])
  ).rows

test.each([
  ['ISO 8601 with a zone', (at: Date) => at.toISOString()],
  ['the time of Brasília', (at: Date) => brazilianDate(at)],
  [
    'ISO 8601 without a zone, which is the time of Brasília',
    (at: Date) => brazilianDate(at).replace(/(..)\/(..)\/(....) /, '$3-$2-$1T'),
  ],
])('a send with sendAt in %s waits, and says so truthfully', async (_, write) => {
  const at = inHours(30)
  const id = await idOf({ sendAt: write(at), sms: { number: '11987654321' } })
  const rows = await rowsOf(id)
  expect(rows.map(({ channel, state }) => [channel, state])).toEqual([
    ['email', 'waiting'],
    ['sms', 'waiting'],
  ])
  expect(Math.abs(rows[0]!.due.getTime() - at.getTime())).toBeLessThan(60_000)
  expect(rows[1]!.due.getTime() - rows[0]!.due.getTime()).toBe(30 * 60_000)
  expect(await get(`/gw/email/${id}`)).toMatchObject({ description: 'Processado', dateSend: '', error: false })
  const { data } = (await get(`/gw/sequence/${id}`)) as { data: { canal: string; descricao: string }[] }
  expect(data[0]).toMatchObject({ canal: 'email', descricao: expect.stringMatching(/^e-mail em \d\d\/\d\d\/\d{4} /) })
})

test('what was scheduled goes when its time has come, and the chain tells the same', async () => {
  const id = await idOf({ sendAt: inHours(1).toISOString() })
  await promoteDueSteps(database.pool, Date.now, { notify() {} }, new AbortController().signal)
  expect((await rowsOf(id))[0]).toMatchObject({ state: 'waiting' })
  await database.pool.query("update delivery set due_at = now() - interval '1 second' where notification_id = $1", [id])
  const later = () => Date.now() + 2 * HOUR
  await promoteDueSteps(database.pool, later, { notify() {} }, new AbortController().signal)
  expect((await rowsOf(id))[0]).toMatchObject({ state: 'queued' })
  const { rows } = await database.pool.query('select at, type, source, data from event where notification_id = $1 order by seq', [
    id,
  ])
  expect(rows.map(({ type }) => type)).toEqual(['accepted', 'released'])
  expect(rows[0].data.sendAt).toMatch(/Z$/)
  expect(rebuildStatuses(rows, moduleOf).get('email')).toMatchObject({ state: 'queued' })
})

test('finalizar cancels what was scheduled', async () => {
  const id = await idOf({ sendAt: inHours(1).toISOString(), sms: { number: '11987654321', typeSend: '2' } })
  await get(`/regua-notificacao/finalizar/${id}`)
  expect((await rowsOf(id)).map(({ state }) => state)).toEqual(['cancelled', 'cancelled'])
  expect(await get(`/gw/email/${id}`)).toMatchObject({ description: 'Finalizado' })
})

test('a step that others release early still waits for the time of sending', async () => {
  const at = inHours(5)
  const id = await idOf({ sendAt: at.toISOString(), sms: { number: '11987654321', typeSend: '1' } })
  const fact = {
    channel: 'email',
    type: 'cancelled',
    at: new Date(),
    source: 'operator',
    data: { cancelReason: 'finalized' },
  } as const
  await recordChanges(database.pool, Date.now, [{ kind: 'operator', decision: 'cancel', notification: id, fact }])
  const sms = (await rowsOf(id)).find(({ channel }) => channel === 'sms')!
  expect(sms.state).toBe('queued')
  expect(Math.abs(sms.due.getTime() - at.getTime())).toBeLessThan(60_000)
})

test.each([
  ['amanhã', 'O campo sendAt deve ser um momento em ISO 8601 com fuso'],
  ['2026-13-01T09:00:00Z', 'O campo sendAt deve ser um momento em ISO 8601 com fuso'],
  ['31/02/2030 09:00', 'O campo sendAt deve ser um momento em ISO 8601 com fuso'],
  ['2020-01-01T09:00:00-03:00', 'O campo sendAt já passou'],
  ['2099-01-01T09:00:00-03:00', 'O campo sendAt está longe demais: informe um momento nos próximos 90 dias'],
])('7 sendAt %s is 400', async (sendAt, message) => {
  const { status, body } = await post({ sendAt })
  expect(status).toBe(400)
  expect(body).toEqual(errorBody(400, expect.stringContaining(message), 'Bad Request'))
})

test('7 a bad sendAt is told before a validation that the account may not use: 400 comes before 403', async () => {
  const validation = { question: 'Qual é o seu CPF?', reply: '12345678909' }
  expect((await post({ validation })).status).toBe(403)
  expect((await post({ validation, sendAt: '2020-01-01T09:00:00-03:00' })).status).toBe(400)
})

test('the same request under the same key gets the first answer', async () => {
  const sendAt = inHours(1).toISOString()
  const headers = { 'idempotency-key': 'agendado-1' }
  const first = await post({ sendAt }, headers)
  const again = await post({ sendAt }, headers)
  expect([first.status, again.status]).toEqual([200, 200])
  expect(again.body).toEqual(first.body)
})

test('null, and a moment that has just passed, are at once', async () => {
  for (const sendAt of [null, new Date(Date.now() - 60_000).toISOString()])
    expect((await rowsOf(await idOf({ sendAt })))[0]).toMatchObject({ state: 'queued' })
})

test('a request whose time has passed since is answered under its key as it first was', async () => {
  const body = { ...validSend, sendAt: '2020-01-01T09:00:00-03:00' }
  const headers = { 'idempotency-key': 'agendado-2' }
  const { idEmail } = (await post({}, headers)).body as { idEmail: string }
  // As if this had been the body, when its time was still to come.
  const sha256 = createHash('sha256').update(JSON.stringify(body)).digest()
  await database.pool.query("update idempotency set body_sha256 = $1 where key = 'agendado-2'", [sha256])
  expect(await send(gateway.url, account.token, body, headers)).toMatchObject({ status: 200, body: { idEmail } })
})
