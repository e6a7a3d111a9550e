import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { validationFailures } from '../../src/channels/email/validation-failures.js'
import type { Channel } from '../../src/domain/channel.js'
import { newId } from '../../src/domain/id.js'
import { createDatabase, databaseForTest, type TestDatabase } from '../support/database/database.js'
import {
  createAccount,
  type Gateway,
  gatewayForTest,
  issueToken,
  startGateway,
  type TestAccount,
} from '../support/gateway/gateway.js'
import { errorBody, request, send, validSend } from '../support/gateway/requests.js'
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

const paths: Record<Channel, string> = { email: 'email', sms: 'sms', whatsapp: 'whatsapp', voice: 'voz', letter: 'carta' }
const channels = Object.keys(paths) as Channel[]
const number = '11987654321'
const everyChannel = {
  ...validSend,
  customID: 'contrato-4711',
  sms: { number },
  whatsapp: { number },
  voz: { number },
  carta: { name: 'Maria' },
}
const noStatus = errorBody(404, 'Email sem status!', 'Not Found')

async function accept(body: object = everyChannel, token = account.token): Promise<string> {
  const answer = await send(gateway.url, token, body)
  expect(answer.status).toBe(200)
  return (answer.body as { idEmail: string }).idEmail
}

/** The columns that the delivery of a channel may have; the engine that will set them one day writes the same ones. */
interface Columns {
  state?: string
  lease_owner?: string
  lease_until?: string
  processed_at?: string
  prepared_at?: string
  sent_at?: string
  delivered_at?: string
  read_at?: string
  confirmed_at?: string
  link_opened_at?: string
  answered_at?: string
  failed_at?: string
  cancelled_at?: string
  cancel_reason?: string
  failure?: string
  failure_detail?: string
  answers?: string
  tracking_code?: string
  recording?: Buffer
}

async function happen(id: string, channel: Channel, columns: Columns): Promise<void> {
  const names = Object.keys(columns)
  const changes = names.map((name, index) => `${name} = $${index + 3}`).join(', ')
  const { rowCount } = await database.pool.query(`update delivery set ${changes} where notification_id = $1 and channel = $2`, [
    id,
    channel,
    ...Object.values(columns),
  ])
  expect(rowCount).toBe(1)
}

async function lookUp(id: string, channel: Channel, token = account.token): Promise<Record<string, unknown>> {
  const answer = await ask(`/gw/${paths[channel]}/${id}`, { token })
  expect(answer.status).toBe(200)
  return answer.body as Record<string, unknown>
}

/** A fresh notification over all channels, in which this happened on one of them. */
async function recordWhen(channel: Channel, columns: Columns): Promise<Record<string, unknown>> {
  const id = await accept()
  await happen(id, channel, columns)
  return lookUp(id, channel)
}

/** 18/07/2026, so many minutes after one o'clock in Brasília. */
const at = (minute: number): string => `2026-07-18T04:${String(minute).padStart(2, '0')}:32Z`
const shown = (minute: number): string => `18/07/2026 01:${String(minute).padStart(2, '0')}:32`

describe('2.5 right after the acceptance', () => {
  let id: string
  beforeAll(async () => {
    id = await accept()
  })

  test('2.5 the e-mail status', async () => {
    expect(await lookUp(id, 'email')).toEqual({
      dateSend: '',
      dateDelivery: '',
      dateReading: null,
      dateAcceptance: null,
      error: false,
      description: 'Processado',
      failureReason: null,
      failureReasonDescription: null,
      customID: 'contrato-4711',
      idEmail: id,
    })
  })

  test('2.5 the WhatsApp status', async () => {
    expect(await lookUp(id, 'whatsapp')).toEqual({
      description: 'Processado',
      error: false,
      failureReason: null,
      customID: 'contrato-4711',
      idEmail: id,
    })
  })

  test('2.5 the letter status', async () => {
    expect(await lookUp(id, 'letter')).toEqual({ description: 'Processado', error: false })
  })

  test('2.5 the SMS status', async () => {
    expect(await lookUp(id, 'sms')).toEqual({
      dateSend: '',
      dateReading: null,
      description: 'Aguardando o e-mail',
      dateAnswered: null,
      answered: [],
    })
  })

  test('2.5 the voice status', async () => {
    expect(await lookUp(id, 'voice')).toEqual({ description: 'Processado' })
  })

  test('2.5 without a customID it is null', async () => {
    const plain = await accept({ ...validSend, whatsapp: { number } })
    expect(await lookUp(plain, 'email')).toMatchObject({ customID: null, idEmail: plain })
    expect(await lookUp(plain, 'whatsapp')).toMatchObject({ customID: null, idEmail: plain })
  })
})

