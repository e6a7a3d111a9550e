import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parseRange } from '../../src/domain/access/address-range.js'
import { NoResponse, type Outbound, type OutboundOptions, openOutbound } from '../../src/webhooks/outbound.js'
import { type Received, receiverForTest } from '../support/gateway/receiver.js'
import { selfSigned } from '../support/programs/certificate.js'

/** Posting to whoever a user named: which connections are never made, and how little of an answer is ever taken. */
function open(options: Partial<OutboundOptions> = {}): Outbound {
  const outbound = openOutbound({ allowed: [], loopback: true, timeoutMs: 1_500, ...options })
  onTestFinished(() => outbound.close())
  return outbound
}

const post = (outbound: Outbound, url: string) => outbound.request('POST', url, { 'content-type': 'application/json' }, '{}')
const reason = (sent: Promise<unknown>): Promise<string> =>
  sent.then(
    () => 'sent',
    error => {
      expect(error).toBeInstanceOf(NoResponse)
      return (error as Error).message
    },
  )

/** A server of bytes: says what a test gives it, once something was received. */
async function rawServer(onData: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('data', () => onData(socket))
  }).listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

async function tlsServer(names: string[]): Promise<{ port: number; cert: string; got: Received[] }> {
  const { key, cert } = selfSigned(names)
  const got: Received[] = []
  const server = createTlsServer({ key, cert }, (request, response) => {
    got.push({ path: request.url!, headers: request.headers as Record<string, string>, body: '', json: {} })
    response.end('ok')
  }).listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, cert, got }
}

describe('which connections are made', () => {
  test.each([
    ['127.0.0.1', false],
    ['10.0.0.7', true],
    ['169.254.169.254', true],
    ['100.64.0.1', true],
    ['::1', false],
    ['::ffff:169.254.169.254', true],
    ['64:ff9b::a00:7', true],
    ['2002:7f00:1::', false],
    ['fd00::1', true],
    ['fe80::1', true],
    ['224.0.0.1', true],
    ['0.0.0.0', true],
  ])('a name that resolves to %s is refused before any connection', async (address, loopback) => {
    const outbound = open({ loopback, resolve: async () => [{ address, family: address.includes(':') ? 6 : 4 }] })
    expect(await reason(post(outbound, 'https://interno.example/'))).toContain('não é um endereço público')
  })

  test('one private address among public ones is enough to refuse', async () => {
    const resolve = async () => ['93.184.216.34', '10.0.0.1'].map(address => ({ address, family: 4 }))
    expect(await reason(post(open({ resolve }), 'https://misto.example/'))).toContain('10.0.0.1')
  })

  test('a name that changes its address between two connections is checked at each', async () => {
    const { port, cert, got } = await tlsServer(['muda.example'])
    const answers = ['127.0.0.1', '169.254.169.254']
    let asked = 0
    const resolve = async () => [{ address: answers[asked++]!, family: 4 }]
    const allowed = [parseRange('127.0.0.0/8')]
    const first = open({ loopback: false, allowed, resolve, ca: cert })
    expect((await post(first, `https://muda.example:${port}/a`)).status).toBe(200)
    await first.close()
    expect(await reason(post(open({ loopback: false, allowed, resolve, ca: cert }), `https://muda.example:${port}/b`))).toContain(
      '169.254.169.254',
    )
    expect(got.map(({ path, headers }) => [path, headers.host])).toEqual([['/a', `muda.example:${port}`]])
    // Each connection asked once, and went to what was checked: there is no second lookup to differ from the first.
    expect(asked).toBe(2)
  })

  test('where IPv6 does not work, the error of IPv4 is reported', async () => {
    const resolve = async () => [
      { address: '2001:db8::1', family: 6 },
      { address: '127.0.0.1', family: 4 },
    ]
    const allowed = ['2001:db8::/32', '127.0.0.1'].map(parseRange)
    expect(await reason(post(open({ allowed, resolve }), 'https://dois.example:1/'))).toBe('Conexão recusada pelo servidor.')
  })

  test('an address that is written out is checked too', async () => {
    expect(await reason(post(open({ loopback: false }), 'https://127.0.0.1:1/'))).toContain('não é um endereço público')
    expect(await reason(post(open(), 'https://[::ffff:a9fe:a9fe]/'))).toContain('não é um endereço público')
  })

  test('without TLS only this machine is called, whatever its name says', async () => {
    const resolve = async () => [{ address: '93.184.216.34', family: 4 }]
    expect(await reason(post(open({ resolve }), 'http://localhost:1/'))).toContain('só pode ser chamado por https')
  })

  test('an allow-listed range is let through, over TLS that is verified', async () => {
    const { port, cert } = await tlsServer(['intranet.example'])
    const resolve = async () => [{ address: '127.0.0.1', family: 4 }]
    const options = { loopback: false, allowed: [parseRange('127.0.0.1')], resolve }
    expect((await post(open({ ...options, ca: cert }), `https://intranet.example:${port}/`)).status).toBe(200)
    expect(await reason(post(open(options), `https://intranet.example:${port}/`))).toContain('autoridade conhecida')
    expect(await reason(post(open({ ...options, ca: cert }), `https://outro.example:${port}/`))).toContain('outro nome')
  })

  test('a name that does not exist, or has no address, says so', async () => {
    const missing = Object.assign(new Error('not found'), { code: 'ENOTFOUND' })
    expect(await reason(post(open({ resolve: () => Promise.reject(missing) }), 'https://nada.example/'))).toBe(
      'O nome não existe no DNS.',
    )
    expect(await reason(post(open({ resolve: async () => [] }), 'https://nada.example/'))).toContain('não tem endereço')
  })
})

