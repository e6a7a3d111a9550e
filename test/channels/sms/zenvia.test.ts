import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createServer as createSecure } from 'node:tls'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { CarrierReport, SendError } from '../../../src/channels/provider.js'
import { readZenviaUrl, zenvia, zenviaCallback, zenviaProvider } from '../../../src/channels/sms/zenvia.js'
import { selfSigned } from '../../support/programs/certificate.js'

const message = { reference: 'r.sms.1', to: '+5511987654321', text: 'Aviso' }
const SECRET = 'um-segredo-de-teste'

async function zenviaForTest(handle: (request: IncomingMessage, response: ServerResponse, body: string) => void): Promise<URL> {
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    handle(request, response, body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return new URL(`zenvia://t%20ok@127.0.0.1:${(server.address() as AddressInfo).port}/base?from=acme&secret=${SECRET}&tls=off`)
}

const sendTo = async (url: URL): Promise<unknown> => {
  const carrier = await zenviaProvider().open(url)
  return carrier.send(message, AbortSignal.timeout(10_000))
}

test.each([
  ['', 50],
  ['&window=7', 7],
])('as many requests are under way at once as the window says: %j', (query, requests) => {
  expect(zenvia.concurrency(new URL(`zenvia://t@api.zenvia.com?from=acme&secret=${SECRET}${query}`))).toBe(requests)
})

describe('a send', () => {
  test('is what the API documents', async () => {
    const seen: object[] = []
    const url = await zenviaForTest(({ method, url: path, headers }, response, body) => {
      seen.push({ method, path, token: headers['x-api-token'], type: headers['content-type'], body: JSON.parse(body) })
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ id: 'z-1' }))
    })
    expect(await sendTo(url)).toMatchObject({
      references: ['z-1'],
      answer: '200 {"id":"z-1"}',
      facts: { segments: 1, encoding: 'gsm7' },
    })
    expect(seen).toEqual([
      {
        method: 'POST',
        path: '/base/v2/channels/sms/messages',
        token: 't ok',
        type: 'application/json',
        body: { from: 'acme', to: '5511987654321', contents: [{ type: 'text', text: 'Aviso' }] },
      },
    ])
  })

  test.each([
    [400, 'permanent'],
    [401, 'temporary'],
    [402, 'temporary'],
    [403, 'temporary'],
    [404, 'temporary'],
    [408, 'uncertain'],
    [413, 'permanent'],
    [422, 'permanent'],
    [429, 'throttled'],
    [500, 'uncertain'],
    [502, 'uncertain'],
    [503, 'uncertain'],
    [504, 'uncertain'],
  ])('answered with %d is %s', async (status, kind) => {
    const url = await zenviaForTest((_request, response) =>
      response.writeHead(status, { 'retry-after': '7' }).end('{"code":"X"}'),
    )
    const error = (await sendTo(url).catch((caught: SendError) => caught)) as SendError
    expect(error).toMatchObject({ kind, answer: `${status} {"code":"X"}`, retryAfterMs: 7_000 })
  })

  test.each([408, 503])('its own %d says that the message was not taken: temporary', async status => {
    const body = '{"code":"UNAVAILABLE","message":"Try again"}'
    const url = await zenviaForTest((_request, response) => response.writeHead(status).end(body))
    expect(await sendTo(url).catch((caught: SendError) => caught)).toMatchObject({ kind: 'temporary' })
  })

  test('refused for its sender waits until SMS_URL is mended; refused for its recipient as well, it is over', async () => {
    const refusedFor = async (...paths: string[]): Promise<unknown> => {
      const details = paths.map(path => ({ code: 'INVALID', path, message: 'Invalid' }))
      const url = await zenviaForTest((_request, response) =>
        response.writeHead(400).end(JSON.stringify({ code: 'VALIDATION_ERROR', details })),
      )
      return sendTo(url).catch((error: SendError) => error)
    }
    expect(await refusedFor('from')).toMatchObject({ kind: 'temporary', reason: expect.stringContaining('from em SMS_URL') })
    expect(await refusedFor('from', 'to')).toMatchObject({ kind: 'permanent' })
    expect(await refusedFor('to')).toMatchObject({ kind: 'permanent' })
  })

  test('refused in words that end in half a character can be stored', async () => {
    const url = await zenviaForTest((_request, response) => response.writeHead(400).end(`\0${'x'.repeat(498)}😀`))
    const { answer } = (await sendTo(url).catch((error: SendError) => error)) as SendError
    expect(answer).toBe(answer?.toWellFormed().replaceAll('\0', ''))
  })

  test('answered without end is known by its beginning', async () => {
    const url = await zenviaForTest((_request, response) => {
      response.writeHead(400)
      const pour = (): void => {
        while (!response.destroyed && response.write('x'.repeat(16_384)));
      }
      response.on('drain', pour)
      pour()
    })
    await expect(sendTo(url)).rejects.toMatchObject({ kind: 'permanent', answer: `400 ${'x'.repeat(500)}` })
  })

  test('answered without an id, or with a redirection, is uncertain', async () => {
    const nameless = await zenviaForTest((_request, response) => response.end('{}'))
    await expect(sendTo(nameless)).rejects.toMatchObject({ kind: 'uncertain' })
    const elsewhere = await zenviaForTest((_request, response) =>
      response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
    )
    await expect(sendTo(elsewhere)).rejects.toMatchObject({ kind: 'uncertain' })
  })
})

