import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import fastify from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { type LargeResponseLimits, LargeResponses, sendInPieces } from '../../../src/http/recipient/large-responses.js'

/** More than the sockets of both sides take in together. */
const LARGE = Buffer.alloc(32 * 1_048_576, 'x')

async function serverWith(limits: Partial<LargeResponseLimits>) {
  const responses = new LargeResponses({
    atOnce: 1,
    waiting: 10,
    perAddress: { atOnce: 10, waiting: 10 },
    longestMs: 60_000,
    slowest: { bytesPerSecond: 1, graceMs: 60_000 },
    ...limits,
  })
  let made = 0
  let arrived = 0
  let failed = 0
  const app = fastify()
  app.addHook('onError', async () => void failed++)
  app.get('/:address', async (request, reply) => {
    arrived++
    await responses.send((request.params as { address: string }).address, reply, async () => {
      made++
      return sendInPieces(reply, LARGE)
    })
    return reply
  })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  onTestFinished(() => {
    app.server.closeAllConnections()
    return app.close()
  })
  /** Its head only; the body waits until it is read. */
  const ask = async (address: string): Promise<IncomingMessage> => {
    const asked = get(`${url}/${address}`)
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    response.on('error', () => {})
    return response
  }
  return { url, ask, made: () => made, arrived: () => arrived, failed: () => failed }
}

const sizeOf = async (response: IncomingMessage): Promise<number> => {
  let size = 0
  for await (const chunk of response) size += (chunk as Buffer).length
  return size
}

test('a place is held until the reader has everything, and only then the next answer is made', async () => {
  const { ask, made } = await serverWith({ waiting: 1 })
  const slow = await ask('10.0.0.1')
  const next = ask('10.0.0.2')
  // Whichever of the two came second found the queue full.
  const third = ask('10.0.0.3')
  const refused = await Promise.race([next, third])
  expect(refused.statusCode).not.toBe(200)
  expect(made()).toBe(1)
  expect(await sizeOf(slow)).toBe(LARGE.length)
  const served = (await next) === refused ? await third : await next
  expect(await sizeOf(served)).toBe(LARGE.length)
  expect(made()).toBe(2)
})

test('a reader who goes away makes room, and one who takes too long is cut off', async () => {
  const { ask } = await serverWith({ longestMs: 1_500 })
  const leaving = await ask('10.0.0.1')
  const next = ask('10.0.0.2')
  leaving.destroy()
  const tooSlow = await next
  expect((await ask('10.0.0.3')).statusCode).toBe(200)
  await expect(sizeOf(tooSlow)).rejects.toThrow()
})

test('for a reader who left the queue nothing is made, and nothing failed', async () => {
  const { url, ask, made, arrived, failed } = await serverWith({})
  const slow = await ask('10.0.0.1')
  const left = get(`${url}/10.0.0.2`).on('error', () => {})
  await expect.poll(arrived).toBe(2)
  left.destroy()
  const last = ask('10.0.0.3')
  await expect.poll(arrived).toBe(3)
  expect(await sizeOf(slow)).toBe(LARGE.length)
  expect(await sizeOf(await last)).toBe(LARGE.length)
  expect([made(), failed()]).toEqual([2, 0])
})

test('one address has its own bound, and leaves places for others', async () => {
  const { ask, made } = await serverWith({ atOnce: 10, perAddress: { atOnce: 1, waiting: 0 } })
  const slow = await ask('2001:db8::1')
  expect((await ask('2001:db8::2')).statusCode).not.toBe(200)
  expect(made()).toBe(1)
  expect(await sizeOf(await ask('2001:db8:0:1::1'))).toBe(LARGE.length)
  expect(await sizeOf(slow)).toBe(LARGE.length)
})

test('who lags behind is out after the grace, and who keeps pace gets everything', async () => {
  // The sockets of both sides take in megabytes before a reader that stands still is noticed.
  const slowest = { bytesPerSecond: 4 * 1_048_576, graceMs: 2_000 }
  const { ask, failed } = await serverWith({ slowest })
  const still = await ask('10.0.0.1')
  const steady = await ask('10.0.0.2')
  expect(await sizeOf(steady)).toBe(LARGE.length)
  await expect(sizeOf(still)).rejects.toThrow()
  expect(failed()).toBe(0)
})

test('a few addresses that read slowly do not keep others out, however many connections they open', async () => {
  const slowest = { bytesPerSecond: 4 * 1_048_576, graceMs: 200 }
  const { url, ask, arrived } = await serverWith({ atOnce: 4, perAddress: { atOnce: 2, waiting: 16 }, slowest })
  const hostile = Array.from({ length: 24 }, (_, n) =>
    get(`${url}/10.0.0.${n % 4}`, response => response.pause()).on('error', () => {}),
  )
  onTestFinished(() => hostile.forEach(connection => void connection.destroy()))
  await expect.poll(arrived).toBe(24)
  const honest = await ask('10.1.0.1')
  expect(honest.statusCode).toBe(200)
  expect(await sizeOf(honest)).toBe(LARGE.length)
})
