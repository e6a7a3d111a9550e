import { Webhook } from 'standardwebhooks'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { channels } from '../../src/channels/registry.js'
import type { Channel } from '../../src/domain/channel.js'
import { transaction } from '../../src/store/postgres.js'
import { endExpiredLeases, findExpiredLeases } from '../../src/store/webhook/leases.js'
import { settleMessages } from '../../src/store/webhook/queue.js'
import { createDatabase, poolForTest, type TestDatabase } from '../support/database/database.js'
import { createAccount, type Gateway, readMetrics, startGateway, type TestAccount } from '../support/gateway/gateway.js'
import { type Received, type Receiver, receiverForTest, refuseWith } from '../support/gateway/receiver.js'
import { request, send, validSend } from '../support/gateway/requests.js'
import { claimWebhooks, createWebhook, happen, QUICK, startTestDeliverer } from '../support/gateway/webhooks.js'

/** Events over real sockets to a receiver that knows nothing of us but the standard. */
let database: TestDatabase
let gateway: Gateway
let account: TestAccount
let deliverers: { stop(): Promise<void> }[] = []

beforeAll(async () => {
  database = await createDatabase()
  gateway = await startGateway(database.pool)
})

afterEach(async () => {
  await Promise.all(deliverers.map(deliverer => deliverer.stop()))
  deliverers = []
  await database.pool.query('update webhook_endpoint set deleted_at = now(), disabled_at = now()')
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
})

const start = (parts?: Parameters<typeof startTestDeliverer>[1]): void => {
  deliverers.push(startTestDeliverer(database.pool, parts))
}

const number = '11987654321'
const everyChannel = {
  ...validSend,
  customID: 'pedido-7',
  sms: { number, typeSend: '2' },
  whatsapp: { number },
  voz: { number },
  carta: {},
}
const accept = async (body: object = everyChannel): Promise<string> => {
  account ??= await createAccount(database.pool)
  return ((await send(gateway.url, account.token, body)).body as { idEmail: string }).idEmail
}
const fresh = async (): Promise<TestAccount> => {
  account = await createAccount(database.pool)
  return account
}
const ask = async (path: string, method = 'GET', body?: object) =>
  request(`${gateway.url}/gw/webhooks${path}`, { method, token: account.token, ...(body === undefined ? {} : { body }) })
const shown = async (id: string) => ((await ask(`/${id}`)).body as { data: Record<string, unknown> }).data
const attempts = async (id: string, query = '') =>
  ((await ask(`/${id}/attempts${query}`)).body as { data: Record<string, never>[] }).data
const statusesOf = ({ got }: Receiver) => got.map(({ json }) => json.status)
const arrived = (receiver: Receiver, count: number) =>
  expect.poll(() => receiver.got.length, { interval: 20 }).toBeGreaterThanOrEqual(count)
const verify = (secret: string, { body, headers }: Received) => new Webhook(secret).verify(body, headers)

