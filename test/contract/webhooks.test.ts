import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../../src/app/config.js'
import { targetRules } from '../../src/app/webhook-rules.js'
import { openPool, type Pool, queryValue } from '../../src/store/postgres.js'
import { replaySpan } from '../../src/webhooks/replay.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { countWaiting, holdRows } from '../support/database/locks.js'
import { consoleClient } from '../support/gateway/console.js'
import {
  createAccount,
  type Gateway,
  gatewayForTest,
  readMetrics,
  startGateway,
  type TestAccount,
} from '../support/gateway/gateway.js'
import { type Answer, errorBody, request, send, validSend } from '../support/gateway/requests.js'
import { createWebhook, happen } from '../support/gateway/webhooks.js'
import { type Ask, conformingRequests } from '../support/openapi.js'

let database: TestDatabase
let gateway: Gateway
let account: TestAccount
let ask: Ask

beforeAll(async () => {
  database = await createDatabase()
  gateway = await startGateway(database.pool)
  account = await createAccount(database.pool)
  ask = conformingRequests(gateway, { token: account.token })
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
})

const url = 'https://sistema.example.com/avisos'
const unknown = '018f0000-0000-7000-8000-000000000001'
const post = (path: string, body?: object) =>
  ask(`/gw/webhooks${path}`, { method: 'POST', ...(body === undefined ? {} : { body }) })
const create = (body: object = { url }) => createWebhook(gateway.url, account.token, body)
const messageOf = async (answer: Promise<{ body: unknown }>) => ((await answer).body as { message: string }).message

async function messageOfAnEvent(webhook: string): Promise<string> {
  const accepted = await send(gateway.url, account.token, validSend)
  await happen(database.pool, (accepted.body as { idEmail: string }).idEmail, 'email', 'sent')
  const { rows } = await database.pool.query(
    'select id from webhook_message where endpoint_id = $1 order by position desc limit 1',
    [webhook],
  )
  return rows[0].id
}

