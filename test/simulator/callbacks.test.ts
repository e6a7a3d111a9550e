import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type CallbackReport, Callbacks } from '../../simulator/callbacks.js'
import { describeFaults, FaultSwitch, NO_FAULTS } from '../../simulator/faults.js'
import type { Message } from '../../simulator/message.js'
import { simulatorForTest } from './carriers.js'

const WAIT = { timeout: 120_000, interval: 20 }
const SECRET = '0f'.repeat(32)

interface Call {
  path: string
  headers: IncomingHttpHeaders
  body: string
}

/** A gateway that records the callbacks and answers with the given status. */
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
  const { port: listening } = server.address() as AddressInfo
  return { base: `http://127.0.0.1:${listening}/callbacks/simulator`, port: listening, calls, server }
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
  notification: null,
  answer: '200',
  reports: [],
})

const switches = (faults: object = {}): FaultSwitch => {
  const set = new FaultSwitch(describeFaults({}))
  set.set({ ...NO_FAULTS, ...faults })
  return set
}

const delivered = (message: Message, more: Partial<CallbackReport> = {}): CallbackReport => ({
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
  vi.waitFor(() => expect(message.reports.map(({ state }) => state)).toEqual(states), WAIT)

describe('a callback', () => {
  test('a callback goes below the registered base, signed with its secret, and its answer is kept', async () => {
    const [callbacks, gateway, message] = [callbacksForTest(), await gatewayForTest(), newMessage()]
    callbacks.register({ base: gateway.base, secret: SECRET })
    const report = callbacks.send(delivered(message))
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

  test('a callback waits until a gateway registers', async () => {
    const [callbacks, gateway, message] = [callbacksForTest(), await gatewayForTest(), newMessage()]
    const report = callbacks.send(delivered(message))
    await vi.waitFor(() => expect(report.detail).toMatch(/^Nenhum gateway/), WAIT)
    callbacks.register({ base: gateway.base, secret: SECRET })
    await until(message, 'done')
    expect(gateway.calls.length).toBe(1)
  })

  test('a callback is retried while the gateway is down and after it answers 503 or 429', async () => {
    const [callbacks, message] = [callbacksForTest(), newMessage()]
    const first = await gatewayForTest()
    first.server.close()
    await once(first.server, 'close')
    callbacks.register({ base: first.base, secret: SECRET })
    const report = callbacks.send(delivered(message))
    await vi.waitFor(() => expect(report.detail).toContain('ECONNREFUSED'), WAIT)
    const answers = [503, 429]
    const second = await gatewayForTest(() => answers.shift() ?? 204, first.port)
    await until(message, 'done')
    expect(second.calls.length).toBe(3)
    expect(new Set(second.calls.map(({ body }) => body)).size).toBe(1)
  })

  test('a refused callback is not retried', async () => {
    const [callbacks, gateway, message] = [callbacksForTest(), await gatewayForTest(() => 401), newMessage()]
    callbacks.register({ base: gateway.base, secret: SECRET })
    callbacks.send(delivered(message))
    await until(message, 'refused')
    callbacks.send(delivered(message))
    await until(message, 'refused', 'refused')
    expect(gateway.calls.length).toBe(2)
  })

  test('a callback goes to the newest gateway that answers', async () => {
    const [callbacks, older, newer, message] = [callbacksForTest(), await gatewayForTest(), await gatewayForTest(), newMessage()]
    callbacks.register({ base: older.base, secret: SECRET })
    callbacks.register({ base: newer.base, secret: SECRET })
    callbacks.send(delivered(message))
    await until(message, 'done')
    expect([older.calls.length, newer.calls.length]).toEqual([0, 1])
    newer.server.close()
    await once(newer.server, 'close')
    callbacks.send(delivered(message))
    await until(message, 'done', 'done')
    expect(older.calls.length).toBe(1)
    expect(callbacks.bases).toEqual([newer.base, older.base])
    expect(callbacks.route).toEqual({ base: newer.base, secret: SECRET })
  })

  test('with duplicateReports a callback goes twice with the same bytes', async () => {
    const [callbacks, gateway, message] = [callbacksForTest(), await gatewayForTest(), newMessage()]
    callbacks.register({ base: gateway.base, secret: SECRET })
    callbacks.send(delivered(message, { faults: switches({ duplicateReports: true }) }))
    await until(message, 'done', 'done')
    expect(gateway.calls[0]!.body).toBe(gateway.calls[1]!.body)
  })

  test('with lateReportsMs a callback goes after a later one', async () => {
    const [callbacks, gateway, message] = [callbacksForTest(), await gatewayForTest(), newMessage()]
    callbacks.register({ base: gateway.base, secret: SECRET })
    const late = callbacks.send(delivered(message, { faults: switches({ lateReportsMs: 400 }) }))
    const prompt = callbacks.send(delivered(message))
    await vi.waitFor(() => expect(prompt.state).toBe('done'), WAIT)
    expect(late.state).toBe('waiting')
    await until(message, 'done', 'done')
    expect(gateway.calls.map(({ body }) => JSON.parse(body).id)).toEqual([prompt.id, late.id])
  })

  test('a callback outside the registered base is refused, and one that cannot be composed stops no other', async () => {
    const [callbacks, gateway, stranger, message] = [
      callbacksForTest(),
      await gatewayForTest(),
      await gatewayForTest(),
      newMessage(),
    ]
    callbacks.register({ base: gateway.base, secret: SECRET })
    const to = (target: string): Partial<CallbackReport> => ({ compose: () => ({ to: target, headers: {}, body: '' }) })
    const outside = ['/../x', `${stranger.base}/sms`, `${gateway.base}-x/sms`, 'http://192.0.2.1/callbacks/simulator', 'x']
    for (const target of outside) callbacks.send(delivered(message, to(target)))
    const broken = (): never => {
      throw new Error('sem assinatura')
    }
    callbacks.send(delivered(message, { compose: broken }))
    callbacks.send(delivered(message, to(`${gateway.base}/sms?id=1`)))
    await until(message, ...outside.map(() => 'refused'), 'refused', 'done')
    expect(message.reports[0]!.detail).toContain('fora do que o gateway registrou')
    expect(message.reports.at(-2)!.detail).toBe('sem assinatura')
    expect(gateway.calls.map(({ path }) => path)).toEqual(['/callbacks/simulator/sms?id=1'])
    expect(stranger.calls).toEqual([])
  })
})

describe('PUT /simulator/routes', () => {
  const base = 'http://127.0.0.1:8080/callbacks/simulator'

  test('callbacks and bounces are registered together or alone, and the secret is never shown', async () => {
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

  test('a wrong member is refused by name and nothing is registered', async () => {
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