describe('2.5 once everything has happened', () => {
  test('2.5 the e-mail status', async () => {
    const record = await recordWhen('email', {
      state: 'done',
      sent_at: at(1),
      delivered_at: at(2),
      read_at: at(3),
      confirmed_at: at(4),
    })
    expect(record).toEqual({
      dateSend: shown(1),
      dateDelivery: shown(2),
      dateReading: shown(3),
      dateAcceptance: shown(4),
      error: false,
      description: 'Confirmou o recebimento',
      failureReason: null,
      failureReasonDescription: null,
      customID: 'contrato-4711',
      idEmail: record.idEmail,
    })
  })

  test('2.5 the WhatsApp status', async () => {
    const record = await recordWhen('whatsapp', {
      state: 'done',
      sent_at: at(1),
      delivered_at: at(2),
      read_at: at(3),
      link_opened_at: at(4),
      answered_at: at(5),
      answers: JSON.stringify([{ text: 'ok', id: null }]),
    })
    expect(record).toEqual({
      description: 'Respondido',
      dateSent: shown(1),
      dateDelivery: shown(2),
      dateResponse: shown(5),
      dateAccessLink: shown(4),
      error: false,
      failureReason: null,
      customID: 'contrato-4711',
      idEmail: record.idEmail,
    })
  })

  test('2.5 the letter status', async () => {
    const record = await recordWhen('letter', {
      state: 'done',
      processed_at: at(1),
      prepared_at: at(2),
      sent_at: at(3),
      delivered_at: at(4),
      tracking_code: 'AA123456785BR',
    })
    expect(record).toEqual({
      description: 'Entregue',
      error: false,
      dateProcessing: shown(1),
      datePreparation: shown(2),
      dateSent: shown(3),
      dateDelivery: shown(4),
      sro: 'AA123456785BR',
      linkSvcCartaComprovante: expect.stringMatching(/^http:.+\/comprovante\/carta\/[\w-]{44}\.pdf$/),
      linkArCartaComprovante: record.linkSvcCartaComprovante,
      linkRastreio: expect.stringMatching(/^https:\/\/.+AA123456785BR$/),
    })
  })

  test('2.5 the SMS status, with its answers oldest first', async () => {
    const answers = ['Pare', 'SIM, confirmo', 'çãé 🙂']
    const record = await recordWhen('sms', {
      state: 'done',
      sent_at: at(1),
      delivered_at: at(2),
      read_at: at(3),
      answered_at: at(4),
      answers: JSON.stringify(answers.map(text => ({ text, id: null }))),
    })
    expect(record).toEqual({
      dateSend: shown(1),
      dateReading: shown(3),
      description: 'Respondido',
      dateAnswered: shown(4),
      answered: answers,
    })
  })

  test('2.5 the voice status of a call that was answered', async () => {
    expect(await recordWhen('voice', { state: 'done', sent_at: at(1), delivered_at: at(2) })).toEqual({
      dateSent: shown(1),
      dateSuccessCall: shown(2),
      description: 'Entregue',
    })
  })

  test('2.5 the voice status of a call that failed', async () => {
    const columns = { state: 'dead', sent_at: at(1), failed_at: at(2), failure: 'no-answer' }
    expect(await recordWhen('voice', columns)).toEqual({
      dateSent: shown(1),
      dateFailureCall: shown(2),
      description: 'Não atendida',
    })
  })
})

