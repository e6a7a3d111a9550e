import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { moduleOf } from '../../src/channels/registry.js'
import { rebuildStatuses } from '../../src/domain/delivery/rebuild.js'
import { describe as describeStatus } from '../../src/domain/delivery/status.js'
import { newId } from '../../src/domain/id.js'
import type { SequenceStep } from '../../src/domain/send/sequence.js'
import { promoteDueSteps, recordChanges } from '../../src/engine/record/record.js'
import { findFaults } from '../../src/evidence/notification-faults.js'
import { updateSequence } from '../../src/store/accounts/accounts.js'
import { readEventLog } from '../../src/store/notification/event-log.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { runCommand } from '../support/gateway/command.js'
import { createAccount, type Gateway, startGateway, type TestAccount } from '../support/gateway/gateway.js'
import { errorBody, request, send, validSend } from '../support/gateway/requests.js'
import { type Ask, conformingRequests } from '../support/openapi.js'

let database: TestDatabase
let gateway: Gateway
let ask: Ask

beforeAll(async () => {
  database = await createDatabase()
  gateway = await startGateway(database.pool)
  ask = conformingRequests(gateway)
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
})

const number = '11987654321'
const everyChannel = { ...validSend, sms: { number }, whatsapp: { number }, voz: { number }, carta: {} }

const step = (canal: string, esperaMinutos: number, condicao: string) => ({ canal, esperaMinutos, condicao })
const answerOf = (...etapas: object[]) => ({ data: { etapas }, statusCode: 200 })
const get = ({ token }: TestAccount) => ask('/gw/sequence', { token })
const put = ({ token }: TestAccount, body: unknown) => ask('/gw/sequence', { method: 'PUT', token, body })

/** An account under a sequence, set before the gateway has ever heard of it. */
async function accountUnder(...sequence: [SequenceStep['channel'], number, SequenceStep['condition']][]): Promise<TestAccount> {
  const account = await createAccount(database.pool)
  const steps = sequence.map(([channel, waitMinutes, condition]) => ({ channel, waitMinutes, condition }))
  await updateSequence(database.pool, account.id, steps)
  return account
}

interface Planned {
  channel: string
  state: string
  step: number
  condition: string
  minutes: number
}

async function accept({ token }: TestAccount, body: object = everyChannel): Promise<string> {
  const answer = await send(gateway.url, token, body)
  expect(answer.status).toBe(200)
  return (answer.body as { idEmail: string }).idEmail
}

/** The deliveries of a send: state, place, condition, and minutes after the first one is due. */
async function plan(account: TestAccount, body: object = everyChannel): Promise<unknown[][]> {
  const { rows } = await database.pool.query<Planned>(
    `select channel, state, step, condition, (extract(epoch from due_at - min(due_at) over ()) / 60)::float as minutes
     from delivery where notification_id = $1 order by channel`,
    [await accept(account, body)],
  )
  return rows.map(({ channel, state, step, condition, minutes }) => [channel, state, step, condition, minutes])
}