describe('a send that surely never left is temporary', () => {
  test('where the certificate is not trusted', async () => {
    const server = createSecure(selfSigned(['127.0.0.1']), () => {})
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    await expect(sendTo(new URL(`zenvia://t@127.0.0.1:${port}?from=acme&secret=${SECRET}`))).rejects.toMatchObject({
      kind: 'temporary',
      reason: 'Sem conexão com a Zenvia.',
    })
  })
})

describe('a callback', () => {
  const read = (body: unknown, headers: Record<string, string> = { 'x-carteiro-secret': SECRET }, method = 'POST') =>
    zenviaCallback([
      { identity: 'zenvia:a/1', secret: 'outro-segredo-de-teste' },
      { identity: 'zenvia:b/2', secret: SECRET },
    ]).read({
      method,
      url: 'https://x/callbacks/zenvia',
      headers,
      body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    })

  const told = (code: string) => read({ type: 'MESSAGE_STATUS', messageId: 'z-1', messageStatus: { code } })

  test.each([
    ['DELIVERED', 'delivered'],
    ['READ', 'delivered'],
    ['NOT_DELIVERED', 'failed'],
    ['REJECTED', 'failed'],
    ['SENT', 'note'],
    ['CLICKED', 'note'],
  ])('MESSAGE_STATUS %s: %s', async (code, type) => {
    expect(await told(code)).toMatchObject({ events: [{ kind: 'report', type, of: { carrier: ['z-1'] } }] })
  })

  test('MESSAGE_STATUS with causes that end in half a character, or with a NUL, can be stored', async () => {
    // The emoji lies across the cut, wherever JSON puts its quotes.
    for (const length of [496, 497, 498, 499]) {
      const messageStatus = { code: 'REJECTED\0', causes: [`${'x'.repeat(length)}😀`] }
      const content = await read({ type: 'MESSAGE_STATUS', messageId: 'z-1', messageStatus })
      const [{ answer }] = content!.events as [CarrierReport]
      expect(answer).toBe(answer.toWellFormed().replaceAll('\0', ''))
      expect(answer).toMatch(/^REJECTED \["x+/)
    }
  })

  test('MESSAGE: what a person wrote', async () => {
    const event = (direction: string) => ({
      type: 'MESSAGE',
      direction,
      message: { id: 'm-1', from: '5511987654321', to: 'acme', direction, contents: [{ type: 'text', text: 'Olá' }] },
    })
    expect(await read(event('IN'))).toEqual({
      carriers: ['zenvia:b/2'],
      events: [{ kind: 'reply', from: ['+5511987654321'], text: 'Olá', id: 'm-1', inReplyTo: null, at: null }],
    })
    expect(await read(event('OUT'))).toEqual({ carriers: ['zenvia:b/2'], events: [] })
  })

  test('without the secret, with a wrong one, or by GET is not from Zenvia', async () => {
    const body = { type: 'MESSAGE_STATUS', messageId: 'z-1', messageStatus: { code: 'DELIVERED' } }
    for (const headers of [{}, { 'x-carteiro-secret': '' }, { 'x-carteiro-secret': `${SECRET}x` }, { authorization: SECRET }])
      expect(await read(body, headers as Record<string, string>)).toBeNull()
    expect(await read(body, { 'x-carteiro-secret': SECRET }, 'GET')).toBeNull()
  })

  test('of something else, or garbage, is taken and means nothing', async () => {
    for (const body of [
      '',
      'x',
      '[]',
      'null',
      '{"type":"OTHER"}',
      '{"type":"MESSAGE_STATUS"}',
      '{"type":"MESSAGE","message":{"from":1}}',
    ])
      expect(await read(body)).toEqual({ carriers: ['zenvia:b/2'], events: [] })
  })
})

test('every option that the documents name is known', () => {
  expect(() =>
    readZenviaUrl(new URL('zenvia://t@127.0.0.1?from=a&secret=0123456789abcdef&tls=off&window=9&rate=5')),
  ).not.toThrow()
})

test('the real one is asked over https', () => {
  const { endpoint } = readZenviaUrl(new URL('zenvia://t@api.zenvia.com?from=a&secret=0123456789abcdef'))
  expect(endpoint.href).toBe('https://api.zenvia.com/v2/channels/sms/messages')
})
