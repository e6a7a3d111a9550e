import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { parseRange } from '../../src/domain/access/address-range.js'
import { limitConnections } from '../../src/http/connections.js'

/** A server that answers no request, and three connections at most of an address. */
async function start(trustedProxies: string[] = []) {
  const server = createServer(() => {})
  limitConnections(server, { perAddress: 3, trustedProxies: trustedProxies.map(parseRange) })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  let requests = 0
  server.on('request', () => requests++)
  return {
    async open(): Promise<Socket> {
      const accepted = once(server, 'connection')
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
      onTestFinished(() => void socket.destroy())
      socket.on('error', () => {})
      await accepted
      return socket
    },
    async ask(socket: Socket): Promise<void> {
      const before = requests
      socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
      await expect.poll(() => requests).toBe(before + 1)
    },
  }
}

test('one connection more than an address may have takes the place of the longest idle one', async () => {
  const { open, ask } = await start()
  const [busy, idle, newer] = [await open(), await open(), await open()]
  await ask(busy)
  const closed = once(idle, 'close')
  const fourth = await open()
  await closed
  await ask(fourth)
  expect([busy.destroyed, newer.destroyed]).toEqual([false, false])
})

test('where none is idle the new connection is closed', async () => {
  const { open, ask } = await start()
  for (const socket of [await open(), await open(), await open()]) await ask(socket)
  const fourth = await open()
  if (!fourth.destroyed) await once(fourth, 'close')
})

test('a proxy holds the connections of many clients', async () => {
  const { open, ask } = await start(['127.0.0.0/8'])
  const sockets = [await open(), await open(), await open(), await open(), await open()]
  for (const socket of sockets) await ask(socket)
  expect(sockets.some(({ destroyed }) => destroyed)).toBe(false)
})