describe('payloads', () => {
  test('v2 says what happened, with the status record of the lookup, verified by an independent library', async () => {
    await fresh()
    const receiver = await receiverForTest()
    const { segredo } = await createWebhook(gateway.url, account.token, { url: receiver.url })
    start()
    const id = await accept()
    await happen(database.pool, id, 'email', 'sent')
    await arrived(receiver, 1)
    const [got] = receiver.got as [Received]
    expect(verify(segredo, got)).toEqual(got.json)
    expect(got.headers['content-type']).toBe('application/json')
    const record = (await request(`${gateway.url}/gw/email/${id}`, { token: account.token })).body
    expect(got.json).toEqual({
      eventVersion: '2.0',
      occurredAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}-03:00$/),
      notificationID: id,
      customID: 'pedido-7',
      channel: 'email',
      status: 'enviado',
      statusTimestamp: got.json.occurredAt,
      payload: record,
      metadata: { webhookVersion: 'v2', attempt: 1 },
    })
    expect(record).toMatchObject({ description: 'Enviado', idEmail: id })
  })

  test('the recording of a call is announced with its link once it is stored', async () => {
    await fresh()
    const receiver = await receiverForTest()
    await createWebhook(gateway.url, account.token, { url: receiver.url })
    start()
    const id = await accept()
    await happen(database.pool, id, 'voice', 'sent')
    await happen(database.pool, id, 'voice', 'delivered')
    await happen(database.pool, id, 'voice', 'recorded', { recording: 'a'.repeat(64) })
    await arrived(receiver, 3)
    expect(statusesOf(receiver)).toEqual(['enviado', 'entregue', 'gravado'])
    const members = receiver.got.map(({ json }) => Object.keys(json.payload as object))
    const heard = ['dateSent', 'dateSuccessCall', 'description']
    expect(members).toEqual([['dateSent', 'description'], heard, [...heard, 'linkCall']])
    expect(receiver.got[2]!.json.payload).toMatchObject({ linkCall: expect.stringMatching(/^http/) })
  })

  test('v1 has its seven members and nothing else', async () => {
    await fresh()
    const receiver = await receiverForTest()
    const { segredo } = await createWebhook(gateway.url, account.token, { url: receiver.url, versao: 'v1' })
    start()
    const id = await accept()
    await happen(database.pool, id, 'sms', 'delivered')
    await arrived(receiver, 1)
    verify(segredo, receiver.got[0]!)
    const brt = expect.stringMatching(/^\d\d\/\d\d\/\d{4} \d\d:\d\d:\d\d$/)
    expect(receiver.got[0]!.json).toEqual({
      notificationID: id,
      channel: 'sms',
      description: 'Entregue',
      dateSent: brt,
      dateDelivery: brt,
      dateRead: null,
      logDate: brt,
    })
  })

  test('v1 of a failure has none of the three dates, although the message was sent and delivered before', async () => {
    await fresh()
    const receiver = await receiverForTest()
    await createWebhook(gateway.url, account.token, { url: receiver.url, versao: 'v1', canais: ['email', 'voz'] })
    start()
    const id = await accept()
    await happen(database.pool, id, 'email', 'delivered')
    await happen(database.pool, id, 'email', 'failed', { failure: 'bounced' })
    await happen(database.pool, id, 'voice', 'failed', { failure: 'busy' })
    await arrived(receiver, 3)
    const undated = { dateSent: null, dateDelivery: null, dateRead: null, logDate: expect.stringMatching(/^\d\d\//) }
    const failures = receiver.got.map(({ json }) => json).filter(({ description }) => description !== 'Entregue')
    expect(failures).toHaveLength(2)
    expect(failures).toEqual(
      expect.arrayContaining([
        { notificationID: id, channel: 'email', description: 'Devolvido', ...undated },
        { notificationID: id, channel: 'voz', description: 'Ocupado', ...undated },
      ]),
    )
  })

  test('v1 of a reading after a failure has its dates: it is no failure', async () => {
    await fresh()
    const receiver = await receiverForTest()
    await createWebhook(gateway.url, account.token, { url: receiver.url, versao: 'v1', canais: ['email'] })
    start()
    const id = await accept()
    for (const type of ['sent', 'delivered'] as const) await happen(database.pool, id, 'email', type)
    await happen(database.pool, id, 'email', 'failed', { failure: 'bounced' })
    await happen(database.pool, id, 'email', 'read')
    await arrived(receiver, 4)
    const dates = receiver.got.map(({ json }) => [json.dateSent, json.dateDelivery, json.dateRead].map(date => date !== null))
    expect(dates).toEqual([
      [true, false, false],
      [true, true, false],
      [false, false, false],
      [true, true, true],
    ])
  })

  test('v1 of a recording after a failure has no dates: the call did not arrive', async () => {
    await fresh()
    const receiver = await receiverForTest()
    await createWebhook(gateway.url, account.token, { url: receiver.url, versao: 'v1', canais: ['voz'], situacoes: ['gravado'] })
    start()
    const id = await accept()
    await happen(database.pool, id, 'voice', 'sent')
    await happen(database.pool, id, 'voice', 'failed', { failure: 'machine' })
    await happen(database.pool, id, 'voice', 'recorded', { recording: 'a'.repeat(64) })
    await arrived(receiver, 1)
    expect(receiver.got[0]!.json).toMatchObject({
      description: 'Caixa postal',
      dateSent: null,
      dateDelivery: null,
      dateRead: null,
    })
  })

  test('a message says how things stood after its event, however much has happened since', async () => {
    await fresh()
    const receiver = await receiverForTest()
    await createWebhook(gateway.url, account.token, { url: receiver.url })
    const id = await accept()
    for (const type of ['sent', 'delivered', 'read'] as const) await happen(database.pool, id, 'email', type)
    start()
    await arrived(receiver, 3)
    expect(receiver.got.map(({ json }) => [json.status, (json.payload as { description: string }).description])).toEqual([
      ['enviado', 'Enviado'],
      ['entregue', 'Entregue'],
      ['lido', 'Lido'],
    ])
  })

  test('every channel is announced, failures and unknown outcomes too; an event that changes nothing is not', async () => {
    await fresh()
    const receiver = await receiverForTest()
    await createWebhook(gateway.url, account.token, { url: receiver.url })
    const id = await accept()
    for (const channel of channels) await happen(database.pool, id, channel, 'sent')
    await happen(database.pool, id, 'voice', 'note', { x: 1 })
    await happen(database.pool, id, 'voice', 'failed', { failure: 'busy' })
    await happen(database.pool, id, 'sms', 'answered', { answer: 'SIM' })
    start()
    await arrived(receiver, 7)
    const told = receiver.got.map(({ json }) => `${json.channel} ${json.status}`)
    expect(told.sort()).toEqual(
      ['carta enviado', 'email enviado', 'sms enviado', 'sms respondido', 'voz enviado', 'voz falhou', 'whatsapp enviado'].sort(),
    )
    expect(receiver.got.find(({ json }) => json.status === 'falhou')!.json.payload).toMatchObject({ description: 'Ocupado' })
  })

  test('a reply is announced with its text, and with those before it, on every channel', async () => {
    await fresh()
    const receiver = await receiverForTest()
    await createWebhook(gateway.url, account.token, { url: receiver.url, situacoes: ['respondido'] })
    const id = await accept()
    for (const channel of ['email', 'whatsapp', 'sms'])
      for (const answer of ['Sim.', 'Não.']) await happen(database.pool, id, channel, 'answered', { answer, answerId: answer })
    start()
    await arrived(receiver, 6)
    for (const channel of ['email', 'whatsapp', 'sms'])
      expect(
        receiver.got
          .filter(({ json }) => json.channel === channel)
          .map(({ json }) => [json.status, (json.payload as { answered: string[] }).answered]),
      ).toEqual([
        ['respondido', ['Sim.']],
        ['respondido', ['Sim.', 'Não.']],
      ])
  })

  test('filters by channel and by status hold together', async () => {
    await fresh()
    const [some, all] = [await receiverForTest(), await receiverForTest()]
    await createWebhook(gateway.url, account.token, { url: some.url, canais: ['voz', 'email'], situacoes: ['falhou', 'lido'] })
    await createWebhook(gateway.url, account.token, { url: all.url })
    const id = await accept()
    for (const channel of ['email', 'sms', 'voice'] as Channel[]) await happen(database.pool, id, channel, 'sent')
    await happen(database.pool, id, 'voice', 'failed', { failure: 'busy' })
    await happen(database.pool, id, 'sms', 'read')
    await happen(database.pool, id, 'email', 'read')
    start()
    await arrived(all, 6)
    await arrived(some, 2)
    expect(some.got.map(({ json }) => `${json.channel} ${json.status}`).sort()).toEqual(['email lido', 'voz falhou'])
  })

  test('a test event arrives signed and says what it is', async () => {
    await fresh()
    const receiver = await receiverForTest()
    const { id, segredo } = await createWebhook(gateway.url, account.token, { url: receiver.url })
    start()
    const answer = await ask(`/${id}/test`, 'POST')
    expect(answer.status).toBe(201)
    await arrived(receiver, 1)
    verify(segredo, receiver.got[0]!)
    expect(receiver.got[0]!.json).toMatchObject({ status: 'teste', metadata: { webhookVersion: 'v2', attempt: 1 } })
    expect((answer.body as { data: { mensagem: string } }).data.mensagem).toBe(receiver.got[0]!.headers['webhook-id'])
  })
})