describe('what is taken of an answer', () => {
  test('a redirect is an answer like any other', async () => {
    const receiver = await receiverForTest((_, response) =>
      response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data' }).end(),
    )
    expect((await post(open(), receiver.url)).status).toBe(302)
    expect(receiver.got).toHaveLength(1)
  })

  test('an endless body is cut: its status counts, its beginning is kept', async () => {
    let written = 0
    const url = await rawServer(socket => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n')
      const more = (): void => {
        while (!socket.destroyed && written < 100_000_000) {
          written += 65_536
          if (!socket.write('x'.repeat(65_536))) return void socket.once('drain', more)
        }
      }
      more()
    })
    const reply = await post(open(), url)
    expect(reply.status).toBe(200)
    expect(reply.body.length).toBe(4_096)
    expect(written).toBeLessThan(20_000_000)
  })

  test('headers that never end are refused', async () => {
    const url = await rawServer(socket => socket.write(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`))
    expect(await reason(post(open(), url))).toBe('A resposta tem cabeçalhos grandes demais.')
  })

  test('garbage, a reset and silence are failures with a reason', async () => {
    expect(await reason(post(open(), await rawServer(socket => socket.end('\x00\x01 not http at all\r\n\r\n'))))).toBe(
      'A resposta não é HTTP.',
    )
    expect(await reason(post(open(), await rawServer(socket => socket.resetAndDestroy())))).toBe(
      'O servidor fechou a conexão sem responder.',
    )
    expect(await reason(post(open({ timeoutMs: 300 }), await rawServer(() => {})))).toBe('Sem resposta em 0.3 s.')
  })

  test('a server that sends its headers byte by byte does not get more time', async () => {
    const url = await rawServer(socket => {
      const text = `HTTP/1.1 200 OK\r\nx-slow: ${'y'.repeat(1_000)}\r\n\r\n`
      let at = 0
      const drip = setInterval(() => (socket.destroyed ? clearInterval(drip) : socket.write(text[at++] ?? '')), 20)
      socket.once('close', () => clearInterval(drip))
    })
    // With more time for each byte it would be a 200 in the end.
    expect(await reason(post(open({ timeoutMs: 500 }), url))).toContain('Sem resposta')
  })

  test('once the status is there, a body that hangs does not turn it into a failure', async () => {
    const url = await rawServer(socket => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc'))
    const reply = await post(open({ timeoutMs: 400 }), url)
    expect([reply.status, reply.body.toString()]).toEqual([200, 'abc'])
  })

  test('connections are used again', async () => {
    let connections = 0
    const receiver = await receiverForTest((_, response, request) => {
      if (!('counted' in request.socket)) {
        connections++
        Object.assign(request.socket, { counted: true })
      }
      response.end('ok')
    })
    const outbound = open()
    for (let n = 0; n < 10; n++) await post(outbound, receiver.url)
    // The second one is opened when a request comes before the first connection is known to be free again.
    expect(connections).toBeLessThanOrEqual(2)
  })
})
