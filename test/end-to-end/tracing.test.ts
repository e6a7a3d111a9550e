import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readConfig } from '../../src/app/config.js'
import { openTracing } from '../../src/app/tracing.js'
import { newId } from '../../src/domain/id.js'
import { createAccount } from '../support/gateway/gateway.js'
import { send, validSend } from '../support/gateway/requests.js'
import { startStack } from '../support/gateway/stack.js'

/** From the request to the carrier's answer, as a collector of OpenTelemetry gets it. */
interface WireSpan {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: { key: string; value: Record<string, unknown> }[]
  links?: { traceId: string; spanId: string }[]
  status: { code?: number; message?: string }
}

let spans: WireSpan[] = []
let bodies: string[] = []
let status = 200
let asked = 0
const collector = createServer(async (request, response) => {
  const body = await text(request)
  asked++
  if (status === 200 && request.url === '/v1/traces' && request.headers.authorization === 'Bearer segredo') {
    bodies.push(body)
    const { resourceSpans } = JSON.parse(body) as { resourceSpans: { scopeSpans: { spans: WireSpan[] }[] }[] }
    spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(scope => scope.spans)))
  }
  response.writeHead(status).end()
})
let settings: NodeJS.ProcessEnv

beforeAll(async () => {
  await new Promise<void>(resolve => collector.listen(0, '127.0.0.1', resolve))
  const { port } = collector.address() as AddressInfo
  settings = {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20segredo',
  }
})
afterAll(() => void collector.close())

const attributesOf = ({ attributes }: WireSpan): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))

test('a notification is one trace: the request, each attempt and each call, across processes, without personal data', async () => {
  const stack = await startStack(undefined, settings)
  try {
    const { token } = await createAccount(stack.database.pool)
    const caller = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' }
    const headers = { traceparent: `00-${caller.traceId}-${caller.spanId}-01` }
    const { idEmail } = (await send(stack.gateway.url, token, validSend, headers)).body as { idEmail: string }
    const traceId = idEmail.replaceAll('-', '')
    const own = () => spans.filter(span => span.traceId === traceId)
    await expect
      .poll(() =>
        own()
          .map(({ name }) => name)
          .sort(),
      )
      .toEqual(['accept', 'attempt email', 'call email'])
    const [accepted, attempt, call] = ['accept', 'attempt email', 'call email'].map(
      name => own().find(span => span.name === name)!,
    )
    expect(accepted).toMatchObject({ kind: 2, links: [caller], status: {} })
    expect(accepted!.parentSpanId).toBeUndefined()
    expect(attempt).toMatchObject({ kind: 1, parentSpanId: accepted!.spanId })
    expect(call).toMatchObject({ kind: 3, parentSpanId: attempt!.spanId })
    expect(attributesOf(call!)).toMatchObject({ 'carteiro.channel': 'email', 'carteiro.attempt': '1', 'carteiro.result': 'sent' })
    for (const { startTimeUnixNano, endTimeUnixNano } of own())
      expect(BigInt(endTimeUnixNano) >= BigInt(startTimeUnixNano)).toBe(true)
    const told = bodies.join('\n')
    for (const secret of ['Maria', 'maria@example.com', 'vencimento', token]) expect(told).not.toContain(secret)
    expect(told).toContain('"service.name"')
  } finally {
    await stack.close()
  }
})

test('which notifications are traced follows from their ids, alike in every process', async () => {
  spans = []
  const config = readConfig({ ...settings, OTEL_TRACES_SAMPLER_ARG: '0.5' })
  const ids = Array.from({ length: 200 }, () => newId(Date.now()))
  for (const role of ['api', 'worker']) {
    const tracing = openTracing(config, role, pino({ level: 'silent' }))!
    for (const id of ids) tracing.accepted({ id, mode: 'live', channels: [], startedMs: Date.now(), traceparent: 'nonsense' })
    await tracing.close()
  }
  const traced = spans.map(span => span.traceId)
  expect(traced.length).toBeGreaterThan(40)
  expect(traced.length).toBeLessThan(360)
  expect(traced.slice(0, traced.length / 2)).toEqual(traced.slice(traced.length / 2))
  expect(spans[0]!.links).toBeUndefined()
})

test('a collector that is away holds nothing up and is told of once; what waits is sent when it is back', async () => {
  spans = []
  bodies = []
  status = 503
  const lines: string[] = []
  const log = pino({ level: 'info' }, { write: line => lines.push((JSON.parse(line) as { msg: string }).msg) })
  const tracing = openTracing(readConfig(settings), 'api', log, 5)!
  const id = newId(Date.now())
  tracing.accepted({ id, mode: 'live', channels: ['email'], startedMs: Date.now() })
  await expect.poll(() => lines).toEqual(['the collector of traces does not take them: some will be lost'])
  status = 200
  await expect.poll(() => spans.map(({ traceId }) => traceId)).toEqual([id.replaceAll('-', '')])
  await expect.poll(() => lines).toHaveLength(2)
  await tracing.close()
})

test('a batch that the collector never takes is given up, and the next ones arrive', async () => {
  spans = []
  asked = 0
  status = 400
  const tracing = openTracing(readConfig(settings), 'api', pino({ level: 'silent' }), 1)!
  tracing.accepted({ id: newId(Date.now()), mode: 'live', channels: [], startedMs: Date.now() })
  await expect.poll(() => asked).toBe(30)
  status = 200
  const later = newId(Date.now())
  tracing.accepted({ id: later, mode: 'live', channels: [], startedMs: Date.now() })
  await tracing.close()
  expect(spans.map(({ traceId }) => traceId)).toEqual([later.replaceAll('-', '')])
})

test('switched off, nothing is made', () => {
  expect(openTracing(readConfig({}), 'api', pino({ level: 'silent' }))).toBeNull()
  expect(() => readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: 'coletor', OTEL_TRACES_SAMPLER_ARG: '2' })).toThrow(
    /OTEL_EXPORTER_OTLP_ENDPOINT[\s\S]*OTEL_TRACES_SAMPLER_ARG/,
  )
})