describe('endpoints', () => {
  test('a new one has every event in v1, which existing clients read, and its secret is shown this once', async () => {
    const answer = await post('', { url })
    expect(answer.status).toBe(201)
    const { data } = answer.body as { data: { id: string } }
    const stored = {
      ...{
        id: data.id,
        url,
        versao: 'v1',
        canais: [],
        situacoes: [],
        ativo: true,
        motivo: null,
        aviso: null,
        falhandoDesde: null,
      },
      ...{ segredoAnteriorAte: null, pendentes: 0, pendenteDesde: null, criadoEm: expect.stringMatching(/-03:00$/) },
    }
    expect(answer.body).toEqual({
      data: { ...stored, segredo: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/) },
      statusCode: 201,
    })
    expect((await ask(`/gw/webhooks/${data.id}`)).body).toEqual({ data: stored, statusCode: 200 })
    expect((await ask('/gw/webhooks')).body).toMatchObject({ data: expect.arrayContaining([stored]) })
  })

  test('an edit changes what it names; an empty list means all again', async () => {
    const { id } = await create({ url, versao: 'v1', canais: ['voz', 'voz'], situacoes: ['lido'] })
    const edit = async (body: object) => (await ask(`/gw/webhooks/${id}`, { method: 'PUT', body })).body
    expect(await edit({ url: 'https://outro.example.com' })).toMatchObject({
      data: { url: 'https://outro.example.com/', versao: 'v1', canais: ['voz'], situacoes: ['lido'] },
    })
    expect(await edit({ canais: [], situacoes: ['falhou', 'cancelado'], url: null })).toMatchObject({
      data: { canais: [], situacoes: ['falhou', 'cancelado'], url: 'https://outro.example.com/' },
    })
    expect(await edit({ ativo: false })).toMatchObject({ data: { ativo: false, motivo: 'manual', aviso: null } })
    expect(await edit({ ativo: true })).toMatchObject({ data: { ativo: true, motivo: null } })
    expect(await edit({})).toEqual(
      errorBody(400, 'Nada a mudar: informe url, versao, canais, situacoes ou ativo.', 'Bad Request'),
    )
  })

  test.each([
    ['rotated', 'POST', '/rotate', undefined],
    ['edited', 'PUT', '', { url: 'https://novo.example.com/' }],
  ])('one that cannot be shown after it was %s stays as it was: 503 promises that', async (_, method, path, body) => {
    const { id } = await create()
    const read = async () => (await database.pool.query('select url, secret from webhook_endpoint where id = $1', [id])).rows
    const before = await read()
    const impatient = openPool({ url: database.url, size: 3, lockMs: 100, onError: () => {} })
    onTestFinished(() => impatient.end())
    const own = await gatewayForTest(impatient)
    const holder = await holdRows(database.ownerUrl, 'lock table webhook_message in access exclusive mode')
    const given = body === undefined ? {} : { body }
    const answer = await request(`${own.url}/gw/webhooks/${id}${path}`, { method, token: account.token, ...given })
    expect(answer.status).toBe(503)
    await holder.release()
    expect(await read()).toEqual(before)
  })

  test('the count of its waiting messages stops at ten thousand, and the oldest of them is told', async () => {
    const { id } = await create()
    await database.pool.query(
      `insert into webhook_message (id, endpoint_id, notification_id, channel, event_seq, created_at)
       select m.id, $1, m.id, 'email', 2, now() - interval '2 days' + n * interval '1 second'
       from generate_series(1, 10050) n cross join lateral (select lpad(to_hex(n), 32, '0')::uuid as id) m`,
      [id],
    )
    const { data } = (await ask(`/gw/webhooks/${id}`)).body as { data: { pendentes: number; pendenteDesde: string } }
    expect(data.pendentes).toBe(10_000)
    const oldest = await queryValue<Date>(database.pool, 'select min(created_at) from webhook_message where endpoint_id = $1', [
      id,
    ])
    expect(new Date(data.pendenteDesde)).toEqual(oldest)
    await ask(`/gw/webhooks/${id}`, { method: 'DELETE' })
  })

  test('a deleted one is gone, gets nothing more, and leaves nothing behind', async () => {
    const { id } = await create()
    expect((await ask(`/gw/webhooks/${id}`, { method: 'DELETE' })).body).toEqual({ data: { id }, statusCode: 200 })
    for (const method of ['GET', 'DELETE']) expect((await ask(`/gw/webhooks/${id}`, { method })).status).toBe(404)
    const accepted = await send(gateway.url, account.token, validSend)
    await happen(database.pool, (accepted.body as { idEmail: string }).idEmail, 'email', 'sent')
    const { rows } = await database.pool.query('select count(*) as count from webhook_message where endpoint_id = $1', [id])
    expect(rows[0].count).toBe(0)
  })

  test.each([
    [{}, 'O campo url é obrigatório'],
    [{ url: ' ' }, 'O campo url é obrigatório'],
    [{ url: 7 }, 'O campo url deve ser um texto.'],
    [{ url, versao: 'v3' }, 'O campo versao deve ser um destes valores: v1, v2.'],
    [{ url, canais: ['fax'] }, 'O campo canais[0] deve ser um destes valores: email, sms, whatsapp, voz, carta.'],
    [{ url, situacoes: ['sent'] }, 'O campo situacoes[0] deve ser um destes valores: enviado, entregue'],
    [{ url: `https://example.com/${'x'.repeat(2_048)}` }, 'O campo url passa do limite de 2048 caracteres.'],
    [{ url: 'http://sistema.example.com/' }, 'O campo url deve começar com https://'],
    [{ url: 'https://x:y@example.com/' }, 'O campo url não pode ter usuário nem senha'],
    [{ url: 'https://169.254.169.254/' }, 'O campo url aponta para 169.254.169.254'],
  ])('%j is 400: %s', async (body, message) => {
    const answer = await post('', body)
    expect(answer.status).toBe(400)
    expect((answer.body as { message: string }).message).toContain(message)
  })

  test.each([
    ['no simulator runs', { SIMULATOR: 'off' }],
    ['a carrier is connected', { SIMULATOR: 'on', EMAIL_URL: 'smtp://relay.example.com' }],
    ['a second channel has a carrier', { SIMULATOR: 'on', SMS_URL: 'smpp://a:b@smsc.example.com' }],
    ['others are to reach it', { PUBLIC_URL: 'https://notifica.example.com' }],
    ['it listens to others', { HOST: '0.0.0.0', PUBLIC_URL: 'http://127.0.0.1:8080' }],
  ])('where %s, this machine is as private as any other', async (_, env) => {
    const production = await gatewayForTest(database.pool, env)
    for (const given of ['http://127.0.0.1:3000/', 'http://localhost:3000/', 'https://[::1]:3000/']) {
      const body = { url: given }
      const answer = await request(`${production.url}/gw/webhooks`, { method: 'POST', token: account.token, body })
      expect(answer.status, given).toBe(400)
    }
    // And at the connection, for endpoints that were made before.
    expect(targetRules(readConfig({ PORT: '0', ...env })).loopback).toBe(false)
  })

  test.each([{}, { HOST: 'localhost', PUBLIC_URL: 'http://carteiro.localhost:8080' }, { HOST: '::1' }])(
    'in development (%j) this machine may be called',
    env => {
      expect(targetRules(readConfig(env)).loopback).toBe(true)
    },
  )

  test('an address beyond the public Internet is refused, unless it is allow-listed', async () => {
    const production = await gatewayForTest(database.pool, { SIMULATOR: 'off' })
    const attempt = (target: Gateway, given: string) =>
      request(`${target.url}/gw/webhooks`, { method: 'POST', token: account.token, body: { url: given } })
    expect((await attempt(gateway, 'http://127.0.0.1:3000/')).status).toBe(201)
    expect((await attempt(production, 'https://10.20.1.1/')).status).toBe(400)
    const intranet = await gatewayForTest(database.pool, { SIMULATOR: 'off', WEBHOOK_ALLOWED_RANGES: '10.20.0.0/16' })
    expect((await attempt(intranet, 'https://10.20.1.1/')).status).toBe(201)
    expect((await attempt(intranet, 'http://10.20.1.1/')).status).toBe(400)
  })

  test('a body-less request may carry the content type', async () => {
    const { id } = await create()
    for (const action of ['rotate', 'test']) {
      const answer = await ask(`/gw/webhooks/${id}/${action}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
      })
      expect([200, 201]).toContain(answer.status)
    }
  })
})

describe('replay', () => {
  test('one message, a span, or nothing: what is asked must be clear', async () => {
    const { id } = await create()
    const replay = (body: object) => post(`/${id}/replay`, body)
    const mensagem = await messageOfAnEvent(id)
    expect((await replay({ mensagem })).body).toEqual({ data: { mensagens: 1 }, statusCode: 200 })
    expect(await messageOf(replay({}))).toBe('Informe mensagem, ou desde (e, se quiser, ate e somenteFalhas).')
    expect(await messageOf(replay({ mensagem, desde: '2026-07-18T01:01:32-03:00' }))).toContain('Informe mensagem, ou desde')
    for (const desde of ['ontem', '2026-07-18', '18/07/2026 01:01:32', '2026-13-01T00:00:00Z'])
      expect(await messageOf(replay({ desde }))).toContain('O campo desde deve ser um momento em ISO 8601')
    for (const unknownMessage of [unknown, 'x'])
      expect(await messageOf(replay({ mensagem: unknownMessage }))).toBe(
        'Mensagem não encontrada neste webhook. Verifique o identificador.',
      )
  })

  test('a message of another endpoint is unknown here', async () => {
    const [one, other] = [await create(), await create()]
    const mensagem = await messageOfAnEvent(one.id)
    expect((await post(`/${other.id}/replay`, { mensagem })).status).toBe(404)
  })

  test('a span takes all, or only what did not arrive', async () => {
    const { id } = await create()
    const ids = [await messageOfAnEvent(id), await messageOfAnEvent(id), await messageOfAnEvent(id)]
    const settle = (message: string, state: string) =>
      database.pool.query('update webhook_message set state = $2, attempt = 1 where id = $1', [message, state])
    await settle(ids[0]!, 'done')
    await settle(ids[1]!, 'dead')
    await settle(ids[2]!, 'held')
    const desde = new Date(Date.now() - 60_000).toISOString()
    const states = async () =>
      (await database.pool.query('select state from webhook_message where endpoint_id = $1 order by position', [id])).rows.map(
        row => row.state,
      )
    expect((await post(`/${id}/replay`, { desde, somenteFalhas: true })).body).toMatchObject({ data: { mensagens: 2 } })
    expect(await states()).toEqual(['done', 'queued', 'queued'])
    expect((await post(`/${id}/replay`, { desde, ate: desde })).body).toMatchObject({ data: { mensagens: 0 } })
    expect((await post(`/${id}/replay`, { desde })).body).toMatchObject({ data: { mensagens: 3 } })
    expect(await states()).toEqual(['queued', 'queued', 'queued'])
  })

  test('thousands are queued in portions', async () => {
    const { id } = await create()
    await database.pool.query(
      `insert into webhook_message (id, endpoint_id, notification_id, channel, event_seq, state)
       select gen_random_uuid(), $1, gen_random_uuid(), 'email', 2, 'done' from generate_series(1, 4500)`,
      [id],
    )
    const desde = new Date(Date.now() - 60_000).toISOString()
    expect((await post(`/${id}/replay`, { desde })).body).toMatchObject({ data: { mensagens: 4_500 } })
    expect((await ask(`/gw/webhooks/${id}`)).body).toMatchObject({ data: { pendentes: 4_500 } })
    await ask(`/gw/webhooks/${id}`, { method: 'DELETE' })
  })

  /** A webhook with more messages than one portion has, all of them delivered. */
  const createDelivered = async (): Promise<string> => {
    const { id } = await create()
    await database.pool.query(
      `insert into webhook_message (id, endpoint_id, notification_id, channel, event_seq, state)
       select gen_random_uuid(), $1, gen_random_uuid(), 'email', 2, 'done' from generate_series(1, 2500)`,
      [id],
    )
    return id
  }
  const countQueued = (id: string) =>
    queryValue<number>(database.pool, "select count(*) from webhook_message where endpoint_id = $1 and state = 'queued'", [id])
  const holdReplays = () => holdRows(database.url, 'lock table webhook_message in exclusive mode')
  const desde = new Date(Date.now() - 60_000).toISOString()

  test('one replay of a time span at a time: another one of the account is 409 until the first has ended', async () => {
    const id = await createDelivered()
    const holder = await holdReplays()
    const first = post(`/${id}/replay`, { desde })
    await expect.poll(() => countWaiting(database.pool)).toBe(1)
    const second = await post(`/${id}/replay`, { desde })
    expect([second.status, second.headers.get('retry-after')]).toEqual([409, '5'])
    expect(second.body).toMatchObject({ message: expect.stringContaining('Outro reenvio') })
    const operator = await consoleClient(database.pool, gateway.url)
    expect((await operator.post(`/webhooks/${id}/replay`, { since: desde })).status).toBe(409)
    await holder.release()
    expect((await first).body).toMatchObject({ data: { mensagens: 2_500 } })
    expect((await post(`/${id}/replay`, { desde })).status).toBe(200)
  })

  test('a replay stops when its client is gone', async () => {
    const id = await createDelivered()
    const own = await gatewayForTest(database.pool)
    const connections = () => new Promise(resolve => own.app.server.getConnections((_, count) => resolve(count)))
    const holder = await holdReplays()
    const { port } = new URL(own.url)
    const body = JSON.stringify({ desde })
    const client = connect(Number(port), '127.0.0.1')
    client.write(
      [
        `POST /gw/webhooks/${id}/replay HTTP/1.1`,
        ...['host: x', `authorization: ${account.token}`, 'content-type: application/json'],
        `content-length: ${body.length}\r\n\r\n${body}`,
      ].join('\r\n'),
    )
    await expect.poll(() => countWaiting(database.pool)).toBe(1)
    client.destroy()
    await expect.poll(connections).toBe(0)
    await holder.release()
    // The turn of the account is free again once the replay has ended.
    const nothing = { method: 'POST', token: account.token, body: { desde, ate: desde } }
    await expect.poll(async () => (await request(`${own.url}/gw/webhooks/${id}/replay`, nothing)).status).toBe(200)
    expect(await countQueued(id)).toBe(2_000)
  })

  test('a replay that fails after its first portion does not say that nothing was written', async () => {
    const id = await createDelivered()
    const span = { since: new Date(0), until: new Date(Date.now() + 60_000), missedOnly: false }
    const failAfter = (portions: number): Pool => {
      let count = 0
      const connectOrFail = () =>
        count++ < portions ? database.pool.connect() : Promise.reject(new Error('Connection terminated'))
      const query = database.pool.query.bind(database.pool)
      return { query, connect: connectOrFail } as unknown as Pool
    }
    const scope = { account: account.id, mode: 'live' } as const
    await expect(replaySpan(failAfter(0), scope, id, span)).rejects.toMatchObject({ maybeCommitted: false })
    await expect(replaySpan(failAfter(1), scope, id, span)).rejects.toMatchObject({ maybeCommitted: true })
    expect(await countQueued(id)).toBe(2_000)
  })

  test('what is being delivered right now, or belongs to an endpoint that is off, is 409', async () => {
    const { id } = await create()
    const mensagem = await messageOfAnEvent(id)
    await database.pool.query(
      `insert into webhook_lease (owner, until, endpoints, messages, attempts)
       select gen_random_uuid(), now() + interval '1 hour', array[endpoint_id], array[id], array[attempt] from webhook_message where id = $1`,
      [mensagem],
    )
    expect((await post(`/${id}/replay`, { mensagem })).status).toBe(409)
    await ask(`/gw/webhooks/${id}`, { method: 'PUT', body: { ativo: false } })
    expect(await messageOf(post(`/${id}/test`))).toBe('O webhook está desativado. Ative-o (ativo: true) e repita.')
  })
})

describe('listening', () => {
  const open = async (body: object = {}) => (await post('/listen', body)).body as { data: { id: string; segredo: string } }
  const take = async (id: string, body: object = {}) =>
    ((await post(`/listen/${id}`, body)).body as { data: { id: string; corpo: string }[] }).data

  test('what is not confirmed comes again, in order; what is confirmed does not', async () => {
    const { data } = await open()
    expect(await take(data.id)).toEqual([])
    const sent = await send(gateway.url, account.token, validSend)
    const { idEmail } = sent.body as { idEmail: string }
    for (const type of ['sent', 'delivered', 'read'] as const) await happen(database.pool, idEmail, 'email', type)
    const heard = await take(data.id)
    expect(heard.map(({ corpo }) => JSON.parse(corpo).description)).toEqual(['Enviado', 'Entregue', 'Lido'])
    expect(await take(data.id)).toEqual(heard)
    expect(await take(data.id, { confirmados: [heard[0]!.id] })).toEqual(heard.slice(1))
    expect(await take(data.id, { confirmados: heard.map(({ id }) => id) })).toEqual([])
  })

  test('a call waits for what comes', async () => {
    const { data } = await open({ versao: 'v2', situacoes: ['entregue'] })
    const { idEmail } = (await send(gateway.url, account.token, validSend)).body as { idEmail: string }
    const waiting = take(data.id, { espera: 20 })
    await happen(database.pool, idEmail, 'email', 'sent')
    await happen(database.pool, idEmail, 'email', 'delivered')
    expect((await waiting).map(({ corpo }) => JSON.parse(corpo).status)).toEqual(['entregue'])
  })

  test('a server that stops does not wait for its listeners', async () => {
    const stopping = await startGateway(database.pool)
    const { data } = await open({ situacoes: ['confirmado'] })
    const waiting = request(`${stopping.url}/gw/webhooks/listen/${data.id}`, {
      method: 'POST',
      token: account.token,
      body: { espera: 25 },
    })
    // Under way once its coming is noted.
    const seen = () => database.pool.query('select seen_at > created_at as seen from webhook_endpoint where id = $1', [data.id])
    await expect.poll(async () => (await seen()).rows[0].seen).toBe(true)
    let isOtherOver = false
    const other = { method: 'POST', token: account.token, body: { espera: 25 } }
    const { data: another } = await open({ situacoes: ['confirmado'] })
    void request(`${gateway.url}/gw/webhooks/listen/${another.id}`, other)
      .catch(() => {})
      .then(() => {
        isOtherOver = true
      })
    await stopping.close()
    expect((await waiting).status).toBe(200)
    // One that listens elsewhere for as long, and began later, still does.
    expect(isOtherOver).toBe(false)
  })

  test('a listener is no endpoint: it is not listed, edited or tested, and goes by DELETE', async () => {
    const { data } = await open()
    expect(JSON.stringify((await ask('/gw/webhooks')).body)).not.toContain(data.id)
    expect((await ask(`/gw/webhooks/${data.id}`)).status).toBe(404)
    expect((await post(`/${data.id}/test`)).status).toBe(404)
    const { id } = await create()
    expect((await post(`/listen/${id}`, {})).status).toBe(404)
    expect((await ask(`/gw/webhooks/${data.id}`, { method: 'DELETE' })).status).toBe(200)
    expect((await post(`/listen/${data.id}`, {})).status).toBe(404)
  })

  test.each([
    [{ espera: 26 }, 'O campo espera deve ser no máximo 25.'],
    [{ espera: -1 }, 'O campo espera deve ser no mínimo 0.'],
    [{ espera: '5' }, 'O campo espera deve ser um número inteiro, sem aspas.'],
    [{ confirmados: ['x'] }, 'O campo confirmados deve ser um identificador (UUID), como a API o mostrou.'],
    [{ confirmados: Array(1_001).fill('x') }, 'O campo confirmados aceita no máximo 1000 itens. Envie menos.'],
    [{ confirmados: 'x' }, 'O campo confirmados deve ser uma lista.'],
  ])('%j is 400', async (body, message) => {
    const { data } = await open()
    expect((await post(`/listen/${data.id}`, body)).body).toEqual(errorBody(400, message, 'Bad Request'))
  })

  test.each([
    ['antesDe=x', 'O parâmetro antesDe deve ser o id de uma tentativa, como a lista o mostrou.'],
    ['mensagem=x', 'O parâmetro mensagem deve ser um identificador (UUID), como a API o mostrou.'],
    ['somenteFalhas=1', 'O parâmetro somenteFalhas deve ser um destes: true, false.'],
    ['somenteFalhas=sim', 'O parâmetro somenteFalhas deve ser um destes: true, false.'],
    [
      'somenteFalhas=true&somenteFalhas=true',
      'O parâmetro somenteFalhas aparece mais de uma vez no endereço. Informe-o uma só vez.',
    ],
  ])('attempts?%s is 400', async (query, message) => {
    const { id } = await create()
    expect((await ask(`/gw/webhooks/${id}/attempts?${query}`)).body).toEqual(errorBody(400, message, 'Bad Request'))
  })
})

describe('limits', () => {
  const codes = (answers: { status: number }[]) => answers.map(({ status }) => status).sort()

  test('an account has a hundred webhooks at most, also when they are asked for at once; another one takes a freed place', async () => {
    const { token } = await createAccount(database.pool)
    const add = () => request(`${gateway.url}/gw/webhooks`, { method: 'POST', token, body: { url } })
    const first: Answer[] = []
    for (let count = 0; count < 97; count++) first.push(await add())
    expect(new Set(codes(first))).toEqual(new Set([201]))
    expect(codes(await Promise.all(Array.from({ length: 6 }, add)))).toEqual([201, 201, 201, 409, 409, 409])
    expect((await add()).body).toMatchObject({ message: expect.stringMatching(/já tem 100 webhooks.*Apague/) })
    const { id } = (first[0]!.body as { data: { id: string } }).data
    await request(`${gateway.url}/gw/webhooks/${id}`, { method: 'PUT', token, body: { ativo: false } })
    expect((await add()).status).toBe(409)
    await request(`${gateway.url}/gw/webhooks/${id}`, { method: 'DELETE', token })
    expect((await add()).status).toBe(201)
  })

  test('twenty listeners at most, and eight that wait at once; asking without waiting goes on', async () => {
    const { token } = await createAccount(database.pool)
    const add = () => request(`${gateway.url}/gw/webhooks/listen`, { method: 'POST', token, body: {} })
    const opened = await Promise.all(Array.from({ length: 20 }, add))
    expect(new Set(codes(opened))).toEqual(new Set([201]))
    const refused = await add()
    expect(refused.status).toBe(409)
    expect(refused.body).toMatchObject({ message: expect.stringMatching(/20 escutas.*Encerre uma/) })
    const listener = (opened[0]!.body as { data: { id: string } }).data.id
    const poll = (espera: number) =>
      request(`${gateway.url}/gw/webhooks/listen/${listener}`, { method: 'POST', token, body: { espera } })
    const polls = Array.from({ length: 9 }, () => poll(2))
    const tooMany = await Promise.race(polls)
    expect(tooMany.status).toBe(429)
    expect(tooMany.headers.get('retry-after')).toBe('5')
    expect(tooMany.body).toMatchObject({ message: expect.stringContaining('8 escutas') })
    expect((await poll(0)).status).toBe(200)
    expect(codes(await Promise.all(polls))).toEqual([...Array(8).fill(200), 429])
    expect((await poll(1)).status).toBe(200)
  })
})

test('/metrics tells how much waits, since when, and how many were switched off', async () => {
  const text = await readMetrics(gateway.url)
  for (const name of ['queued', 'oldest_seconds', 'suspended'])
    expect(text).toMatch(new RegExp(`^carteiro_webhooks_${name} \\d`, 'm'))
})
