import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { closeWhenDone } from '../../src/http/arrivals.js'
import { LONGEST_TURN_WAIT_MS } from '../../src/http/uploads.js'
import { queryValue } from '../../src/store/postgres.js'
import { createAccount, gatewayForFile, gatewayForTest, startGateway } from '../support/gateway/gateway.js'

/** How long a request may take to arrive, while the server runs and when it stops. */
const { database } = await gatewayForFile()
const { pool } = database

test.each([
  [{ BULK_MAX_MIB: '64' }, 256_000],
  [{ BULK_MAX_MIB: '2048' }, 8_192_000],
  [{ BULK_MAX_MIB: '1', MAX_BODY_MIB: '512' }, 2_048_000],
  [{ BULK_MAX_MIB: '1', MAX_BODY_MIB: '1' }, 120_000],
])('with %o the largest body has the time of a line of 256 KiB/s, after the longest wait for its turn', async (env, ms) => {
  const { app } = await gatewayForTest(pool, env)
  expect(app.server.requestTimeout).toBe(ms + LONGEST_TURN_WAIT_MS)
  expect(app.server.headersTimeout).toBe(15_000)
})

const FILE = 'nome;email\nMaria Souza;maria@example.com\n'

/** Begins to send a file, and stops in the middle of it. */
async function stallUpload(url: string): Promise<{ socket: Socket; answered: () => string }> {
  const { token } = await createAccount(pool)
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  onTestFinished(() => void socket.destroy())
  let text = ''
  socket.on('error', () => {})
  socket.setEncoding('utf8').on('data', chunk => {
    text += chunk
  })
  const head = [`POST /gw/bulk HTTP/1.1`, 'host: x', `authorization: ${token}`, 'content-type: text/csv']
  socket.write(`${[...head, `content-length: ${FILE.length}`].join('\r\n')}\r\n\r\n${FILE.slice(0, 20)}`)
  await expect.poll(receiving).toBe(1)
  return { socket, answered: () => text }
}

const receiving = () => queryValue<number>(pool, "select count(*) from bulk_batch where state = 'receiving'")

test('a stop does not wait without end for a file that has stopped arriving, and leaves nothing of it', async () => {
  const gateway = await startGateway(pool, {}, { stopMs: 1 })
  const { socket } = await stallUpload(gateway.url)
  await Promise.all([once(socket, 'close'), gateway.close()])
  await expect.poll(receiving).toBe(0)
})

test('a stop waits for a file that goes on arriving', async () => {
  const gateway = await startGateway(pool)
  const { socket, answered } = await stallUpload(gateway.url)
  const stopped = gateway.close()
  socket.write(FILE.slice(20))
  await stopped
  await expect.poll(answered).toMatch(/^HTTP\/1\.1 201 /)
  expect(await receiving()).toBe(0)
})

const REQUEST = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n'
const LONG_MS = 600_000

/** A server that answers as a test says, and one client of it that reads nothing until it is resumed. */
async function serve(answer: RequestListener, stopMs: number) {
  const server = createServer(answer)
  closeWhenDone(server, stopMs)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const accepted = once(server, 'connection')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  onTestFinished(() => {
    client.destroy()
    server.closeAllConnections()
  })
  client.on('error', () => {})
  let received = 0
  client.on('data', chunk => {
    received += chunk.length
  })
  client.pause()
  await accepted
  return {
    client,
    received: () => received,
    close: () => new Promise<void>(closed => void server.close(() => closed())),
  }
}

const SIZE = 32 * 1_048_576

test('an answer that is still being sent when the server stops arrives whole, and then its connection is closed', async () => {
  let response: ServerResponse | undefined
  const { client, close, received } = await serve((_, reply) => {
    response = reply.setHeader('content-length', SIZE)
    reply.end(Buffer.alloc(SIZE))
  }, LONG_MS)
  client.write(REQUEST)
  await expect.poll(() => response?.writableEnded).toBe(true)
  expect(response!.writableFinished).toBe(false)
  const closed = close()
  client.resume()
  await closed
  await expect.poll(received).toBeGreaterThan(SIZE)
})

test('a stop does not wait without end for an answer that nobody reads', async () => {
  let response: ServerResponse | undefined
  const endless = function* () {
    for (;;) yield Buffer.alloc(65_536)
  }
  const { client, close } = await serve((_, reply) => {
    response = reply
    Readable.from(endless(), { objectMode: false }).pipe(reply)
  }, 1)
  client.write(REQUEST)
  await expect.poll(() => response?.writableNeedDrain).toBe(true)
  await close()
})

test('a stop does not wait without end for headers that have stopped arriving', async () => {
  const { client, close } = await serve(() => {}, 1)
  client.write(REQUEST.slice(0, 20))
  await close()
})

test('a stop closes a connection that is kept open for further requests, and one that was never used', async () => {
  const used = await serve((_, reply) => reply.end('ok'), LONG_MS)
  used.client.resume().write(REQUEST)
  await expect.poll(used.received).toBeGreaterThan(0)
  const unused = await serve(() => {}, LONG_MS)
  await Promise.all([used.close(), unused.close()])
})

test('a stop waits for an answer that is still being made, and closes its connection after it', async () => {
  let response: ServerResponse | undefined
  const { client, close, received } = await serve((_, reply) => {
    response = reply
  }, LONG_MS)
  client.resume().write(REQUEST)
  await expect.poll(() => response).toBeDefined()
  const closed = close()
  response!.end('ok')
  await closed
  await expect.poll(received).toBeGreaterThan(0)
})
