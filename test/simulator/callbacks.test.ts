import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { Callbacks, type Telling } from '../../simulator/callbacks.js'
import { describeFaults, FaultSwitch, NO_FAULTS } from '../../simulator/faults.js'
import type { Message } from '../../simulator/message.js'
import { simulatorForTest } from './carriers.js'

const LONGEST = { timeout: 20_000, interval: 20 }
const SECRET = '0f'.repeat(32)

interface Call {
  path: string
  headers: IncomingHttpHeaders
  body: string
}

/** The gateway's side, on a port of its own; answers with what the test wants. */
async function gatewayForTest(
  answer: () => number = () => 200,
  port = 0,
): Promise<{ base: string; port: number; calls: Call[]; server: Server }> {
  const calls: Call[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    calls.push({ path: request.url!, headers: request.headers, body: Buffer.concat(chunks).toString() })
    response.writeHead(answer()).end('{}')
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const taken = (server.address() as AddressInfo).port
  return { base: `http://127.0.0.1:${taken}/callbacks/simulator`, port: taken, calls, server }
}

function callbacksForTest(): Callbacks {
  const callbacks = new Callbacks(Date.now)
  onTestFinished(() => callbacks.close())
  return callbacks
}

const newMessage = (): Message => ({
  id: 'm1',
  channel: 'sms',
  receivedAt: new Date(),
  to: '+5511999990000',
  from: 'Banco',
  fromName: '',
  subject: 'Olá',
  reference: 'r1',
  answer: '200',
  reports: [],
})

const switches = (faults: object = {}): FaultSwitch => {
  const made = new FaultSwitch(describeFaults({}), () => {})
  made.set({ ...NO_FAULTS, ...faults })
  return made
}

const telling = (message: Message, more: Partial<Telling> = {}): Telling => ({
  message,
  faults: switches(),
  type: 'delivered',
  compose: ({ secret }, { id }) => ({
    to: '/sms',
    headers: { 'content-type': 'application/json', 'x-signature': createHmac('sha256', secret).update(id).digest('hex') },
    body: JSON.stringify({ id, status: 'DELIVERED' }),
  }),
  ...more,
})

const until = (message: Message, ...states: string[]): Promise<void> =>
  vi.waitFor(() => expect(message.reports.map(({ state }) => state)).toEqual(states), LONGEST)

describe('the callback outbox', () => {
  test('posts below the registered base, signed with its secret, and keeps the answer', async () => {
    const [callbacks, gateway, message] = [callbacksForTest(), await gatewayForTest(), newMessage()]
    callbacks.register({ base: gateway.base, secret: SECRET })
    const report = callbacks.send(telling(message))
    await until(message, 'done')
    expect(gateway.calls).toMatchObject([
      {
        path: '/callbacks/simulator/sms',
        headers: { 'x-signature': createHmac('sha256', SECRET).update(report.id).digest('hex') },
        body: JSON.stringify({ id: report.id, status: 'DELIVERED' }),
      },
    ])
    expect(report).toMatchObject({
      type: 'delivered',
      status: null,
      doneAt: expect.any(Date),
      detail: `POST ${gateway.base}/sms: 200`,
    })
  })

  test('waits for somebody to register, and signs for whoever did', async () => {
    const [callbacks, gateway, message] = [callbacksForTest(), await gatewayForTest(), newMessage()]
    const report = callbacks.send(telling(message))
    await vi.waitFor(() => expect(report.detail).toMatch(/^Nenhum gateway/), LONGEST)
    callbacks.register({ base: gateway.base, secret: SECRET })
    await until(message, 'done')
    expect(gateway.calls.length).toBe(1)
  })

  test('is tried again while the gateway is away, and after it answered with trouble', async () => {
    const [callbacks, message] = [callbacksForTest(), newMessage()]
    const first = await gatewayForTest()
    first.server.close()
    await once(first.server, 'close')
    callbacks.register({ base: first.base, secret: SECRET })
    const report = callbacks.send(telling(message))
    await vi.waitFor(() => expect(report.detail).toContain('ECONNREFUSED'), LONGEST)
    const answers = [503, 429]
    const second = await gatewayForTest(() => answers.shift() ?? 204, first.port)
    await until(message, 'done')
    expect(second.calls.length).toBe(3)
    expect(new Set(second.calls.map(({ body }) => body)).size).toBe(1)
  })

  test('is not tried again once it was refused', async () => {
    const [callbacks, gateway, message] = [callbacksForTest(), await gatewayForTest(() => 401), newMessage()]
    callbacks.register({ base: gateway.base, secret: SECRET })
    callbacks.send(telling(message))
    await until(message, 'refused')
    callbacks.send(telling(message))
    await until(message, 'refused', 'refused')
    expect(gateway.calls.length).toBe(2)
  })

  test('goes to the newest gateway that answers', async () => {
    const [callbacks, older, newer, message] = [callbacksForTest(), await gatewayForTest(), await gatewayForTest(), newMessage()]
    callbacks.register({ base: older.base, secret: SECRET })
    callbacks.register({ base: newer.base, secret: SECRET })
    callbacks.send(telling(message))
    await until(message, 'done')
    expect([older.calls.length, newer.calls.length]).toEqual([0, 1])
    newer.server.close()
    await once(newer.server, 'close')
    callbacks.send(telling(message))
    await until(message, 'done', 'done')
    expect(older.calls.length).toBe(1)
    expect(callbacks.bases).toEqual([newer.base, older.base])
    expect(callbacks.route).toEqual({ base: newer.base, secret: SECRET })
  })

  test('goes twice, with the same bytes, while duplicateReports is on', async () => {
    const [callbacks, gateway, message] = [callbacksForTest(), await gatewayForTest(), newMessage()]
    callbacks.register({ base: gateway.base, secret: SECRET })
    callbacks.send(telling(message, { faults: switches({ duplicateReports: true }) }))
    await until(message, 'done', 'done')
    expect(gateway.calls[0]!.body).toBe(gateway.calls[1]!.body)
  })

  test('comes late while lateReportsMs says so', async () => {
    const [callbacks, gateway, message] = [callbacksForTest(), await gatewayForTest(), newMessage()]
    callbacks.register({ base: gateway.base, secret: SECRET })
    const late = callbacks.send(telling(message, { faults: switches({ lateReportsMs: 400 }) }))
    const prompt = callbacks.send(telling(message))
    await vi.waitFor(() => expect(prompt.state).toBe('done'), LONGEST)
    expect(late.state).toBe('waiting')
    await until(message, 'done', 'done')
    expect(gateway.calls.map(({ body }) => JSON.parse(body).id)).toEqual([prompt.id, late.id])
  })

  test('never leaves the registered base, and one that cannot be written harms no other', async () => {
    const [callbacks, gateway, stranger, message] = [
      callbacksForTest(),
      await gatewayForTest(),
      await gatewayForTest(),
      newMessage(),
    ]
    callbacks.register({ base: gateway.base, secret: SECRET })
    const to = (target: string): Partial<Telling> => ({ compose: () => ({ to: target, headers: {}, body: '' }) })
    const outside = ['/../x', `${stranger.base}/sms`, `${gateway.base}-x/sms`, 'http://192.0.2.1/callbacks/simulator', 'x']
    for (const target of outside) callbacks.send(telling(message, to(target)))
    const broken = (): never => {
      throw new Error('sem assinatura')
    }
    callbacks.send(telling(message, { compose: broken }))
    callbacks.send(telling(message, to(`${gateway.base}/sms?id=1`)))
    await until(message, ...outside.map(() => 'refused'), 'refused', 'done')
    expect(message.reports[0]!.detail).toContain('fora do que o gateway registrou')
    expect(message.reports.at(-2)!.detail).toBe('sem assinatura')
    expect(gateway.calls.map(({ path }) => path)).toEqual(['/callbacks/simulator/sms?id=1'])
    expect(stranger.calls).toEqual([])
  })
})

describe('PUT /simulator/routes', () => {
  const base = 'http://127.0.0.1:8080/callbacks/simulator'

  test('takes callbacks with their secret, alone or beside bounces, and never shows the secret', async () => {
    const simulator = await simulatorForTest()
    const put = (body: unknown) => simulator.ask('/simulator/routes', { method: 'PUT', body })
    expect(await put({ callbacks: `${base}/`, secret: SECRET })).toMatchObject({
      status: 200,
      body: { bounces: [], callbacks: [base] },
    })
    const both = { bounces: 'smtp://127.0.0.1:2526', callbacks: base, secret: SECRET }
    expect(await put(both)).toMatchObject({ status: 200, body: { bounces: [both.bounces], callbacks: [base] } })
    const shown = await simulator.ask('/simulator/routes')
    expect(shown.body).toEqual({ bounces: [both.bounces], callbacks: [base] })
    expect(JSON.stringify(shown)).not.toContain(SECRET)
  })

  test('refuses by name what makes no sense, and then changes nothing', async () => {
    const simulator = await simulatorForTest()
    const bounces = 'smtp://127.0.0.1:2526'
    const bad: [object, string][] = [
      [{ callbacks: 'http://192.0.2.1/callbacks', secret: SECRET }, 'callbacks'],
      [{ callbacks: 'http://gateway.example/callbacks', secret: SECRET }, 'callbacks'],
      [{ callbacks: 'ftp://127.0.0.1/callbacks', secret: SECRET }, 'callbacks'],
      [{ callbacks: `${base}?a=1`, secret: SECRET }, 'callbacks'],
      [{ callbacks: 'http://user@127.0.0.1/callbacks', secret: SECRET }, 'callbacks'],
      [{ callbacks: 7, secret: SECRET }, 'callbacks'],
      [{ callbacks: base }, 'secret'],
      [{ callbacks: base, secret: 'abc' }, 'secret'],
      [{ callbacks: base, secret: 'zz'.repeat(32) }, 'secret'],
      [{ callbacks: base, secret: 7 }, 'secret'],
      [{ bounces, secret: SECRET }, 'callbacks'],
      [{ bounces, callbacks: base, secret: SECRET, site: 'x' }, 'site'],
    ]
    for (const [body, field] of bad) {
      const answer = await simulator.ask('/simulator/routes', { method: 'PUT', body })
      expect(answer, JSON.stringify(body)).toMatchObject({ status: 400 })
      expect((answer.body as { message: string }).message).toContain(`O campo ${field} `)
    }
    expect((await simulator.ask('/simulator/routes')).body).toEqual({ bounces: [], callbacks: [] })
  })
})
