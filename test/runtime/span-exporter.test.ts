import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { type Span, SpanExporter } from '../../src/runtime/span-exporter.js'

const EVERY_MS = 1_000

/** The ticks of the exporter are the test's; the network is real. */
beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }))
afterEach(() => void vi.useRealTimers())

const span = (name: string): Span => ({
  traceId: '1'.repeat(32),
  spanId: '2'.repeat(16),
  parentSpanId: null,
  name,
  kind: 'server',
  startMs: 0,
  endMs: 1,
  attributes: {},
  error: null,
  link: null,
})

/** A collector that answers as the test says, and the names of the spans of each request. */
async function collector(answer: (response: ServerResponse, request: number) => void) {
  const requests: string[][] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { resourceSpans } = JSON.parse(Buffer.concat(chunks).toString())
    requests.push(resourceSpans[0].scopeSpans[0].spans.map(({ name }: { name: string }) => name))
    answer(response, requests.length)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close().closeAllConnections())
  const changes: (string | null)[] = []
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`
  return { requests, changes, exporter: exporterTo(url, changes), server }
}

const exporterTo = (url: string, changes: (string | null)[]): SpanExporter =>
  new SpanExporter({ url, headers: {}, resource: {}, everyMs: EVERY_MS, onChange: problem => void changes.push(problem) })

test('a collector that does not answer has one request at a time, and one more at the close', async () => {
  const held: ServerResponse[] = []
  const { exporter, requests, changes } = await collector((response, request) =>
    request === 1 ? held.push(response) : response.writeHead(503).end(),
  )
  exporter.add(span('a'))
  vi.advanceTimersByTime(EVERY_MS)
  await expect.poll(() => held).toHaveLength(1)
  exporter.add(span('b'))
  vi.advanceTimersByTime(50 * EVERY_MS)
  const closed = exporter.close()
  held[0]!.writeHead(503).end()
  await closed
  expect(requests).toEqual([['a'], ['a', 'b']])
  expect(changes).toEqual(['the collector answered 503'])
})

test('spans that arrive while others are sent follow them, and each is sent once', async () => {
  const held: ServerResponse[] = []
  const { exporter, requests, changes } = await collector((response, request) =>
    request === 1 ? held.push(response) : response.end(),
  )
  exporter.add(span('a'))
  vi.advanceTimersByTime(EVERY_MS)
  await expect.poll(() => held).toHaveLength(1)
  exporter.add(span('b'))
  held[0]!.end()
  await expect.poll(() => requests).toEqual([['a'], ['b']])
  exporter.add(span('c'))
  await exporter.close()
  expect(requests).toEqual([['a'], ['b'], ['c']])
  expect(changes).toEqual([])
})

test('a collector that cannot be reached is told with the reason', async () => {
  const changes: (string | null)[] = []
  const { server } = await collector(response => response.end())
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  const exporter = exporterTo(`http://127.0.0.1:${port}/v1/traces`, changes)
  exporter.add(span('a'))
  await exporter.close()
  expect(changes).toEqual(['ECONNREFUSED'])
})