describe('secrets', () => {
  test('while rotating, both secrets verify; afterwards only the new one does', async () => {
    await fresh()
    const receiver = await receiverForTest()
    const { id, segredo: old } = await createWebhook(gateway.url, account.token, { url: receiver.url })
    const rotated = (await ask(`/${id}/rotate`, 'POST')).body as { data: { segredo: string; segredoAnteriorAte: string } }
    expect(rotated.data.segredo).toMatch(/^whsec_/)
    expect(rotated.data.segredo).not.toBe(old)
    expect(rotated.data.segredoAnteriorAte).not.toBeNull()
    start()
    const notification = await accept()
    await happen(database.pool, notification, 'email', 'sent')
    await arrived(receiver, 1)
    expect(receiver.got[0]!.headers['webhook-signature']!.split(' ')).toHaveLength(2)
    for (const secret of [old, rotated.data.segredo]) verify(secret, receiver.got[0]!)
    await database.pool.query("update webhook_endpoint set previous_secret_until = now() - interval '1 second' where id = $1", [
      id,
    ])
    await happen(database.pool, notification, 'email', 'delivered')
    await arrived(receiver, 2)
    verify(rotated.data.segredo, receiver.got[1]!)
    expect(() => verify(old, receiver.got[1]!)).toThrow('No matching signature found')
  })

  test('no secret lies in the database in clear', async () => {
    await fresh()
    const { segredo } = await createWebhook(gateway.url, account.token, { url: 'https://example.com/' })
    const key = Buffer.from(segredo.replace('whsec_', ''), 'base64')
    const { rows } = await database.pool.query<{ secret: Buffer }>('select secret from webhook_endpoint')
    expect(rows.some(({ secret }) => secret.includes(key) || secret.includes(segredo))).toBe(false)
  })
})