/** Clients of this contract ask `"dateDelivery" in status`: what has not happened is no key, neither null nor "". */
describe('2.5 the keys of a record, stage by stage', () => {
  const recording = Buffer.alloc(32, 0xaa)
  const stages: [Channel, { always: string[]; steps: [what: string, happens: Columns, added: string[], gone?: string[]][] }][] = [
    [
      'whatsapp',
      {
        always: ['description', 'error', 'failureReason', 'customID', 'idEmail'],
        steps: [
          ['accepted', {}, []],
          ['sent', { sent_at: at(1) }, ['dateSent']],
          ['delivered', { delivered_at: at(2) }, ['dateDelivery']],
          ['read', { read_at: at(3) }, []],
          ['opened through its link', { link_opened_at: at(4) }, ['dateAccessLink']],
          ['answered', { answered_at: at(5) }, ['dateResponse']],
        ],
      },
    ],
    [
      'whatsapp',
      {
        always: ['description', 'error', 'failureReason', 'customID', 'idEmail'],
        steps: [['refused', { failed_at: at(1), failure: 'rejected', failure_detail: 'Template inexistente.' }, []]],
      },
    ],
    [
      'voice',
      {
        always: ['description'],
        steps: [
          ['accepted', {}, []],
          ['called', { sent_at: at(1) }, ['dateSent']],
          ['heard', { delivered_at: at(2) }, ['dateSuccessCall']],
          ['recorded', { recording }, ['linkCall']],
          ['failed after all', { failed_at: at(3), failure: 'rejected' }, ['dateFailureCall'], ['dateSuccessCall']],
        ],
      },
    ],
    [
      'voice',
      {
        always: ['description'],
        steps: [
          ['called', { sent_at: at(1) }, ['dateSent']],
          ['not answered', { failed_at: at(2), failure: 'no-answer' }, ['dateFailureCall']],
        ],
      },
    ],
    [
      'letter',
      {
        always: ['description', 'error'],
        steps: [
          ['accepted', {}, []],
          ['processed', { processed_at: at(1) }, ['dateProcessing', 'linkSvcCartaComprovante', 'linkArCartaComprovante']],
          ['prepared', { prepared_at: at(2) }, ['datePreparation']],
          ['posted', { sent_at: at(3) }, ['dateSent']],
          ['tracked', { tracking_code: 'AA123456785BR' }, ['sro', 'linkRastreio']],
          ['delivered', { delivered_at: at(4) }, ['dateDelivery']],
        ],
      },
    ],
    [
      'letter',
      {
        always: ['description', 'error'],
        steps: [['refused', { failed_at: at(1), failure: 'rejected', failure_detail: 'Falta o endereço.' }, ['failureReason']]],
      },
    ],
  ]

  test.each(stages)('2.5 of %s', async (channel, { always, steps }) => {
    const id = await accept()
    const keys = new Set(always)
    for (const [what, happens, added, gone = []] of steps) {
      await happen(id, channel, { state: 'failure' in happens ? 'dead' : 'done', ...happens })
      for (const key of added) keys.add(key)
      for (const key of gone) keys.delete(key)
      const record = await lookUp(id, channel)
      expect([what, Object.keys(record).sort()]).toEqual([what, [...keys].sort()])
      for (const key of added) expect([key, record[key]]).toEqual([key, expect.stringMatching(/\S/)])
      const full = (await ask(`/gw/full/${id}`)).body as Record<string, object[]>
      expect(full[paths[channel]!]).toEqual([record])
    }
  })
})

