import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import fastify from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { parseRange } from '../../src/domain/access/address-range.js'
import { addBodyParser, type BodyLimits, LARGE_BODY } from '../../src/http/body.js'
import { handleError } from '../../src/http/errors.js'
import { type Answer, request } from '../support/gateway/requests.js'

const PATIENT = { waiting: 1_000, maxWaitMs: 30_000, slowest: { bytesPerSecond: 1, graceMs: 60_000 } }
const ample = { bytes: 1_000 * LARGE_BODY, share: 1_000 * LARGE_BODY, ...PATIENT }

/** A server that keeps every request until the test lets it answer. The header "account" takes the place of a token. */
async function startServer(limits: Partial<Pick<BodyLimits, 'accounts' | 'strangers'>>) {
  const arrived: { size: number; answer(): void }[] = []
  const app = fastify({ bodyLimit: 100 * LARGE_BODY, forceCloseConnections: true })
  app.setErrorHandler(handleError)
  app.addHook('onRequest', async request => {
    const { account } = request.headers
    if (account !== undefined) request.caller = { account } as typeof request.caller
  })
  addBodyParser(app, { accounts: ample, strangers: ample, ...limits, trustedProxies: [parseRange('127.0.0.0/8')] })
  app.post(
    '/',
    { config: { rawBody: true } },
    ({ body }) =>
      new Promise(resolve =>
        arrived.push({ size: (body as Buffer).length, answer: () => resolve({ size: (body as Buffer).length }) }),
      ),
  )
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(async () => {
    for (const { answer } of arrived) answer()
    await app.close()
  })
  const { port } = new URL(url)
  return {
    post: (bytes: number, headers: Record<string, string> = { account: 'a' }): Promise<Answer> =>
      request(url, { method: 'POST', body: Buffer.alloc(bytes), headers }),
    /** Declares more than it sends, and sends no more. */
    async stall(declared: number, sent: number, { path = '/', headers = { account: 'a' } as Record<string, string> } = {}) {
      const socket = connect(Number(port), '127.0.0.1')
      onTestFinished(() => void socket.destroy())
      const lines = Object.entries({ ...headers, 'content-type': 'application/json', 'content-length': String(declared) })
      socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`)
      await new Promise(written => socket.write(Buffer.alloc(sent), written))
      return { socket, ...answerOn(socket) }
    },
    /** The next request that reached its handler. */
    next: async () => {
      await expect.poll(() => arrived.length, { timeout: 20_000 }).toBeGreaterThan(0)
      return arrived.shift()!
    },
  }
}

function answerOn(socket: Socket) {
  let text = ''
  socket.on('data', chunk => {
    text += chunk.toString('latin1')
  })
  socket.on('error', () => {})
  return { closed: once(socket, 'close'), answered: () => text }
}

test('a body costs the bytes that have arrived, not those that it declares', async () => {
  const server = await startServer({ accounts: { ...ample, bytes: 4 * LARGE_BODY, share: 4 * LARGE_BODY, maxWaitMs: 50 } })
  // In all they declare a hundred times the budget.
  await Promise.all(Array.from({ length: 100 }, () => server.stall(4 * LARGE_BODY, 1)))
  const sent = server.post(2 * LARGE_BODY)
  ;(await server.next()).answer()
  expect((await sent).status).toBe(200)
})

test('a body is held until its request is answered; who waits in vain is 503 with Retry-After', async () => {
  const server = await startServer({ accounts: { ...ample, bytes: 1_000, share: 1_000, maxWaitMs: 50 } })
  const first = server.post(1_200)
  const held = await server.next()
  const refused = await server.post(600)
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5'])
  held.answer()
  expect((await first).status).toBe(200)
  // Whoever waited in vain gave nothing back that it never had.
  const second = server.post(1_200)
  const again = await server.next()
  expect((await server.post(600)).status).toBe(503)
  again.answer()
  expect((await second).status).toBe(200)
})

test('a body that waits gets its turn when another is answered', async () => {
  const server = await startServer({ accounts: { ...ample, bytes: 1_000, share: 1_000 } })
  const first = server.post(1_200)
  const held = await server.next()
  const second = server.post(700)
  held.answer()
  await first
  const turn = await server.next()
  expect(turn.size).toBe(700)
  turn.answer()
  expect((await second).status).toBe(200)
})

test('bodies that arrive together and have no room together all arrive, one after the other', async () => {
  const server = await startServer({ accounts: { ...ample, bytes: 4 * LARGE_BODY, share: 4 * LARGE_BODY } })
  const sends = Array.from({ length: 8 }, () => server.post(3 * LARGE_BODY))
  for (let n = 0; n < 8; n++) (await server.next()).answer()
  expect((await Promise.all(sends)).map(({ status }) => status)).toEqual(Array(8).fill(200))
})

test('small bodies have a quarter of the budget for themselves', async () => {
  const server = await startServer({ accounts: { ...ample, bytes: 8 * LARGE_BODY, share: 8 * LARGE_BODY, maxWaitMs: 50 } })
  const first = server.post(5 * LARGE_BODY)
  const held = await server.next()
  expect((await server.post(2 * LARGE_BODY)).status).toBe(503)
  const small = server.post(LARGE_BODY)
  ;(await server.next()).answer()
  expect((await small).status).toBe(200)
  held.answer()
  await first
})

test('a body larger than the whole budget passes alone', async () => {
  const server = await startServer({ accounts: { ...ample, bytes: 1_000, share: 1_000, maxWaitMs: 50 } })
  const first = server.post(5 * LARGE_BODY)
  const held = await server.next()
  expect((await server.post(2 * LARGE_BODY)).status).toBe(503)
  held.answer()
  expect((await first).body).toEqual({ size: 5 * LARGE_BODY })
})

test('an account has its share: what it holds keeps nobody else waiting', async () => {
  const server = await startServer({ accounts: { ...ample, bytes: 8 * LARGE_BODY, share: LARGE_BODY, maxWaitMs: 50 } })
  const greedy = server.post(2 * LARGE_BODY, { account: 'greedy' })
  const held = await server.next()
  expect((await server.post(2 * LARGE_BODY, { account: 'greedy' })).status).toBe(503)
  // Its own small bodies do not wait for its large ones either.
  const small = server.post(1_000, { account: 'greedy' })
  ;(await server.next()).answer()
  expect((await small).status).toBe(200)
  const other = server.post(2 * LARGE_BODY, { account: 'other' })
  ;(await server.next()).answer()
  expect((await other).status).toBe(200)
  held.answer()
  await greedy
})

test('strangers have a budget of their own, and each address its share of it', async () => {
  const server = await startServer({ strangers: { ...ample, bytes: 4 * LARGE_BODY, share: LARGE_BODY, maxWaitMs: 50 } })
  const from = (address: string) => ({ 'x-forwarded-for': address })
  const greedy = server.post(2 * LARGE_BODY, from('198.51.100.1'))
  const held = await server.next()
  expect((await server.post(2 * LARGE_BODY, from('198.51.100.1'))).status).toBe(503)
  // Another address has its own share, and accounts do not share with strangers at all.
  for (const headers of [from('198.51.100.2'), { account: 'a' }]) {
    const other = server.post(1_000, headers)
    ;(await server.next()).answer()
    expect((await other).status).toBe(200)
  }
  held.answer()
  await greedy
})

test('of the bodies of one holder only so many wait; one more is refused at once', async () => {
  const server = await startServer({ accounts: { ...ample, bytes: 1_000, share: 1_000, waiting: 1 } })
  const first = server.post(1_200)
  const held = await server.next()
  const outcomes = [server.post(10), server.post(20)]
  const [refused] = await Promise.all([Promise.race(outcomes)])
  expect(refused!.status).toBe(503)
  held.answer()
  await first
  ;(await server.next()).answer()
  expect((await Promise.all(outcomes)).map(({ status }) => status).toSorted()).toEqual([200, 503])
})

test('a sender who goes away gives back what it held', async () => {
  const server = await startServer({ accounts: { ...ample, bytes: 1_000, share: 1_000 } })
  const { socket } = await server.stall(5_000, 1_500)
  const { socket: waiting } = await server.stall(5_000, 1_500)
  const next = server.post(600)
  socket.destroy()
  waiting.destroy()
  ;(await server.next()).answer()
  expect((await next).status).toBe(200)
})

test('a sender that is too slow gets 408, and its connection is closed', async () => {
  const slowest = { bytesPerSecond: 1_000_000, graceMs: 0 }
  const server = await startServer({ accounts: { ...ample, slowest } })
  const stalled = await server.stall(5_000, 1)
  await expect.poll(stalled.answered, { timeout: 20_000 }).toMatch(/^HTTP\/1\.1 408 /)
  expect(stalled.answered()).toMatch(/connection: close/i)
  expect(stalled.answered()).toContain('demorou demais')
  stalled.socket.end()
  await stalled.closed
})

test('a stranger’s request to no route is answered before its body has arrived', async () => {
  const server = await startServer({})
  const { answered } = await server.stall(5_000, 1, { path: '/nowhere', headers: {} })
  await expect.poll(answered).toMatch(/^HTTP\/1\.1 404 /)
})
