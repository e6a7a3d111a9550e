import { once } from 'node:events'
import { createServer as createHttp, type RequestListener } from 'node:http'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { createServer as createSecure } from 'node:tls'
import { Worker } from 'node:worker_threads'
import { describe, expect, onTestFinished, test } from 'vitest'
import { CarrierHttp, type CarrierHttpOptions, objectOf, textOf } from '../../src/channels/carrier-http.js'
import { SendError } from '../../src/channels/provider.js'
import { selfSigned } from '../support/programs/certificate.js'

const never = (): AbortSignal => new AbortController().signal
const reasons = { unsent: 'Nada saiu.', unanswered: 'Sem resposta.' }

function open(options: Partial<CarrierHttpOptions> = {}): CarrierHttp {
  const http = new CarrierHttp({ timeoutMs: 60_000, maxAnswerBytes: 1_000, reasons, ...options })
  onTestFinished(() => http.close())
  return http
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

/** A carrier that speaks HTTP. */
async function carrier(answer: RequestListener): Promise<string> {
  const server = createHttp(answer)
  const port = await listen(server)
  onTestFinished(() => server.closeAllConnections())
  return `http://127.0.0.1:${port}/`
}

/** A carrier that treats each connection as the test says. */
const socketServer = (serve: (socket: Socket) => void): Promise<number> =>
  listen(createServer(socket => serve(socket.on('error', () => {}))))

const post = (http: CarrierHttp, url: string, signal = never()) =>
  http.send({ method: 'POST', url, headers: {}, body: 'x' }, signal)

async function failureOf(url: string, options: Partial<CarrierHttpOptions> = {}, signal = never()): Promise<SendError> {
  const error = await post(open(options), url, signal).catch(thrown => thrown)
  expect(error).toBeInstanceOf(SendError)
  return error
}

const temporary = { kind: 'temporary', reason: reasons.unsent }
const uncertain = { kind: 'uncertain', reason: reasons.unanswered }

describe('a request that never left is temporary', () => {
  test('nobody listens at the port', async () => {
    const server = createServer()
    const port = await listen(server)
    server.close()
    await once(server, 'close')
    const failure = await failureOf(`http://127.0.0.1:${port}/`)
    expect(failure).toMatchObject({ ...temporary, answer: expect.stringContaining('ECONNREFUSED') })
  })

  test('the name does not resolve', async () => {
    expect(await failureOf('http://operadora.invalid/')).toMatchObject(temporary)
  })

  test('the connection is not accepted in time', async () => {
    const port = await portThatAcceptsNobody()
    const failure = await failureOf(`http://127.0.0.1:${port}/`, { connectMs: 300 })
    expect(failure).toMatchObject({ ...temporary, answer: expect.stringContaining('UND_ERR_CONNECT_TIMEOUT') })
  })

  test('the certificate is not trusted', async () => {
    const port = await listen(createSecure(selfSigned(['127.0.0.1']), () => {}))
    expect(await failureOf(`https://127.0.0.1:${port}/`)).toMatchObject(temporary)
  })

  test('the server speaks no TLS, hangs up before it does, or stays silent', async () => {
    const plain = await socketServer(socket => void socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'))
    const gone = await socketServer(socket => void socket.end())
    const reset = await socketServer(socket => void socket.once('data', () => socket.resetAndDestroy()))
    for (const port of [plain, gone, reset]) expect(await failureOf(`https://127.0.0.1:${port}/`)).toMatchObject(temporary)
    const silent = await socketServer(() => {})
    expect(await failureOf(`https://127.0.0.1:${silent}/`, { connectMs: 300 })).toMatchObject(temporary)
  })

  test('no connection became free in time, and it does not leave later either', async () => {
    const held: (() => void)[] = []
    const url = await carrier((_, response) => held.push(() => void response.end('{}')))
    const http = open({ connections: 1 })
    const first = post(http, url)
    await expect.poll(() => held.length).toBe(1)
    const giveUp = new AbortController()
    const waiting = post(http, url, giveUp.signal)
    giveUp.abort()
    await expect(waiting).rejects.toMatchObject(temporary)
    held[0]!()
    expect((await first).status).toBe(200)
    await http.close()
    expect(held).toHaveLength(1)
  })

  test('the caller gave up before, or the client was closed', async () => {
    let asked = 0
    const url = await carrier((_, response) => {
      asked++
      response.end('{}')
    })
    expect(await failureOf(url, {}, AbortSignal.abort())).toMatchObject(temporary)
    const http = open()
    await http.close()
    await expect(post(http, url)).rejects.toMatchObject(temporary)
    expect(asked).toBe(0)
  })
})

describe('a request that left without a whole answer is uncertain', () => {
  test('the connection is reset after the request', async () => {
    const port = await socketServer(socket => void socket.once('data', () => socket.resetAndDestroy()))
    expect(await failureOf(`http://127.0.0.1:${port}/`)).toMatchObject(uncertain)
  })

  test('the connection ends in the middle of the answer', async () => {
    const half = 'HTTP/1.1 201 Created\r\ncontent-length: 100\r\n\r\n{"id":'
    const port = await socketServer(socket => void socket.once('data', () => socket.end(half)))
    expect(await failureOf(`http://127.0.0.1:${port}/`)).toMatchObject(uncertain)
  })

  test('no answer comes until the time is over', async () => {
    const url = await carrier(() => {})
    const failure = await failureOf(url, { timeoutMs: 200 })
    expect(failure).toMatchObject({ ...uncertain, answer: 'no answer within 200 ms' })
  })

  test('an answer that drips without an end is over with its time', async () => {
    const url = await carrier((_, response) => {
      response.write('x')
      const drip = setInterval(() => response.write('x'), 20)
      response.on('close', () => clearInterval(drip))
    })
    expect(await failureOf(url, { timeoutMs: 500 })).toMatchObject(uncertain)
  })

  test('the caller gives up while the carrier thinks', async () => {
    const giveUp = new AbortController()
    const url = await carrier(() => giveUp.abort())
    expect(await failureOf(url, {}, giveUp.signal)).toMatchObject(uncertain)
  })

  test('the carrier speaks no HTTP', async () => {
    const port = await socketServer(socket => void socket.once('data', () => socket.end('220 smtp.example.com ESMTP\r\n')))
    expect(await failureOf(`http://127.0.0.1:${port}/`)).toMatchObject(uncertain)
  })
})

describe('an answer', () => {
  test('is read with its status, and connections are kept for the next request', async () => {
    const ports = new Set<number | undefined>()
    const url = await carrier((request, response) => {
      ports.add(request.socket.remotePort)
      request.resume().on('end', () => response.writeHead(201).end('{"id":"á\0"}'))
    })
    const http = open()
    for (let n = 0; n < 10; n++) {
      const answer = await post(http, url)
      expect(answer).toMatchObject({ status: 201, complete: true, retryAfterMs: null })
      expect(textOf(answer)).toBe('{"id":"á"}')
    }
    // The next request may come before the connection is known to be free.
    expect(ports.size).toBeLessThanOrEqual(2)
  })

  test('as many connections are opened as there are requests, unless they are bounded', async () => {
    const held: (() => void)[] = []
    const url = await carrier((_, response) => held.push(() => void response.end('{}')))
    const http = open()
    const sending = Array.from({ length: 30 }, () => post(http, url))
    await expect.poll(() => held.length).toBe(30)
    for (const answer of held) answer()
    await Promise.all(sending)
  })

  test('without an end is cut, and its connection with it', async () => {
    let closed = false
    const url = await carrier((_, response) => {
      response.writeHead(400).on('close', () => {
        closed = true
      })
      const pour = (): void => {
        while (!response.destroyed && response.write('x'.repeat(16_384)));
      }
      response.on('drain', pour)
      pour()
    })
    const answer = await post(open(), url)
    expect(answer).toMatchObject({ status: 400, complete: false, body: Buffer.from('x'.repeat(1_000)) })
    expect(objectOf(answer)).toBeNull()
    await expect.poll(() => closed).toBe(true)
  })

  test('that redirects is not followed', async () => {
    const asked: string[] = []
    const url = await carrier((request, response) => {
      asked.push(request.url!)
      response.writeHead(302, { location: '/elsewhere' }).end()
    })
    expect(await post(open(), url)).toMatchObject({ status: 302 })
    expect(asked).toEqual(['/'])
  })

  test('429 says how long to wait, in seconds or as a date', async () => {
    const answers = ['7', new Date(Date.now() + 1_800_000).toUTCString()]
    const url = await carrier((_, response) => void response.writeHead(429, { 'retry-after': answers.shift()! }).end())
    const http = open()
    expect(await post(http, url)).toMatchObject({ status: 429, retryAfterMs: 7_000 })
    const { retryAfterMs } = await post(http, url)
    expect(retryAfterMs).toBeGreaterThan(0)
    expect(retryAfterMs).toBeLessThanOrEqual(1_800_000)
  })

  test.each(['[]', 'null', '7', '<html>', ''])('%j is no object', async text => {
    const url = await carrier((_, response) => void response.end(text))
    expect(objectOf(await post(open(), url))).toBeNull()
  })
})

/** A listening port whose queue is full: its thread stands still, so nobody takes connections out of the queue. */
async function portThatAcceptsNobody(): Promise<number> {
  const thread = new Worker(
    `const { createServer } = require('node:net')
     const { parentPort } = require('node:worker_threads')
     const server = createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
       parentPort.postMessage(server.address().port)
       Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
     })`,
    { eval: true },
  )
  onTestFinished(async () => void (await thread.terminate()))
  const [port] = (await once(thread, 'message')) as [number]
  const waiting = Array.from({ length: 8 }, () => connect(port, '127.0.0.1').on('error', () => {}))
  onTestFinished(() => waiting.forEach(socket => void socket.destroy()))
  await once(waiting[0]!, 'connect')
  return port
}