describe('3 the description', () => {
  const rungs: [Columns, string][] = [
    [{ sent_at: at(1) }, 'Enviado'],
    [{ delivered_at: at(2) }, 'Entregue'],
    [{ read_at: at(3) }, 'Lido'],
    [{ confirmed_at: at(4) }, 'Confirmou o recebimento'],
  ]

  test.each(channels)('3 of %s climbs one rung at a time', async channel => {
    const id = await accept({ ...everyChannel, sms: { number, typeSend: '2' } })
    const seen = [(await lookUp(id, channel)).description]
    for (const [columns] of rungs) {
      await happen(id, channel, { state: 'done', ...columns })
      seen.push((await lookUp(id, channel)).description)
    }
    const read = channel === 'sms' ? 'Lido (acessou o link)' : 'Lido'
    expect(seen).toEqual(['Processado', 'Enviado', 'Entregue', read, 'Confirmou o recebimento'])
  })

  test('3 it does not fall when the delivery is confirmed after the reading', async () => {
    const record = await recordWhen('email', { state: 'done', sent_at: at(1), read_at: at(2), delivered_at: at(9) })
    expect(record).toMatchObject({ description: 'Lido', dateDelivery: shown(9), dateReading: shown(2) })
  })

  test.each<[string, Channel, Columns, string]>([
    [
      'an SMS that was not needed',
      'sms',
      { state: 'cancelled', cancelled_at: at(1), cancel_reason: 'not needed' },
      'Não enviado: e-mail entregue',
    ],
    ['an SMS ended by finalizar', 'sms', { state: 'cancelled', cancelled_at: at(1), cancel_reason: 'finalized' }, 'Finalizado'],
    [
      'a letter ended by finalizar',
      'letter',
      { state: 'cancelled', cancelled_at: at(1), cancel_reason: 'finalized' },
      'Finalizado',
    ],
    ['a call whose outcome is being checked', 'voice', { state: 'uncertain' }, 'Em verificação'],
    ['a letter whose outcome is being checked', 'letter', { state: 'uncertain' }, 'Em verificação'],
    ['a letter whose outcome only a person can find out', 'letter', { state: 'unresolved' }, 'Em verificação'],
    [
      'an SMS that is on its way to the carrier',
      'sms',
      { state: 'sending', lease_owner: crypto.randomUUID(), lease_until: at(59) },
      'Processado',
    ],
  ])('3 of %s', async (_, channel, columns, description) => {
    expect((await recordWhen(channel, columns)).description).toBe(description)
  })
})

describe('3 failures', () => {
  test.each<[Channel, string, string | null, string]>([
    ['email', 'validation', 'syntax', 'Falha na validação'],
    ['email', 'rejected', 'A operadora recusou.', 'Falha no envio'],
    ['email', 'bounced', 'Caixa postal cheia.', 'Devolvido'],
    ['sms', 'rejected', 'A operadora recusou.', 'Falha no envio'],
    ['sms', 'undelivered', null, 'Não entregue'],
    ['whatsapp', 'rejected', 'Template inexistente.', 'Falha no envio'],
    ['whatsapp', 'undelivered', null, 'Não entregue'],
    ['voice', 'no-answer', null, 'Não atendida'],
    ['voice', 'busy', null, 'Ocupado'],
    ['voice', 'machine', null, 'Caixa postal'],
    ['voice', 'rejected', null, 'Falha na chamada'],
    ['letter', 'rejected', 'Falta o endereço.', 'Falha no processamento'],
    ['letter', 'returned', 'Mudou-se', 'Devolvida: Mudou-se'],
  ])('3 %s, %s (%s): %s', async (channel, failure, detail, description) => {
    const record = await recordWhen(channel, {
      state: 'dead',
      failed_at: at(2),
      failure,
      ...(detail === null ? {} : { failure_detail: detail }),
    })
    expect(record.description).toBe(description)
    if ('error' in record) expect(record.error).toBe(true)
    else expect(['sms', 'voice']).toContain(channel)
  })

  test('3 a bounce after the delivery: the dates stay, error becomes true', async () => {
    const id = await accept()
    await happen(id, 'email', { state: 'done', sent_at: at(1), delivered_at: at(2) })
    expect(await lookUp(id, 'email')).toMatchObject({ error: false, description: 'Entregue' })
    await happen(id, 'email', { failed_at: at(3), failure: 'bounced', failure_detail: 'Caixa postal inexistente.' })
    expect(await lookUp(id, 'email')).toMatchObject({
      dateSend: shown(1),
      dateDelivery: shown(2),
      error: true,
      description: 'Devolvido',
      failureReason: null,
      failureReasonDescription: null,
    })
  })

  test.each(Object.entries(validationFailures))(
    '2.5 failureReason and failureReasonDescription of a failed validation: %s',
    async (reason, { label, description }) => {
      const record = await recordWhen('email', { state: 'dead', failed_at: at(1), failure: 'validation', failure_detail: reason })
      expect(record).toMatchObject({
        error: true,
        description: 'Falha na validação',
        failureReason: label,
        failureReasonDescription: description,
        dateSend: '',
        dateDelivery: '',
      })
    },
  )

  test('2.5 WhatsApp tells its reason, or at least what happened', async () => {
    const failed = { state: 'dead', failed_at: at(1) }
    const told = await recordWhen('whatsapp', {
      ...failed,
      failure: 'rejected',
      failure_detail: 'Falta o valor da variável nome.',
    })
    expect(told).toMatchObject({ error: true, failureReason: 'Falta o valor da variável nome.' })
    const untold = await recordWhen('whatsapp', { ...failed, failure: 'undelivered' })
    expect(untold).toMatchObject({ error: true, failureReason: 'Não entregue' })
  })
})