describe('GET and PUT /gw/sequence', () => {
  test('without a sequence there are no steps', async () => {
    const answer = await get(await createAccount(database.pool))
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual(answerOf())
  })

  test('what was put is what is read, for that account alone', async () => {
    const [one, other] = [
      await createAccount(database.pool, { entity: 'G' }),
      await createAccount(database.pool, { entity: 'G' }),
    ]
    const etapas = [
      step('email', 0, 'sempre'),
      step('whatsapp', 30, 'falhou'),
      step('sms', 60, 'nao_entregue'),
      step('voz', 1440, 'nao_lido'),
      step('carta', 129_600, 'nao_confirmado'),
    ]
    const answer = await put(one, { etapas })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual(answerOf(...etapas))
    expect((await get(one)).body).toEqual(answerOf(...etapas))
    expect((await get(other)).body).toEqual(answerOf())
    const shorter = [step('carta', 0, 'sempre')]
    expect((await put(one, { etapas: shorter, desconhecido: 1 })).body).toEqual(answerOf(...shorter))
    expect((await get(one)).body).toEqual(answerOf(...shorter))
  })

  test('an empty list takes the sequence away', async () => {
    const account = await accountUnder(['email', 0, 'always'], ['sms', 5, 'failed'])
    expect((await get(account)).body).toEqual(answerOf(step('email', 0, 'sempre'), step('sms', 5, 'falhou')))
    expect((await put(account, { etapas: [] })).body).toEqual(answerOf())
    expect((await get(account)).body).toEqual(answerOf())
  })

  test.each<[string, unknown, RegExp]>([
    ['no body', '', /vazio/],
    ['a list', [], /objeto/],
    ['no etapas', {}, /campo etapas é obrigatório/],
    ['etapas null', { etapas: null }, /campo etapas deve ser uma lista/],
    ['etapas an object', { etapas: {} }, /campo etapas deve ser uma lista/],
    [
      'more steps than channels',
      { etapas: Array(6).fill({ canal: 'sms', esperaMinutos: 0, condicao: 'sempre' }) },
      /campo etapas aceita no máximo 5 itens\. Envie menos\./,
    ],
    ['a step that is null', { etapas: [null] }, /campo etapas\[0\] deve ser um objeto/],
    ['a step without canal', { etapas: [{ esperaMinutos: 0, condicao: 'sempre' }] }, /campo etapas\[0\]\.canal é obrigatório/],
    ['a step without esperaMinutos', { etapas: [{ canal: 'sms', condicao: 'sempre' }] }, /etapas\[0\]\.esperaMinutos/],
    ['a step without condicao', { etapas: [{ canal: 'sms', esperaMinutos: 0 }] }, /etapas\[0\]\.condicao/],
    ['an unknown channel', { etapas: [step('fax', 0, 'sempre')] }, /etapas\[0\]\.canal deve ser um destes/],
    ['a channel in English', { etapas: [step('letter', 0, 'sempre')] }, /etapas\[0\]\.canal deve ser um destes/],
    ['a channel of the prototype', { etapas: [step('constructor', 0, 'sempre')] }, /etapas\[0\]\.canal deve ser um destes/],
    ['an unknown condition', { etapas: [step('sms', 0, 'talvez')] }, /etapas\[0\]\.condicao deve ser um destes/],
    ['a condition in English', { etapas: [step('email', 0, 'sempre'), step('sms', 0, 'failed')] }, /etapas\[1\]\.condicao/],
    ['a condition of the prototype', { etapas: [step('sms', 0, 'toString')] }, /etapas\[0\]\.condicao/],
    ['a negative wait', { etapas: [step('sms', -1, 'sempre')] }, /etapas\[0\]\.esperaMinutos/],
    ['half a minute', { etapas: [step('sms', 0.5, 'sempre')] }, /etapas\[0\]\.esperaMinutos/],
    ['more than ninety days', { etapas: [step('sms', 129_601, 'sempre')] }, /etapas\[0\]\.esperaMinutos/],
    ['a wait as a text', { etapas: [{ ...step('sms', 0, 'sempre'), esperaMinutos: '5' }] }, /etapas\[0\]\.esperaMinutos/],
    ['a channel twice', { etapas: [step('sms', 0, 'sempre'), step('sms', 5, 'falhou')] }, /^O canal sms aparece mais de uma vez/],
    ['six steps', { etapas: Array.from({ length: 6 }, () => step('sms', 0, 'sempre')) }, /etapas/],
  ])('%s is 400, and the sequence stays as it was', async (_, body, message) => {
    const account = await accountUnder(['voice', 0, 'always'])
    const answer = await put(account, body)
    expect(answer.body).toEqual(errorBody(400, expect.stringMatching(message), 'Bad Request'))
    expect(answer.status).toBe(400)
    expect((await get(account)).body).toEqual(answerOf(step('voz', 0, 'sempre')))
  })

  test('5.6 without a token both are 401', async () => {
    for (const method of ['GET', 'PUT']) {
      const answer = await request(`${gateway.url}/gw/sequence`, { method })
      expect(answer.body).toEqual(errorBody(401, 'Unauthorized', 'Unauthorized'))
    }
  })
})

