import fastify from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { addBodyParser, LARGE_BODY } from '../../src/http/body.js'
import { handleError } from '../../src/http/errors.js'
import { type Answer, request } from '../support/requests.js'

/** A server that keeps every request until the test lets it answer, with a small budget for bodies. */
async function startServer(budgetBytes: number, maxWaitMs: number) {
  const arrived: { size: number; answer(): void }[] = []
  const app = fastify({ bodyLimit: 100 * LARGE_BODY, forceCloseConnections: true })
  app.setErrorHandler(handleError)
  addBodyParser(app, { budgetBytes, maxWaitMs })
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
  return {
    post: (bytes: number, signal?: AbortSignal): Promise<Answer> =>
      signal === undefined
        ? request(url, { method: 'POST', body: Buffer.alloc(bytes) })
        : fetch(url, { method: 'POST', body: Buffer.alloc(bytes), headers: { 'content-type': 'application/json' }, signal }).then(
            ({ status, headers }) => ({ status, headers, body: null }),
          ),
    /** The next request that reached its handler. */
    next: async () => {
      await expect.poll(() => arrived.length).toBeGreaterThan(0)
      return arrived.shift()!
    },
  }
}

test('a body is held until its request is answered; who waits in vain is 503 with Retry-After', async () => {
  const server = await startServer(1_000, 50)
  const first = server.post(600)
  const held = await server.next()
  const refused = await server.post(600)
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5'])
  held.answer()
  expect((await first).status).toBe(200)
  const second = server.post(600)
  ;(await server.next()).answer()
  expect((await second).status).toBe(200)
})

test('a body that waits gets its turn when another is answered', async () => {
  const server = await startServer(1_000, 30_000)
  const first = server.post(600)
  const held = await server.next()
  const second = server.post(700)
  // A smaller one passes by, so the second did not fail to arrive: it waits.
  const third = server.post(300)
  const small = await server.next()
  expect(small.size).toBe(300)
  small.answer()
  await third
  held.answer()
  await first
  const turn = await server.next()
  expect(turn.size).toBe(700)
  turn.answer()
  expect((await second).status).toBe(200)
})

test('those who waited in vain give nothing back that they never had', async () => {
  const server = await startServer(1_000, 20)
  const first = server.post(600)
  const held = await server.next()
  for (let round = 0; round < 3; round++) expect((await server.post(600)).status).toBe(503)
  held.answer()
  await first
})

test('a sender who goes away while it waits keeps nothing', async () => {
  const server = await startServer(1_000, 30_000)
  const first = server.post(600)
  const held = await server.next()
  const leaver = new AbortController()
  const gone = server.post(600, leaver.signal).catch(() => 'gone')
  // Whatever came before it on the same budget has been looked at by then.
  const small = server.post(100)
  ;(await server.next()).answer()
  await small
  leaver.abort()
  expect(await gone).toBe('gone')
  held.answer()
  await first
  // Whether it was noticed in time or its request was still handled: afterwards all of the budget is there.
  const whole = server.post(1_000)
  for (let next = await server.next(); ; next = await server.next()) {
    next.answer()
    if (next.size === 1_000) break
  }
  expect((await whole).status).toBe(200)
  const again = server.post(1_000)
  ;(await server.next()).answer()
  expect((await again).status).toBe(200)
})

test('large bodies leave a quarter of the budget to small ones', async () => {
  const server = await startServer(8 * LARGE_BODY, 50)
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
  const server = await startServer(1_000, 50)
  const first = server.post(5_000)
  const held = await server.next()
  expect((await server.post(1)).status).toBe(503)
  held.answer()
  expect((await first).body).toEqual({ size: 5_000 })
})
