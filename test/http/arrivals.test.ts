import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
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
])('with %o the largest body has the time of a line of 256 KiB/s', async (env, ms) => {
  const { app } = await gatewayForTest(pool, env)
  expect(app.server.requestTimeout).toBe(ms)
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