describe('2.5 dates are in Brasília', () => {
  test.each([
    ['2026-07-18T02:59:59Z', '17/07/2026 23:59:59'],
    ['2026-07-18T03:00:00Z', '18/07/2026 00:00:00'],
    ['2027-01-01T02:59:59.999Z', '31/12/2026 23:59:59'],
    ['2028-03-01T00:30:00Z', '29/02/2028 21:30:00'],
  ])('2.5 %s is shown as %s on every channel', async (moment, date) => {
    const id = await accept()
    for (const channel of channels) {
      await happen(id, channel, { state: 'done', sent_at: moment })
      const record = await lookUp(id, channel)
      expect(record.dateSend ?? record.dateSent).toBe(date)
    }
  })
})

describe('4.1 no status', () => {
  test.each(channels)('4.1 of %s: an unknown id, a foreign one, and what is no UUID are all 404', async channel => {
    const foreign = await accept(everyChannel, stranger.token)
    expect((await lookUp(foreign, channel, stranger.token)).description).toBeTypeOf('string')
    const odd = [
      'nada',
      'null',
      '0',
      `${foreign}x`,
      foreign.slice(1),
      foreign.replaceAll('-', ''),
      `{${foreign}}`,
      '%20',
      '%00',
      '__proto__',
      '..%2f..%2fetc',
      "'%20or%201=1",
      'é',
    ]
    for (const id of [newId(Date.now()), '00000000-0000-0000-0000-000000000000', foreign, ...odd]) {
      const answer = await ask(`/gw/${paths[channel]}/${id}`)
      expect([id, answer.status, answer.body]).toEqual([id, 404, noStatus])
    }
  })

  test.each(channels)('4.1 a channel that the request did not ask for is 404: all but %s', async channel => {
    const { to, sms, whatsapp, voz, carta, ...rest } = everyChannel
    const only = { email: { to }, sms: { sms }, whatsapp: { whatsapp }, voice: { voz }, letter: { carta } }[channel]
    const id = await accept({ ...rest, ...only })
    for (const other of channels) {
      const answer = await ask(`/gw/${paths[other]}/${id}`)
      expect([other, answer.status]).toEqual([other, other === channel ? 200 : 404])
      if (other !== channel) expect(answer.body).toEqual(noStatus)
    }
  })

  test('4.1 an id of a month that no table holds is 404', async () => {
    for (const id of [newId(Date.UTC(2001, 0, 1)), newId(Date.UTC(2099, 0, 1)), 'ffffffff-ffff-ffff-ffff-ffffffffffff'])
      expect((await ask(`/gw/email/${id}`)).body).toEqual(noStatus)
  })
})

