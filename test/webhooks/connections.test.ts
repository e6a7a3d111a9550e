import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { ConnectionPool } from '../../src/webhooks/connection-pool.js'
import { NoResponse, type Outbound, openOutbound, TimedExchange } from '../../src/webhooks/outbound.js'

/** Connections to the servers of users: when one is used again, and that a request is never sent twice. */
function open(timeoutMs = 5_000): Outbound {
  const outbound = openOutbound({ allowed: [], loopback: true, timeoutMs })
  onTestFinished(() => outbound.close())
  return outbound
}

interface Peer {
  url: string
  /** For each connection, the requests in the order of their arrival. */
  requests: string[][]
  sockets: Socket[]
}

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

/** A server that answers each request with bytes, or does what it wants with the socket. */
async function peer(answer: (request: string, socket: Socket, connection: number) => string | undefined): Promise<Peer> {
  const requests: string[][] = []
  const sockets: Socket[] = []
  const server: Server = createServer(socket => {
    const connection = sockets.push(socket) - 1
    const own: string[] = []
    requests.push(own)
    let text = ''
    socket.on('error', () => {})
    socket.on('data', bytes => {
      text += bytes.toString()
      for (;;) {
        const [, length] = /content-length: (\d+)\r\n/.exec(text) ?? []
        const end = text.indexOf('\r\n\r\n') + 4 + Number(length)
        if (length === undefined || Buffer.byteLength(text) < end) return
        const request = Buffer.from(text).subarray(0, end).toString()
        text = Buffer.from(text).subarray(end).toString()
        own.push(request)
        const response = answer(request, socket, connection)
        if (response !== undefined) socket.write(response, 'latin1')
      }
    })
  }).listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/a?b=c`, requests, sockets }
}

const post = (outbound: Outbound, url: string, body = '{}', headers: Record<string, string> = {}) =>
  outbound.request('POST', url, headers, body)

const failure = (sent: Promise<unknown>): Promise<string> =>
  sent.then(
    () => 'sent',
    error => {
      expect(error).toBeInstanceOf(NoResponse)
      return (error as Error).message
    },
  )

const CLOSED = 'O servidor fechou a conexão sem responder.'
const closed = (socket: Socket): Promise<unknown> =>
  socket.destroyed ? Promise.resolve() : new Promise(resolve => socket.once('close', resolve))

test('a request has the length of its bytes, and the headers it was given', async () => {
  const { url, requests } = await peer(() => OK)
  const reply = await post(open(), url, '{"nome":"João €"}', { 'content-type': 'application/json' })
  expect([reply.status, reply.body.toString(), reply.headers['content-length']]).toEqual([200, 'ok', '2'])
  expect(requests[0]![0]!.split('\r\n')).toEqual([
    'POST /a?b=c HTTP/1.1',
    `host: ${new URL(url).host}`,
    'connection: keep-alive',
    'content-type: application/json',
    'content-length: 20',
    '',
    '{"nome":"João €"}',
  ])
})

test('a header that would begin another one is not sent', async () => {
  const { url, sockets } = await peer(() => OK)
  expect(await failure(post(open(), url, '{}', { 'x-a': 'b\r\nx-c: d' }))).toContain('x-a')
  expect(sockets).toHaveLength(0)
})

test('requests at once get each its own response, over as many connections as there are at once', async () => {
  const { url, requests } = await peer(request => {
    const body = request.split('\r\n\r\n')[1]!
    return `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
  })
  const outbound = open()
  let next = 0
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      while (next < 400) {
        const body = `{"n":${next++}}`
        expect((await post(outbound, url, body)).body.toString()).toBe(body)
      }
    }),
  )
  expect(requests.length).toBeLessThanOrEqual(8)
  expect(requests.flat()).toHaveLength(400)
})

test.each([
  ['says that it closes', 'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok'],
  ['speaks HTTP/1.0', 'HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok'],
  ['closes too soon for another request', 'HTTP/1.1 200 OK\r\nkeep-alive: timeout=2\r\ncontent-length: 2\r\n\r\nok'],
  ['sends more than its response', `${OK}HTTP/1.1 500 Forged\r\ncontent-length: 0\r\n\r\n`],
])('a server that %s gets the next request over another connection', async (_, answer) => {
  const { url, requests, sockets } = await peer(() => answer)
  const outbound = open()
  for (let n = 0; n < 3; n++) expect((await post(outbound, url)).status).toBe(200)
  expect(requests.map(({ length }) => length)).toEqual([1, 1, 1])
  await Promise.all(sockets.map(closed))
})

test('a response that nobody asked for is not taken for the one to the next request', async () => {
  const { url, sockets } = await peer((_, __, connection) => (connection === 0 ? OK : OK.replace('ok', 'no')))
  const outbound = open()
  await post(outbound, url)
  sockets[0]!.write('HTTP/1.1 500 Forged\r\ncontent-length: 0\r\n\r\n')
  await closed(sockets[0]!)
  expect((await post(outbound, url)).body.toString()).toBe('no')
})