describe('failures', () => {
  test('a failed message is retried under the same id, and the body has the attempt number', async () => {
    await fresh()
    const receiver = await receiverForTest(refuseWith(500, { 'set-cookie': 'sessao=segredo' }, 'caiu'))
    const { id } = await createWebhook(gateway.url, account.token, { url: receiver.url })
    start({ timing: QUICK })
    await happen(database.pool, await accept(), 'email', 'sent')
    await arrived(receiver, 3)
    receiver.answer = (_, response) => response.writeHead(200).end('ok')
    await expect.poll(async () => (await attempts(id))[0]?.recebido).toBe(true)
    const ids = new Set(receiver.got.map(({ headers }) => headers['webhook-id']))
    expect(ids.size).toBe(1)
    expect(receiver.got.map(({ json }) => (json.metadata as { attempt: number }).attempt)).toEqual(
      receiver.got.map((_, index) => index + 1),
    )
    const log = await attempts(id)
    expect(log.at(-1)).toMatchObject({
      tentativa: 1,
      recebido: false,
      erro: 'O servidor respondeu 500; só 2xx conta como recebido.',
      requisicao: { url: receiver.url, corpo: receiver.got[0]!.body },
      resposta: { status: 500, corpo: 'caiu' },
    })
    expect(JSON.stringify(log)).not.toContain('sessao=segredo')
    expect(JSON.stringify(log)).not.toContain(receiver.got[0]!.headers['webhook-signature']!.slice(3))
    expect((await attempts(id, '?somenteFalhas=true')).every(attempt => attempt.recebido === false)).toBe(true)
    expect(await shown(id)).toMatchObject({ falhandoDesde: null, aviso: null, pendentes: 0 })
  })

  test('after the last attempt the message is dead, is shown in the log, and can be replayed', async () => {
    await fresh()
    const receiver = await receiverForTest(refuseWith(400))
    const { id } = await createWebhook(gateway.url, account.token, { url: receiver.url })
    start({ timing: { ...QUICK, plan: { delaysMs: [20, 20], laterMs: 20 } } })
    await happen(database.pool, await accept(), 'email', 'sent')
    await expect.poll(async () => (await attempts(id))[0]?.estado).toBe('esgotada')
    expect(receiver.got.length).toBe(3)
    receiver.answer = (_, response) => response.writeHead(204).end()
    const mensagem = receiver.got[0]!.headers['webhook-id']!
    expect((await ask(`/${id}/replay`, 'POST', { mensagem })).body).toEqual({ data: { mensagens: 1 }, statusCode: 200 })
    await arrived(receiver, 4)
    expect(receiver.got[3]!.headers['webhook-id']).toBe(mensagem)
    expect(receiver.got[3]!.json.metadata).toMatchObject({ attempt: 4 })
  })

  test('Retry-After is honoured for the whole endpoint', async () => {
    await fresh()
    const times: number[] = []
    const receiver = await receiverForTest((_, response) => {
      times.push(performance.now())
      response.writeHead(times.length === 1 ? 429 : 204, { 'retry-after': '2' }).end()
    })
    await createWebhook(gateway.url, account.token, { url: receiver.url })
    start({ timing: QUICK })
    await happen(database.pool, await accept(), 'email', 'sent')
    await arrived(receiver, 1)
    await happen(database.pool, await accept(), 'email', 'sent')
    await arrived(receiver, 3)
    expect(times[1]! - times[0]!).toBeGreaterThan(1_900)
    expect(times[2]! - times[0]!).toBeGreaterThan(1_900)
  })

  test('Retry-After holds although a request that was under way succeeds after it, or after five failures', async () => {
    await fresh()
    const held: (() => void)[] = []
    const receiver = await receiverForTest((_, response) => {
      if (receiver.got.length <= 2) held.push(() => response.writeHead(204).end())
      else response.writeHead(429, { 'retry-after': '3600' }).end()
    })
    const { id } = await createWebhook(gateway.url, account.token, { url: receiver.url })
    const pause = async () =>
      (
        await database.pool.query<{ failures: number; minutes: number }>(
          'select failures, extract(epoch from paused_until - now())::float8 / 60 as minutes from webhook_endpoint where id = $1',
          [id],
        )
      ).rows[0]!
    const notifications = await Promise.all(Array.from({ length: 8 }, () => accept()))
    for (const notification of notifications) await happen(database.pool, notification, 'email', 'sent')
    start({ timing: QUICK })
    await expect.poll(async () => (await pause()).failures).toBeGreaterThanOrEqual(5)
    expect((await pause()).minutes).toBeGreaterThan(55)
    for (const answer of held) answer()
    await expect.poll(async () => (await pause()).failures).toBe(0)
    expect((await pause()).minutes).toBeGreaterThan(55)
    // Switched on again by its owner, it is called at once.
    receiver.answer = (_, response) => response.writeHead(204).end()
    await ask(`/${id}`, 'PUT', { ativo: true })
    await arrived(receiver, 14)
  })

  test('a paused endpoint gets one message after each pause', async () => {
    await fresh()
    const receiver = await receiverForTest(refuseWith(500))
    const { id } = await createWebhook(gateway.url, account.token, { url: receiver.url })
    start({ timing: { ...QUICK, maxPauseMs: 3_600_000 } })
    for (let n = 0; n < 5; n++) await happen(database.pool, await accept(), 'email', 'sent')
    const read = async () =>
      (await database.pool.query<{ failures: number }>('select failures from webhook_endpoint where id = $1', [id])).rows[0]!
        .failures
    await expect.poll(read).toBeGreaterThanOrEqual(5)
    for (let n = 0; n < 20; n++) await happen(database.pool, await accept(), 'email', 'sent')
    const before = await read()
    // The rest is over, as if its time had passed, and the next one is an hour.
    await database.pool.query('update webhook_endpoint set failures = 20, paused_until = null where id = $1', [id])
    await expect.poll(read).toBe(21)
    expect(before).toBeLessThan(20)
    const asked = receiver.got.length
    await database.pool.query('update webhook_endpoint set paused_until = null where id = $1', [id])
    await expect.poll(read).toBe(22)
    expect(receiver.got.length).toBe(asked + 1)
  })

  test('410 switches the endpoint off; what happens then is held, and goes when it is on again and asked for', async () => {
    await fresh()
    const receiver = await receiverForTest(refuseWith(410))
    const { id } = await createWebhook(gateway.url, account.token, { url: receiver.url })
    start({ timing: QUICK })
    const since = new Date(Date.now() - 1_000).toISOString()
    const notification = await accept()
    await happen(database.pool, notification, 'email', 'sent')
    await expect.poll(async () => (await shown(id)).ativo).toBe(false)
    expect(await shown(id)).toMatchObject({ motivo: '410', aviso: expect.stringContaining('410') })
    await happen(database.pool, notification, 'email', 'delivered')
    expect((await ask(`/${id}/replay`, 'POST', { desde: since })).status).toBe(409)
    receiver.answer = (_, response) => response.writeHead(204).end()
    expect((await ask(`/${id}`, 'PUT', { ativo: true })).body).toMatchObject({ data: { ativo: true, motivo: null, aviso: null } })
    expect((await ask(`/${id}/replay`, 'POST', { desde: since })).body).toMatchObject({ data: { mensagens: 2 } })
    await arrived(receiver, 3)
    expect(statusesOf(receiver)).toEqual(['enviado', 'enviado', 'entregue'])
  })

  test('after five days of failures it is suspended, and says so', async () => {
    await fresh()
    const receiver = await receiverForTest(refuseWith(500))
    const { id } = await createWebhook(gateway.url, account.token, { url: receiver.url })
    start({ timing: { ...QUICK, plan: { delaysMs: Array<number>(9).fill(30), laterMs: 30 } } })
    await happen(database.pool, await accept(), 'email', 'sent')
    await expect.poll(async () => (await shown(id)).falhandoDesde).not.toBeNull()
    expect((await shown(id)).aviso).toContain('cinco dias')
    expect((await shown(id)).ativo).toBe(true)
    await database.pool.query("update webhook_endpoint set failing_since = now() - interval '5 days 1 second' where id = $1", [
      id,
    ])
    await expect.poll(async () => (await shown(id)).motivo).toBe('falhas')
    const { rows } = await database.pool.query("select detail from audit where action = 'webhook suspend' and subject = $1", [id])
    expect(rows).toMatchObject([{ detail: { reason: 'failing', account: account.id } }])
    const metrics = await readMetrics(gateway.url)
    expect(Number(/^carteiro_webhooks_suspended (\d+)/m.exec(metrics)![1])).toBeGreaterThan(0)
  })

  test('a redirect is not followed', async () => {
    await fresh()
    const inner = await receiverForTest()
    const receiver = await receiverForTest(refuseWith(302, { location: inner.url }))
    const { id } = await createWebhook(gateway.url, account.token, { url: receiver.url })
    start({ timing: { ...QUICK, plan: { delaysMs: [20], laterMs: 20 } } })
    await happen(database.pool, await accept(), 'email', 'sent')
    await expect.poll(async () => (await attempts(id))[0]?.estado).toBe('esgotada')
    expect((await attempts(id))[0]!.erro).toContain('redirecionamentos não são seguidos')
    expect(inner.got).toEqual([])
  })
})