describe('4 and 5 the request', () => {
  test.each(channels)('4 %s: an id in upper case and a trailing slash are fine', async channel => {
    const id = await accept()
    const plain = await lookUp(id, channel)
    for (const path of [id.toUpperCase(), `${id}/`, `${id}?x=1`, `${id.toUpperCase()}/?`]) {
      const answer = await ask(`/gw/${paths[channel]}/${path}`)
      expect(answer.body).toEqual(plain)
    }
  })

  test.each(channels)('5.3 %s: a lookup that bears Content-Type and no body is fine', async channel => {
    const id = await accept()
    const answer = await ask(`/gw/${paths[channel]}/${id}`, { headers: { 'content-type': 'application/json' } })
    expect(answer.status).toBe(200)
  })

  test.each(channels)('5.6 %s: without a token, or with a prefix, 401', async channel => {
    const id = await accept()
    for (const headers of [{}, { authorization: `Bearer ${account.token}` }] as Record<string, string>[]) {
      const answer = await request(`${gateway.url}/gw/${paths[channel]}/${id}`, { headers })
      expect(answer.body).toEqual(errorBody(401, 'Unauthorized', 'Unauthorized'))
      expect(answer.status).toBe(401)
    }
  })

  test('every answer bears its request id and its limit', async () => {
    const { headers } = await ask(`/gw/email/${await accept()}`)
    expect(headers.get('x-request-id')).toMatch(/^[\w-]{6,64}$/)
    expect(headers.get('ratelimit')).toMatch(/^"registrado";r=\d+;t=\d+$/)
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
  })

  test('all tokens of an account and a mode see what any of them sent; those of the other mode do not', async () => {
    const other = await issueToken(database.pool, account.id)
    const tester = await issueToken(database.pool, account.id, { mode: 'test' })
    const sent = await accept()
    expect(await lookUp(sent, 'email', other.token)).toMatchObject({ idEmail: sent })
    expect((await ask(`/gw/email/${sent}`, { token: tester.token })).body).toEqual(noStatus)
  })
})

describe('lookups that arrive together', () => {
  test('share a query, and each gets the answer to its own question', async () => {
    const own = await databaseForTest()
    let queries = 0
    const query = own.pool.query.bind(own.pool) as (...given: unknown[]) => Promise<unknown>
    own.pool.query = ((...given: unknown[]) => {
      if ((given[0] as { name?: string }).name?.startsWith('find-statuses')) queries++
      return query(...given)
    }) as typeof own.pool.query
    const node = await gatewayForTest(own.pool)
    const [one, two] = [await createAccount(own.pool), await createAccount(own.pool)]
    const sent = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        const sender = index % 2 === 0 ? one : two
        const { body } = await send(node.url, sender.token, { ...everyChannel, customID: `n${index}` })
        return { index, sender, id: (body as { idEmail: string }).idEmail }
      }),
    )
    const look = async (path: string, token: string) => {
      const { statusCode, body } = await node.app.inject({ url: path, headers: { authorization: token } })
      return { status: statusCode, body: JSON.parse(body) }
    }
    expect((await look(`/gw/email/${sent[0]!.id}`, one.token)).status).toBe(200)
    expect(queries).toBe(1)

    queries = 0
    const answers = await Promise.all(
      sent.map(async ({ index, sender, id }) => {
        const channel = index % 3 === 0 ? 'whatsapp' : 'email'
        const [mine, theirs, unknown] = await Promise.all([
          look(`/gw/${channel}/${id}`, sender.token),
          look(`/gw/${channel}/${id}`, sender === one ? two.token : one.token),
          look(`/gw/${channel}/${newId(Date.now())}`, sender.token),
        ])
        return [mine.status, mine.body.idEmail, mine.body.customID, theirs.status, unknown.status]
      }),
    )
    expect(answers).toEqual(sent.map(({ index, id }) => [200, id, `n${index}`, 404, 404]))
    expect(queries).toBeGreaterThan(0)
    expect(queries).toBeLessThan(100)
  })
})
