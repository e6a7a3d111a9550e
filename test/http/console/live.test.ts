import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import fastify from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { addLive } from '../../../src/http/console/live.js'
import { handleError } from '../../../src/http/errors.js'
import type { LiveChange } from '../../../src/store/console/live.js'
import type { SignedIn } from '../../../src/store/console/sessions.js'
import type { Pool } from '../../../src/store/postgres.js'
import { deferred } from '../../support/deferred.js'

/** Streams to readers that do not read, over changes and sessions that a test makes up. */
async function start(changesFor: (streams: readonly ServerResponse[]) => LiveChange[] | Promise<LiveChange[]> = () => []) {
  const streams: ServerResponse[] = []
  let isAlive = true
  let rounds = 0
  const pool = { query: async () => ({ rows: [], rowCount: isAlive ? 1 : 0 }) } as unknown as Pool
  const readList = async () => (rounds++ === 0 ? '0' : changesFor(streams)) as never
  const app = fastify({ return503OnClosing: false })
  app.setErrorHandler(handleError)
  app.addHook('onRequest', async (request, reply) => {
    request.operator = { id: request.headers['x-person'] ?? 'ana', account: null, session: 's' } as SignedIn
    streams.push(reply.raw)
  })
  addLive(app, { pool, readList, everyMs: 0, aliveEveryMs: 0 })
  await app.listen({ port: 0, host: '127.0.0.1' })
  onTestFinished(async () => {
    app.server.closeAllConnections()
    await app.close()
  })
  const { port } = app.server.address() as AddressInfo
  return {
    streams,
    close: () => app.close(),
    endSession: () => {
      isAlive = false
    },
    /** Returns the status of the answer, and reads nothing more. */
    async open(person = 'ana'): Promise<number> {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => {})
      onTestFinished(() => void socket.destroy())
      socket.write(`GET /console/api/live HTTP/1.1\r\nhost: x\r\nx-person: ${person}\r\n\r\n`)
      await once(socket, 'readable')
      return Number(String(socket.read(12)).slice(9))
    },
  }
}

const change = (): LiveChange => ({ transactionId: '1', notification: 'n'.repeat(40_000), account: 'a', mode: 'live' })

test('a stream is closed before much is kept for a reader that does not read', async () => {
  let most = 0
  const { open, streams } = await start(([stream]) => {
    most = Math.max(most, stream?.writableLength ?? 0)
    return [change()]
  })
  await open()
  await expect.poll(() => streams[0]!.destroyed).toBe(true)
  expect(most).toBeLessThan(128 * 1_024)
})

test('a stream with unread bytes is closed when its session has ended', async () => {
  const { open, streams, endSession } = await start(([stream]) => (stream?.writableLength === 0 ? [change()] : []))
  await open()
  await expect.poll(() => streams[0]!.writableLength).toBeGreaterThan(0)
  expect(streams[0]!.destroyed).toBe(false)
  endSession()
  await expect.poll(() => streams[0]!.destroyed).toBe(true)
})

test('while the server stops, no stream is opened that nobody would end', async () => {
  const changes = deferred<LiveChange[]>()
  const { open, close, streams } = await start(() => changes.promise)
  await open()
  const closed = close()
  await expect.poll(() => streams[0]!.writableEnded).toBe(true)
  expect(await open()).toBe(503)
  changes.resolve([])
  await closed
})

test('a person has 32 streams at once; one more is refused, and those of others are not', async () => {
  const { open, streams } = await start()
  for (let count = 0; count < 32; count++) expect(await open()).toBe(200)
  expect(await open()).toBe(429)
  expect(await open('bia')).toBe(200)
  streams[0]!.destroy()
  await expect.poll(() => open()).toBe(200)
})