describe('order and fairness', () => {
  test('a later event of the same notification and channel waits for the one in flight', async () => {
    await fresh()
    let open: (() => void) | undefined
    const receiver = await receiverForTest((_, response) => {
      open = () => response.writeHead(204).end()
    })
    await createWebhook(gateway.url, account.token, { url: receiver.url })
    const id = await accept()
    start({ timing: { ...QUICK, timeoutMs: 10_000 } })
    await happen(database.pool, id, 'email', 'sent')
    await arrived(receiver, 1)
    await happen(database.pool, id, 'email', 'delivered')
    // Another notification is not held up.
    await happen(database.pool, await accept(), 'email', 'sent')
    const first = open!
    await arrived(receiver, 2)
    expect(statusesOf(receiver)).toEqual(['enviado', 'enviado'])
    first()
    open!()
    await arrived(receiver, 3)
    expect(receiver.got[2]!.json).toMatchObject({ notificationID: id, status: 'entregue' })
    open!()
  })

  test('a later event waits for the first attempts of an earlier one, then overtakes it', async () => {
    await fresh()
    const receiver = await receiverForTest((received, response) =>
      response.writeHead(received.json.status === 'enviado' ? 500 : 204).end(),
    )
    await createWebhook(gateway.url, account.token, { url: receiver.url })
    const id = await accept()
    await happen(database.pool, id, 'email', 'sent')
    await happen(database.pool, id, 'email', 'delivered')
    start({ timing: { ...QUICK, plan: { delaysMs: [50, 50, 60_000], laterMs: 60_000 } } })
    await arrived(receiver, 4)
    expect(statusesOf(receiver)).toEqual(['enviado', 'enviado', 'enviado', 'entregue'])
  })

  test('a dead endpoint with a long queue does not delay the others, and gets everything when it is back', async () => {
    await fresh()
    const healthy = await receiverForTest()
    const dead = await receiverForTest()
    const { url } = dead
    await createWebhook(gateway.url, account.token, { url: healthy.url })
    const { id } = await createWebhook(gateway.url, account.token, { url })
    await dead.close()
    start({ timing: QUICK })
    const ids = await Promise.all(Array.from({ length: 60 }, () => accept()))
    for (const notification of ids) await happen(database.pool, notification, 'email', 'sent')
    await arrived(healthy, 60)
    await expect.poll(async () => (await shown(id)).falhandoDesde).not.toBeNull()
    expect(await shown(id)).toMatchObject({ pendentes: 60, ativo: true })
    const revived = await receiverForTest(undefined, Number(new URL(url).port))
    await expect.poll(async () => (await shown(id)).pendentes).toBe(0)
    expect(new Set(revived.got.map(({ json }) => json.notificationID)).size).toBe(60)
    // Only a few were tried while it was away: the rest waited together.
    const { rows } = await database.pool.query(
      'select count(*) as tried from webhook_message where endpoint_id = $1 and attempt > 1',
      [id],
    )
    expect(rows[0].tried).toBeLessThan(40)
  })

  const reap = async (): Promise<number> => {
    const { leases } = await findExpiredLeases(database.pool, null)
    return transaction(database.pool, db => endExpiredLeases(db, leases, 'O processo foi interrompido.'))
  }

  test('what a dead worker held is sent by the next one, under the same id', async () => {
    await fresh()
    const receiver = await receiverForTest()
    const { id } = await createWebhook(gateway.url, account.token, { url: receiver.url })
    await happen(database.pool, await accept(), 'email', 'sent')
    expect(await claimWebhooks(database.pool, { owner: crypto.randomUUID(), leaseMs: -1_000 })).toHaveLength(1)
    expect(await reap()).toBe(1)
    expect(await reap()).toBe(0)
    start()
    await arrived(receiver, 1)
    expect(receiver.got[0]!.json.metadata).toMatchObject({ attempt: 2 })
    await expect.poll(async () => (await attempts(id)).length).toBe(2)
    expect((await attempts(id)).map(({ tentativa, erro }) => [tentativa, erro])).toEqual([
      [2, null],
      [1, 'O processo foi interrompido.'],
    ])
  })

  test('an outcome that takes too long to write is written again, not sent again', async () => {
    await fresh()
    const holder = await database.pool.connect()
    const receiver = await receiverForTest(async (_, response) => {
      await holder.query('begin')
      await holder.query('select from webhook_message for update')
      response.end()
    })
    const { id } = await createWebhook(gateway.url, account.token, { url: receiver.url })
    const impatient = poolForTest({ connectionString: database.url, max: 5, statement_timeout: 300, options: '-c timezone=UTC' })
    let timeouts = 0
    const query = impatient.query.bind(impatient) as (...args: unknown[]) => Promise<unknown>
    const counted = (...args: unknown[]): Promise<unknown> =>
      query(...args).catch(error => {
        if (String(args[0] && (args[0] as { name?: string }).name) === 'settle-webhooks') timeouts++
        throw error
      })
    Object.assign(impatient, { query: counted })
    deliverers.push(startTestDeliverer(impatient))
    await happen(database.pool, await accept(), 'email', 'sent')
    await expect.poll(() => timeouts).toBeGreaterThan(1)
    await holder.query('commit')
    holder.release()
    const states = async () =>
      (await database.pool.query('select state, attempt from webhook_message where endpoint_id = $1', [id])).rows
    await expect.poll(states).toEqual([{ state: 'done', attempt: 1 }])
    expect(receiver.got).toHaveLength(1)
  })

  test('a worker that lost its lease cannot overwrite what its successor wrote', async () => {
    await fresh()
    await createWebhook(gateway.url, account.token, { url: 'https://example.com/' })
    await happen(database.pool, await accept(), 'email', 'sent')
    const [owner, successor] = ['018f0000-0000-7000-8000-000000000001', '018f0000-0000-7000-8000-000000000002']
    const [claim] = await claimWebhooks(database.pool, { owner, leaseMs: -1_000 })
    // Nobody gets it before the attempt counts as interrupted.
    expect(await claimWebhooks(database.pool, { owner: successor })).toEqual([])
    expect(await reap()).toBe(1)
    expect(await claimWebhooks(database.pool, { owner: successor })).toMatchObject([{ id: claim!.id, attempt: 2 }])
    const settlement = {
      ...{ message: claim!.id, attempt: claim!.attempt, state: 'dead' as const, delayMs: null, at: new Date() },
      ...{
        url: claim!.url,
        version: claim!.version,
        durationMs: 1,
        status: null,
        error: 'x',
        responseHeaders: null,
        responseBody: null,
      },
    }
    expect(await settleMessages(database.pool, [settlement])).toEqual(new Set([claim!.id]))
    const held = { ...settlement, attempt: 2, state: 'queued' as const }
    expect(await settleMessages(database.pool, [held])).toEqual(new Set())
  })
})