describe('a send under a sequence', () => {
  test('each asked channel has its place, its condition and its time; those not named go at once', async () => {
    const account = await accountUnder(['email', 0, 'always'], ['whatsapp', 15, 'not read'], ['letter', 1440, 'not confirmed'])
    expect(await plan(account, { ...everyChannel, sms: null })).toEqual([
      ['email', 'queued', 1, 'always', 0],
      ['letter', 'waiting', 3, 'not confirmed', 1455],
      ['voice', 'queued', 0, 'always', 0],
      ['whatsapp', 'waiting', 2, 'not read', 15],
    ])
  })

  test('a channel of the sequence that was not asked for takes no place and no time', async () => {
    const account = await accountUnder(['email', 0, 'always'], ['voice', 600, 'failed'], ['letter', 5, 'not read'])
    expect(await plan(account, { ...validSend, carta: {} })).toEqual([
      ['email', 'queued', 1, 'always', 0],
      ['letter', 'waiting', 2, 'not read', 5],
    ])
  })

  test('the first asked channel goes at once, whatever its wait and condition say', async () => {
    const account = await accountUnder(['email', 0, 'always'], ['sms', 60, 'not delivered'], ['voice', 10, 'failed'])
    const { to: _, ...withoutTo } = validSend
    expect(await plan(account, { ...withoutTo, sms: { number }, voz: { number } })).toEqual([
      ['sms', 'queued', 1, 'always', 0],
      ['voice', 'waiting', 2, 'failed', 10],
    ])
  })

  test('a later step without a condition waits for its turn', async () => {
    const account = await accountUnder(['whatsapp', 0, 'always'], ['email', 45, 'always'])
    expect(await plan(account, { ...validSend, whatsapp: { number } })).toEqual([
      ['email', 'waiting', 2, 'always', 45],
      ['whatsapp', 'queued', 1, 'always', 0],
    ])
  })

  test("2.3 typeSend '2' goes at once, whatever the sequence says", async () => {
    const account = await accountUnder(['email', 0, 'always'], ['sms', 60, 'not delivered'], ['voice', 10, 'failed'])
    expect(await plan(account, { ...validSend, sms: { number, typeSend: '2' }, voz: { number } })).toEqual([
      ['email', 'queued', 1, 'always', 0],
      ['sms', 'queued', 0, 'always', 0],
      ['voice', 'waiting', 2, 'failed', 10],
    ])
  })

  test("2.3 typeSend '1' still waits for the e-mail where the sequence does not name SMS", async () => {
    const account = await accountUnder(['email', 0, 'always'], ['letter', 60, 'not read'])
    expect(await plan(account, { ...validSend, sms: { number } })).toEqual([
      ['email', 'queued', 1, 'always', 0],
      ['sms', 'waiting', -1, 'not delivered', 30],
    ])
  })

  test("2.3 an explicit typeSend '1' keeps its meaning under a sequence that names SMS; an absent one follows the sequence", async () => {
    const account = await accountUnder(['sms', 0, 'always'], ['email', 60, 'not read'])
    expect(await plan(account, { ...validSend, sms: { number, typeSend: '1' } })).toEqual([
      ['email', 'queued', 1, 'always', 0],
      ['sms', 'waiting', -1, 'not delivered', 30],
    ])
    for (const sms of [{ number }, { number, typeSend: null }])
      expect(await plan(account, { ...validSend, sms })).toEqual([
        ['email', 'waiting', 2, 'not read', 60],
        ['sms', 'queued', 1, 'always', 0],
      ])
  })

  test('the first event tells the plan', async () => {
    const account = await accountUnder(['email', 0, 'always'], ['letter', 60, 'not read'])
    const id = await accept(account, { ...validSend, carta: {} })
    const { rows } = await database.pool.query('select data from event where notification_id = $1 and seq = 1', [id])
    expect(rows[0].data.deliveries).toMatchObject([
      { channel: 'email', state: 'queued', step: 1, condition: 'always', waitMs: 0 },
      { channel: 'letter', state: 'waiting', step: 2, condition: 'not read', waitMs: 3_600_000 },
    ])
  })

  test('the status of a step that waits exists from the acceptance on', async () => {
    const account = await accountUnder(['email', 0, 'always'], ['letter', 60, 'not read'], ['sms', 5, 'failed'])
    const id = await accept(account, { ...validSend, carta: {}, sms: { number } })
    for (const [channel, description] of [
      ['email', 'Processado'],
      ['carta', 'Processado'],
      ['sms', 'Processado'],
    ])
      expect((await ask(`/gw/${channel}/${id}`, { token: account.token })).body).toMatchObject({ description })
  })

  test('an SMS says that it waits for the e-mail only where it is the fallback, in every answer', async () => {
    const lookUp = async ({ token }: TestAccount, id: string) => {
      const { body: status } = await ask(`/gw/sms/${id}`, { token })
      const { body: full } = await ask(`/gw/full/${id}`, { token })
      const { lastStatus, sms } = full as { lastStatus: { sms: { label: string } }; sms: { description: string }[] }
      return [(status as { description: string }).description, lastStatus.sms.label, sms[0]!.description]
    }
    const inSequence = await accountUnder(['whatsapp', 0, 'always'], ['sms', 60, 'not read'])
    const ordered = await accept(inSequence, { ...validSend, whatsapp: { number }, sms: { number } })
    expect(await lookUp(inSequence, ordered)).toEqual(['Processado', 'Processado', 'Processado'])
    const besideIt = await accountUnder(['whatsapp', 0, 'always'], ['letter', 60, 'not read'])
    const fallback = await accept(besideIt, { ...validSend, whatsapp: { number }, sms: { number } })
    expect(await lookUp(besideIt, fallback)).toEqual(Array(3).fill('Aguardando o e-mail'))

    const reached = { type: 'read', at: new Date(), source: 'test', data: {} } as const
    await recordChanges(database.pool, Date.now, [
      { kind: 'fact', notification: ordered, fact: { ...reached, channel: 'whatsapp' } },
      { kind: 'fact', notification: fallback, fact: { ...reached, channel: 'email' } },
    ])
    expect(await lookUp(inSequence, ordered)).toEqual(Array(3).fill('Não enviado: não foi necessário'))
    expect(await lookUp(besideIt, fallback)).toEqual(Array(3).fill('Não enviado: e-mail entregue'))
    for await (const page of readEventLog(database.pool)) {
      for (const logged of page.filter(({ id }) => id === ordered || id === fallback)) {
        expect(findFaults(logged)).toEqual([])
        // Webhooks are rendered from the events alone.
        const told = rebuildStatuses(logged.events, moduleOf)
        for (const status of logged.statuses) {
          const module = moduleOf(status.channel)
          expect(describeStatus(told.get(status.channel)!, module)).toBe(describeStatus(status, module))
        }
      }
    }
  })

  test('a sequence that is put counts for later sends, from the next one on, and never for earlier ones', async () => {
    const account = await createAccount(database.pool)
    const body = { ...validSend, carta: {} }
    const before = await accept(account, body)
    await put(account, { etapas: [step('carta', 0, 'sempre'), step('email', 20, 'nao_lido')] })
    expect(await plan(account, body)).toEqual([
      ['email', 'waiting', 2, 'not read', 20],
      ['letter', 'queued', 1, 'always', 0],
    ])
    const { rows } = await database.pool.query('select state from delivery where notification_id = $1', [before])
    expect(rows).toEqual([{ state: 'queued' }, { state: 'queued' }])
  })
})

