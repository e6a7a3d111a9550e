import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fastify from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { handleError } from '../../src/http/errors.js'
import { takeFiles, uploadTurns } from '../../src/http/uploads.js'

const FILE = 'nome;email\n'
const scope = { account: '0190a3c2-7b1e-7000-8000-000000000001', mode: 'live' } as const

interface Upload {
  socket: Socket
  answered(): string
  closed: Promise<unknown>
}

/** A server that answers with the file that it was sent, and takes one file after the other. */
async function startServer(arrivalMs: number) {
  const takeTurn = uploadTurns(arrivalMs)
  const app = fastify({ forceCloseConnections: true })
  app.setErrorHandler(handleError)
  takeFiles(app)
  const [arrived, begun]: [string[], string[]] = [[], []]
  app.post('/', (request, { raw: answer }) => {
    const name = String(request.headers.name)
    arrived.push(name)
    return takeTurn(scope, { body: request.body, answer }, async file => {
      begun.push(name)
      const chunks: Uint8Array[] = []
      for await (const chunk of file) chunks.push(chunk)
      return Buffer.concat(chunks).toString()
    })
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(() => app.close())
  const { port } = app.server.address() as AddressInfo
  return {
    arrived,
    begun,
    /** Begins to send a file, and stops in the middle of it. */
    begin(name: string): Upload {
      const socket = connect(port, '127.0.0.1')
      onTestFinished(() => void socket.destroy())
      let text = ''
      socket.on('error', () => {})
      socket.setEncoding('utf8').on('data', chunk => {
        text += chunk
      })
      const head = ['POST / HTTP/1.1', 'host: x', `name: ${name}`, 'content-type: text/csv', `content-length: ${FILE.length}`]
      socket.write(`${head.join('\r\n')}\r\n\r\n${FILE.slice(0, 4)}`)
      return { socket, answered: () => text, closed: once(socket, 'close') }
    },
  }
}

test('the time of a file begins with its turn, and one that stays away then gets 408 and gives its turn to the next one', async () => {
  const ms = 2_000
  const server = await startServer(ms)
  const first = server.begin('first')
  await expect.poll(() => server.begun).toEqual(['first'])
  const second = server.begin('second')
  await expect.poll(() => server.arrived).toEqual(['first', 'second'])
  const arrivedAt = performance.now()
  await first.closed
  expect(first.answered()).toMatch(/^HTTP\/1\.1 408 /)
  expect(first.answered()).toMatch(/connection: close/i)
  expect(first.answered()).toContain('demorou demais')
  await expect.poll(() => server.begun).toEqual(['first', 'second'])
  // Since it came to the server, it has had more time than a file may take.
  await expect.poll(() => performance.now()).toBeGreaterThan(arrivedAt + ms)
  second.socket.write(FILE.slice(4))
  await expect.poll(second.answered).toMatch(/^HTTP\/1\.1 200 /)
  expect(second.answered()).toContain(FILE)
})

test('the chunks of a file that were read do not stay in memory until its end', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const chunks: WeakRef<Uint8Array>[] = []
  const body = Readable.from(
    (function* () {
      for (let n = 0; n < 200; n++) {
        const chunk = new Uint8Array(1_024)
        chunks.push(new WeakRef(chunk))
        yield chunk
      }
    })(),
    { objectMode: true, highWaterMark: 1 },
  )
  const request = { body, answer: {} as ServerResponse }
  const kept = await uploadTurns(60_000)(scope, request, async file => {
    let count = 0
    for await (const _ of file) {
      if (++count < 190) continue
      // A weak reference is held until the turn of the event loop in which it was made is over.
      await nextTurn()
      collect()
      return chunks.filter(chunk => chunk.deref() !== undefined).length
    }
    throw new Error('the file ended early')
  })
  expect(chunks.length).toBeGreaterThanOrEqual(190)
  expect(kept).toBeLessThan(50)
})
