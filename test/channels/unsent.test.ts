import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createServer as createSecure } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { neverLeft } from '../../src/channels/unsent.js'
import { selfSigned } from '../support/certificate.js'

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

const failureOf = (url: string): Promise<Error> =>
  fetch(url, { method: 'POST', body: 'x', signal: AbortSignal.timeout(10_000) }).then(
    () => Promise.reject(new Error('it was answered')),
    (error: Error) => error,
  )

async function closedPort(): Promise<number> {
  const server = createServer()
  const port = await listen(server)
  server.close()
  await once(server, 'close')
  return port
}

test('a port on which nobody listens, also at each of several addresses', async () => {
  const refused = await failureOf(`http://127.0.0.1:${await closedPort()}/`)
  expect(neverLeft(refused)).toBe(true)
  const everywhere = Object.assign(new AggregateError([refused.cause, refused.cause]), { code: 'ECONNREFUSED' })
  expect(neverLeft(new TypeError('fetch failed', { cause: everywhere }))).toBe(true)
  const somewhere = new AggregateError([refused.cause, Object.assign(new Error('read'), { code: 'ECONNRESET', syscall: 'read' })])
  expect(neverLeft(new TypeError('fetch failed', { cause: somewhere }))).toBe(false)
})

test('a certificate that nobody vouches for', async () => {
  const port = await listen(createSecure(selfSigned(['127.0.0.1']), () => {}))
  expect(neverLeft(await failureOf(`https://127.0.0.1:${port}/`))).toBe(true)
})

test('a server that speaks no TLS, or hangs up before it does', async () => {
  const plain = await listen(createServer(socket => void socket.on('error', () => {}).write('HTTP/1.1 400 Bad Request\r\n\r\n')))
  expect(neverLeft(await failureOf(`https://127.0.0.1:${plain}/`))).toBe(true)
  const gone = await listen(createServer(socket => void socket.end()))
  expect(neverLeft(await failureOf(`https://127.0.0.1:${gone}/`))).toBe(true)
})

test('not: a request that was read and never answered', async () => {
  const hangUp = (socket: Socket): void => void socket.on('error', () => {}).once('data', () => socket.destroy())
  expect(neverLeft(await failureOf(`http://127.0.0.1:${await listen(createServer(hangUp))}/`))).toBe(false)
})