describe('GET /gw/sequence/{idEmail}', () => {
  const date = /^\d\d\/\d\d\/\d{4} \d\d:\d\d:\d\d$/

  test('tells what a notification still has before it, in its order', async () => {
    const account = await accountUnder(['email', 0, 'always'], ['letter', 60, 'not read'], ['voice', 5, 'failed'])
    const id = await accept(account, { ...validSend, voz: { number }, carta: {} })
    const answer = await ask(`/gw/sequence/${id}`, { token: account.token })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      data: [
        {
          canal: 'email',
          dataPrevista: expect.stringMatching(date),
          condicao: 'sempre',
          descricao: expect.stringMatching(/^e-mail .+\.$/),
        },
        {
          canal: 'carta',
          dataPrevista: expect.stringMatching(date),
          condicao: 'nao_lido',
          descricao: expect.stringMatching(/^carta .+\.$/),
        },
        {
          canal: 'voz',
          dataPrevista: null,
          condicao: 'falhou',
          descricao: 'ligação quando isso se souber, se os canais anteriores falharem.',
        },
      ],
      statusCode: 200,
    })
  })

  test('names no date for a step that only a failure releases, before its wait is over and after', async () => {
    const account = await accountUnder(['email', 0, 'always'], ['sms', 5, 'failed'])
    const id = await accept(account, { ...validSend, sms: { number } })
    const last = async () =>
      ((await ask(`/gw/sequence/${id}`, { token: account.token })).body as { data: Record<string, unknown>[] }).data.at(-1)
    const waiting = { canal: 'sms', dataPrevista: null, condicao: 'falhou' }
    expect(await last()).toMatchObject(waiting)
    await database.pool.query("update delivery set due_at = now() where notification_id = $1 and channel = 'sms'", [id])
    await promoteDueSteps(database.pool, Date.now, { notify() {} }, new AbortController().signal)
    expect(await last()).toMatchObject(waiting)
    await database.pool.query("update delivery set state = 'queued', due_at = now() where notification_id = $1", [id])
    expect(await last()).toMatchObject({ ...waiting, dataPrevista: expect.stringMatching(date) })
  })

  test('has nothing to tell once all is done', async () => {
    const account = await createAccount(database.pool)
    const id = await accept(account, validSend)
    await database.pool.query("update delivery set state = 'done' where notification_id = $1", [id])
    expect((await ask(`/gw/sequence/${id}`, { token: account.token })).body).toEqual({ data: [], statusCode: 200 })
  })

  test('4.1 of an unknown id, a foreign one and what is no UUID: 404', async () => {
    const [account, stranger] = [await createAccount(database.pool), await createAccount(database.pool)]
    for (const id of [newId(Date.now()), await accept(stranger), 'nada', '%00', '__proto__']) {
      const answer = await ask(`/gw/sequence/${id}`, { token: account.token })
      expect([id, answer.status, answer.body]).toEqual([id, 404, errorBody(404, 'Email sem status!', 'Not Found')])
    }
  })
})