test('a response without a length ends with its connection', async () => {
  const { url } = await peer((_, socket) => void socket.end('HTTP/1.1 200 OK\r\n\r\nuntil the end'))
  const outbound = open()
  for (let n = 0; n < 2; n++) expect((await post(outbound, url)).body.toString()).toBe('until the end')
})

test('a connection that the server closed while it was free is not used', async () => {
  const { url, requests, sockets } = await peer(() => OK)
  const outbound = open()
  await post(outbound, url)
  sockets[0]!.end()
  await closed(sockets[0]!)
  expect((await post(outbound, url)).status).toBe(200)
  expect(requests.map(({ length }) => length)).toEqual([1, 1])
})

test('a connection that the server closes right after its response is not used, although it said nothing of that', async () => {
  const { url, requests } = await peer((_, socket) => void socket.end(OK))
  const outbound = open()
  for (let n = 0; n < 20; n++) expect((await post(outbound, url)).status).toBe(200)
  expect(requests.every(({ length }) => length === 1)).toBe(true)
})

test.each([
  ['ends', (socket: Socket) => void socket.end()],
  ['resets', (socket: Socket) => void socket.resetAndDestroy()],
  ['breaks off the headers of', (socket: Socket) => void socket.end('HTTP/1.1 200 OK\r\ncontent-le')],
])('a request whose connection the server %s failed and is not sent again by itself', async (_, end) => {
  const { url, requests } = await peer((request, socket) => (request.includes('second') ? end(socket) : OK))
  const outbound = open()
  await post(outbound, url, 'first')
  expect(await failure(post(outbound, url, 'second'))).toBe(CLOSED)
  expect(requests.flat().filter(request => request.includes('second'))).toHaveLength(1)
  expect((await post(outbound, url, 'third')).status).toBe(200)
})

test('a body that breaks off keeps the status and what came of it', async () => {
  const { url } = await peer((_, socket) => void socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc'))
  const reply = await post(open(), url)
  expect([reply.status, reply.body.toString()]).toEqual([200, 'abc'])
})

test('chunks that make no sense after a status do not change the status', async () => {
  const { url, sockets } = await peer(() => 'HTTP/1.1 503 Busy\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\nzzz\r\n')
  const reply = await post(open(), url)
  expect([reply.status, reply.body.toString()]).toEqual([503, 'a'])
  await closed(sockets[0]!)
})

test('a response before the request was sent counts, and the rest of the request does not reach the next one', async () => {
  const sockets: Socket[] = []
  const server = createServer(socket => {
    sockets.push(socket)
    socket.on('error', () => {})
    socket.once('data', () => {
      socket.pause()
      socket.write('HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n')
    })
  }).listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const outbound = open()
  const large = 'x'.repeat(20_000_000)
  expect((await post(outbound, url, large)).status).toBe(413)
  expect((await post(outbound, url, large)).status).toBe(413)
  expect(sockets).toHaveLength(2)
})

test('a request that runs out of time ends its connection, and others go on', async () => {
  const { url, sockets } = await peer(request => (request.includes('silent') ? undefined : OK))
  const outbound = open(300)
  const silent = failure(post(outbound, url, 'silent'))
  expect((await post(outbound, url, 'other')).status).toBe(200)
  expect(await silent).toBe('Sem resposta em 0.3 s.')
  await closed(sockets[0]!)
  expect((await post(outbound, url, 'other')).status).toBe(200)
})

test('closing ends the requests under way and every connection', async () => {
  const { url, sockets } = await peer(request => (request.includes('silent') ? undefined : OK))
  const outbound = open()
  await post(outbound, url)
  const arrived = new Promise(resolve => sockets[0]!.once('data', resolve))
  const silent = failure(post(outbound, url, 'silent'))
  const connecting = failure(post(outbound, url, 'silent'))
  await arrived
  await outbound.close()
  expect(await silent).toContain('A conexão falhou')
  expect(await connecting).toContain('A conexão falhou')
  expect(await failure(post(outbound, url))).toContain('A conexão falhou')
  await Promise.all(sockets.map(closed))
})

test('free connections are closed after their time', async () => {
  const { url, sockets } = await peer(() => OK)
  let empty: () => void
  const emptied = new Promise<void>(resolve => {
    empty = resolve
  })
  const pool = new ConnectionPool({
    connect: done => {
      const socket: Socket = connect(Number(new URL(url).port), '127.0.0.1', () => done(null, socket))
    },
    idleMs: 30,
    onEmpty: () => empty(),
  })
  await new Promise((resolve, reject) =>
    pool.send(new TimedExchange('POST / HTTP/1.1\r\ncontent-length: 0\r\n\r\n', 5_000, resolve, reject)),
  )
  await closed(sockets[0]!)
  await emptied
})