describe('carteiro account sequence', () => {
  test('sets, shows and takes away the sequence that the API serves, and refuses what is none', async () => {
    const account = await createAccount(database.pool, { name: 'linha-de-comando' })
    const run = (...args: string[]) => runCommand(['account', 'sequence', '--account', 'linha-de-comando', ...args], database.url)
    const steps = ['email:0:sempre', 'sms:60:nao_entregue', 'carta:1440:nao_lido']

    const set = await run('--json', ...steps)
    expect([set.status, set.stderr]).toEqual([0, ''])
    expect(JSON.parse(set.stdout)).toEqual([
      { channel: 'email', waitMinutes: 0, condition: 'sempre' },
      { channel: 'sms', waitMinutes: 60, condition: 'nao_entregue' },
      { channel: 'carta', waitMinutes: 1440, condition: 'nao_lido' },
    ])
    const served = answerOf(step('email', 0, 'sempre'), step('sms', 60, 'nao_entregue'), step('carta', 1440, 'nao_lido'))
    expect((await get(account)).body).toEqual(served)

    for (const wrong of [
      ['fax:0:sempre'],
      ['sms:x:sempre'],
      ['sms:0:talvez'],
      ['sms:129601:falhou'],
      ['sms:0:sempre', 'sms:5:falhou'],
    ]) {
      const { status, stdout, stderr } = await run(...wrong)
      expect([wrong, status, stdout]).toEqual([wrong, 1, ''])
      expect(stderr).toMatch(/não é uma etapa|mais de uma vez/)
    }
    expect((await get(account)).body).toEqual(served)

    const cleared = await run('--clear')
    expect([cleared.status, cleared.stdout, cleared.stderr]).toEqual([0, expect.stringContaining('não tem régua'), ''])
    expect((await get(account)).body).toEqual(answerOf())
  })
})
