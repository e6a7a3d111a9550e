import { STATUS_CODES } from 'node:http'
import { gzipSync } from 'node:zlib'
import { describe, expect, inject, test } from 'vitest'
import { ACCEPT_LIMITS, acceptStore } from '../../src/app/accept-store.js'
import { openPool } from '../../src/store/postgres.js'
import { databaseForTest, type TestDatabase } from '../support/database/database.js'
import { countRows, readStored } from '../support/database/stored.js'
import { createAccount, gatewayForFile, gatewayForTest, startGateway } from '../support/gateway/gateway.js'
import { type Answer, errorBody, request, send, validSend } from '../support/gateway/requests.js'
import { exchange } from '../support/socket.js'

const MIB = 1_048_576

const { database, gateway, account } = await gatewayForFile()

/** An answer in the shape of section 7 that bears a request id. */
function expectRefusal({ status, body, headers }: Answer, expected: number, message: string | RegExp): void {
  const text = typeof message === 'string' ? message : expect.stringMatching(message)
  expect(body).toEqual(errorBody(expected, text, STATUS_CODES[expected]!))
  expect(status).toBe(expected)
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(headers.get('x-request-id')).toMatch(/^[\w-]{6,64}$/)
}

const post = (path: string, headers: Record<string, string>): string =>
  [
    `POST ${path} HTTP/1.1`,
    'Host: localhost',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    '',
    '',
  ].join('\r\n')

/** A valid send of exactly so many bytes. */
function sendOf(bytes: number): Buffer {
  const body = JSON.stringify({ ...validSend, content: '' })
  return Buffer.from(body.replace('"content":""', `"content":"${'x'.repeat(bytes - body.length)}"`))
}

function* chunked(body: Buffer, size = 65_536): Generator<Buffer | string> {
  for (let from = 0; from < body.length; from += size) {
    const chunk = body.subarray(from, from + size)
    yield `${chunk.length.toString(16)}\r\n`
    yield chunk
    yield '\r\n'
  }
  yield '0\r\n\r\n'
}

describe('7 the order of refusals', () => {
  const big = sendOf(36 * MIB + 1)

  test('7 without a valid token everything is 401: too large, no JSON, wrong type, unknown route', async () => {
    const token = 'x'
    expectRefusal(await send(gateway.url, token, big), 401, 'Unauthorized')
    expectRefusal(await send(gateway.url, token, '{'), 401, 'Unauthorized')
    expectRefusal(await send(gateway.url, token, 'a', { 'content-type': 'text/plain' }), 401, 'Unauthorized')
    expectRefusal(await send(gateway.url, token, {}), 401, 'Unauthorized')
    expectRefusal(await request(`${gateway.url}/gw/nada`, { token }), 401, 'Unauthorized')
    expectRefusal(await request(`${gateway.url}/regua-notificacao/nada`, { token }), 401, 'Unauthorized')
  })

  test('7 over the limit everything is 429: too large, no JSON, bad field, not allowed, unknown route', async () => {
    const { token } = await createAccount(database.pool, { settings: { 'limit.registered': 1 } })
    expect((await send(gateway.url, token, validSend)).status).toBe(200)
    for (const body of [big, '{', {}, { ...validSend, validation: { question: 'a', reply: 'b' } }]) {
      const answer = await send(gateway.url, token, body)
      expectRefusal(answer, 429, 'Too Many Requests')
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    }
    expectRefusal(await request(`${gateway.url}/gw/nada`, { token }), 429, 'Too Many Requests')
  })

  test('7 a bad body is 400 before a missing permission is 403', async () => {
    const validation = { question: 'a', reply: 'b' }
    expectRefusal(await send(gateway.url, account.token, { ...validSend, validation, subject: '' }), 400, /subject/)
    expectRefusal(await send(gateway.url, account.token, { ...validSend, validation }), 403, /validation/)
  })

  test('7 a body too large or not JSON is 413 or 400 before an unknown route is 404', async () => {
    const url = `${gateway.url}/gw/nada`
    const { token } = account
    expectRefusal(await request(url, { method: 'POST', token, body: big }), 413, /limite de 1 MiB/)
    expectRefusal(await request(url, { method: 'POST', token, body: '{' }), 400, /JSON/)
    expectRefusal(await request(url, { method: 'POST', token, body: {} }), 404, /Rota não encontrada/)
  })
})

describe('7 unknown routes and wrong methods', () => {
  const wrong: [string, string][] = [
    ['GET', '/gw/email'],
    ['PUT', '/gw/email'],
    ['PATCH', '/gw/email'],
    ['DELETE', '/gw/email'],
    ['OPTIONS', '/gw/email'],
    ['PROPFIND', '/gw/email'],
    ['POST', '/gw/email/a/b/c'],
    ['POST', '/gw/Email'],
    ['POST', '/gw'],
    ['GET', '/gw/'],
    ['GET', '/gw/nada?x=1'],
    ['GET', '/regua-notificacao'],
    ['POST', '/regua-notificacao/finalizar/019813c4-5a00-7000-8000-000000000001'],
  ]

  test.each(wrong)('7 %s %s is 404 with a token', async (method, path) => {
    const answer = await request(gateway.url + path, { method, token: account.token })
    expectRefusal(answer, 404, `Rota não encontrada: ${method} ${path.split('?')[0]}. Verifique o método e o caminho.`)
  })

  test.each(wrong)('7 %s %s is 401 without a token', async (method, path) => {
    expectRefusal(await request(gateway.url + path, { method }), 401, 'Unauthorized')
  })

  test('7 HEAD has the status and headers of the refusal, and no body', async () => {
    for (const [token, status] of [
      [account.token, 404],
      ['x', 401],
    ] as const) {
      const answer = await request(`${gateway.url}/gw/email`, { method: 'HEAD', token })
      expect([answer.status, answer.body]).toEqual([status, null])
      expect(answer.headers.get('x-request-id')).toMatch(/^[\w-]{6,64}$/)
    }
  })

  test.each(['/', '/nada', '/gwx/email', '/email', '/healthz/nada', '/%67w/nada?', `/${'a'.repeat(5_000)}`])(
    '7 outside the guarded paths %s is 404, or 401 where it turns out to be inside',
    async path => {
      const answer = await request(gateway.url + path)
      if (path.startsWith('/%67w')) expectRefusal(answer, 401, 'Unauthorized')
      else expectRefusal(answer, 404, /^Rota não encontrada: GET \//)
    },
  )

  test('7 a path that cannot be decoded is 400, below /gw only with a token', async () => {
    const badUrl = 'O endereço tem um % que não codifica um caractere. Codifique-o como %25.'
    expectRefusal(await request(`${gateway.url}/gw/%zz`, { token: account.token }), 400, badUrl)
    expectRefusal(await request(`${gateway.url}/gw/%zz`), 401, 'Unauthorized')
    expectRefusal(await request(`${gateway.url}/%zz`), 400, badUrl)
  })

  test('4 a GET or DELETE with Content-Type: application/json and no body is judged by its route', async () => {
    for (const method of ['GET', 'DELETE']) {
      const headers = { 'content-type': 'application/json' }
      const answer = await request(`${gateway.url}/gw/nada`, { method, token: account.token, headers })
      expectRefusal(answer, 404, /Rota não encontrada/)
    }
    const health = await request(`${gateway.url}/healthz`, { headers: { 'content-type': 'application/json' } })
    expect(health.status).toBe(200)
  })
})

describe('7 bodies that are no JSON object', () => {
  test.each([
    ['half an object', '{"nameTo":', /não é um JSON válido/],
    ['a word', 'oi', /não é um JSON válido/],
    ['a form', 'nameTo=Maria&to=maria%40example.com', /não é um JSON válido/],
    ['XML', '<send/>', /não é um JSON válido/],
    ['white space', ' \n', /não é um JSON válido/],
    ['two objects', '{}{}', /não é um JSON válido/],
    ['a list', '[]', /objeto JSON/],
    ['a list of sends', JSON.stringify([validSend]), /objeto JSON/],
    ['a text', '"a"', /objeto JSON/],
    ['a number', '1', /objeto JSON/],
    ['true', 'true', /objeto JSON/],
    ['null', 'null', /objeto JSON/],
  ])('7 %s is 400', async (_, body, message) => {
    expectRefusal(await send(gateway.url, account.token, body), 400, message)
  })

  test('7 bytes that are no UTF-8 are 400', async () => {
    const latin1 = Buffer.from(JSON.stringify({ ...validSend, nameTo: 'João' }), 'latin1')
    expectRefusal(await send(gateway.url, account.token, latin1), 400, /UTF-8/)
    const utf16 = Buffer.from(JSON.stringify(validSend), 'utf16le')
    expectRefusal(await send(gateway.url, account.token, utf16), 400, /JSON|UTF-8/)
    const gzip = Buffer.from([0x1f, 0x8b, 0x08, 0x00, 0x00])
    expectRefusal(await send(gateway.url, account.token, gzip), 400, /UTF-8/)
  })

  test('7 a compressed body is 400, with the header and the cure; a character set in its place is ignored', async () => {
    const packed = gzipSync(JSON.stringify(validSend))
    expectRefusal(
      await send(gateway.url, account.token, packed, { 'content-encoding': 'gzip' }),
      400,
      'O corpo da requisição está comprimido (Content-Encoding: gzip), e corpos comprimidos não são aceitos. Envie-o sem compressão e sem esse cabeçalho.',
    )
    for (const coding of ['identity', 'UTF-8'])
      expect((await send(gateway.url, account.token, validSend, { 'content-encoding': coding })).status).toBe(200)
  })

  test('7 an empty body is 400, with a content type and without', async () => {
    const { token } = account
    const empty = /corpo da requisição está vazio/
    expectRefusal(await send(gateway.url, token, ''), 400, empty)
    expectRefusal(await request(`${gateway.url}/gw/email`, { method: 'POST', token }), 400, empty)
    const none = await exchange(gateway.url, {
      parts: [post('/gw/email', { Authorization: token, 'Transfer-Encoding': 'chunked' }), '0\r\n\r\n'],
    })
    expect([none.status, Object.keys(none.body as object).sort()]).toEqual([400, ['error', 'message', 'statusCode']])
  })

  test('5.3 a body without content type is 400', async () => {
    const message = 'O cabeçalho Content-Type deve ser application/json.'
    const head = post('/gw/email', { Authorization: account.token, 'Content-Length': '2' })
    expectRefusal(await exchange(gateway.url, { parts: [head, '{}'] }), 400, message)
    const streamed = post('/gw/email', { Authorization: account.token, 'Transfer-Encoding': 'chunked' })
    expectRefusal(await exchange(gateway.url, { parts: [streamed, ...chunked(Buffer.from('{}'))] }), 400, message)
  })

  test.each(['', ';', 'application', 'application/', '/json', 'application/json, text/plain', 'a'.repeat(5_000)])(
    '5.3 a content type of %j is 400',
    async type => {
      const head = post('/gw/email', { Authorization: account.token, 'Content-Type': type, 'Content-Length': '2' })
      expectRefusal(await exchange(gateway.url, { parts: [head, '{}'] }), 400, /Content-Type/)
    },
  )

  test('7 a refusal leaves the connection usable for the next request', async () => {
    const good = JSON.stringify(validSend)
    const headers = { Authorization: account.token, 'Content-Type': 'application/json' }
    const bad = await fetch(`${gateway.url}/gw/email`, { method: 'POST', headers, body: '{' })
    expect([bad.status, bad.headers.get('connection')]).toEqual([400, 'keep-alive'])
    await bad.text()
    expect((await fetch(`${gateway.url}/gw/email`, { method: 'POST', headers, body: good })).status).toBe(200)
  })
})

describe('8 bodies over the limit', () => {
  const tooLarge = 'O corpo da requisição passa do limite de 36 MiB. Reduza os anexos ou o conteúdo.'
  const oneMore = sendOf(36 * MIB + 1)
  const far = sendOf(48 * MIB)
  const headers = (): Record<string, string> => ({ Authorization: account.token, 'Content-Type': 'application/json' })
  const measured = (body: Buffer, more: Record<string, string> = {}): Iterable<string | Uint8Array> => [
    post('/gw/email', { ...headers(), 'Content-Length': String(body.length), ...more }),
    body,
  ]
  function* streamed(body: Buffer, more: Record<string, string> = {}): Generator<string | Uint8Array> {
    yield post('/gw/email', { ...headers(), 'Transfer-Encoding': 'chunked', ...more })
    yield* chunked(body)
  }

  test('8 a body of 36 MiB passes', async () => {
    const { status, body } = await exchange(gateway.url, { parts: measured(sendOf(36 * MIB)) })
    expect(status).toBe(200)
    const stored = await readStored(database.pool, (body as { idEmail: string }).idEmail)
    expect(stored!.notification.content.length).toBeGreaterThan(35 * MIB)
  })

  test.each([
    ['one byte more with Content-Length', () => measured(oneMore)],
    ['one byte more chunked', () => streamed(oneMore)],
    ['12 MiB more with Content-Length', () => measured(far)],
    ['12 MiB more chunked', () => streamed(far)],
    ['12 MiB more with Content-Length, connection to be closed', () => measured(far, { Connection: 'close' })],
    ['12 MiB more chunked, connection to be closed', () => streamed(far, { Connection: 'close' })],
  ])('8 %s is 413, and a client that first writes it all reads the answer', async (_, parts) => {
    const before = await countRows(database.pool)
    expectRefusal(await exchange(gateway.url, { parts: parts() }), 413, tooLarge)
    expect(await countRows(database.pool)).toEqual(before)
  })

  test('8 a declared length over the limit is 413 before any of the body arrives', async () => {
    const head = post('/gw/email', { ...headers(), 'Content-Length': String(100 * MIB) })
    expectRefusal(await exchange(gateway.url, { parts: [head] }), 413, tooLarge)
  })

  test('8 a client that asks first (Expect: 100-continue) learns of the 413 without sending the body', async () => {
    const head = post('/gw/email', { ...headers(), Expect: '100-continue', 'Content-Length': String(100 * MIB) })
    const answer = await exchange(gateway.url, { parts: [head], skipContinue: true })
    expectRefusal(answer, 413, tooLarge)
  })

  test('8 the limit is a setting, and a chunked body may reach it too', async () => {
    const small = await gatewayForTest(database.pool, { MAX_BODY_MIB: '1' })
    expectRefusal(await send(small.url, account.token, sendOf(MIB + 1)), 413, /limite de 1 MiB/)
    expect((await send(small.url, account.token, sendOf(MIB))).status).toBe(200)
    expect((await exchange(small.url, { parts: streamed(sendOf(MIB)) })).status).toBe(200)
  })

  test('7 a client without a token that first writes a large body reads its 401', async () => {
    for (const more of [{}, { Connection: 'close' }]) {
      const parts = measured(far, { Authorization: 'x', ...more })
      expectRefusal(await exchange(gateway.url, { parts }), 401, 'Unauthorized')
    }
  })

  test('8 a body of a great many small values is answered, and nobody else is harmed', async () => {
    const open = '{"nameTo":"a","subject":"a","content":"a","carta":{"variables":{"a":['
    const count = Math.floor((36 * MIB - open.length - 10) / 3)
    const greedy = `${open}${'{},'.repeat(count - 1)}{}]}}}`
    const [answer, ...others] = await Promise.all([
      send(gateway.url, account.token, greedy),
      send(gateway.url, account.token, sendOf(2 * MIB)),
      send(gateway.url, account.token, validSend),
    ])
    expectRefusal(answer, 400, 'O JSON tem elementos demais para ser lido. Reduza o número de objetos e listas.')
    expect(others.map(other => other.status)).toEqual([200, 200])
    expect((await send(gateway.url, account.token, sendOf(2 * MIB))).status).toBe(200)
  })
})

describe('7 requests that are no good HTTP', () => {
  const bad = (parts: string[]): Promise<Answer> => exchange(gateway.url, { parts })

  test.each([
    ['one header of 20 kB', `X-Longo: ${'a'.repeat(20_000)}\r\n`],
    ['one header of 1 MB', `X-Longo: ${'a'.repeat(1_000_000)}\r\n`],
    ['many headers', Array.from({ length: 2_000 }, (_, index) => `X-${index}: ${'a'.repeat(20)}\r\n`).join('')],
    ['a token of 20 kB', `Authorization: ${'a'.repeat(20_000)}\r\n`],
  ])('7 %s is 431', async (_, lines) => {
    const answer = await bad([`GET /gw/email HTTP/1.1\r\nHost: localhost\r\n${lines}\r\n`])
    expectRefusal(answer, 431, 'Os cabeçalhos da requisição são grandes demais. Reduza-os.')
  })

  test('7 a path of 20 kB is 431 as well', async () => {
    expectRefusal(await bad([`GET /gw/${'a'.repeat(20_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`]), 431, /cabeçalhos/)
  })

  test.each([
    ['no HTTP at all', 'oi\r\n\r\n'],
    ['a method that does not exist', 'ENVIAR /gw/email HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['a version that does not exist', 'GET /gw/email HTTP/9.9\r\nHost: localhost\r\n\r\n'],
    ['a header without a colon', 'GET /gw/email HTTP/1.1\r\nHost: localhost\r\nsem dois pontos\r\n\r\n'],
    ['a control character in a header', 'GET /gw/email HTTP/1.1\r\nHost: localhost\r\nX-A: a\u0001b\r\n\r\n'],
    ['a length that is no number', 'POST /gw/email HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n'],
    ['a negative length', 'POST /gw/email HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n'],
    ['two lengths', 'POST /gw/email HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}'],
    [
      'a length and chunks',
      'POST /gw/email HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['no Host', 'GET /gw/email HTTP/1.1\r\n\r\n'],
    ['the first bytes of TLS', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000'],
  ])('7 %s is 400', async (_, text) => {
    expectRefusal(await bad([text]), 400, 'A requisição HTTP está malformada.')
  })

  test('7 a chunk that is no chunk ends a request that had begun', async () => {
    const head = post('/gw/email', {
      Authorization: account.token,
      'Content-Type': 'application/json',
      'Transfer-Encoding': 'chunked',
    })
    expectRefusal(await bad([head, 'zz\r\n{}\r\n']), 400, 'A requisição HTTP está malformada.')
  })

  test('7 an expectation that nobody knows is no reason to refuse', async () => {
    const body = JSON.stringify(validSend)
    const head = post('/gw/email', {
      Authorization: account.token,
      'Content-Type': 'application/json',
      'Content-Length': String(body.length),
      Expect: 'maravilhas',
    })
    expect((await bad([head, body])).status).toBe(200)
  })

  test('7 after any of it the server answers the next one', async () => {
    expect((await send(gateway.url, account.token, validSend)).status).toBe(200)
  })
})

describe('7 every answer', () => {
  test('7 bears an x-request-id of its own, whatever the request says', async () => {
    const { token } = account
    const answers = [
      await send(gateway.url, token, validSend),
      await send(gateway.url, token, validSend, { 'x-request-id': 'meu', 'request-id': 'meu' }),
      await send(gateway.url, token, {}),
      await send(gateway.url, 'x', validSend),
      await request(`${gateway.url}/gw/nada`, { token }),
      await request(`${gateway.url}/nada`),
      await request(`${gateway.url}/healthz`),
      await request(`${gateway.url}/readyz`),
      await exchange(gateway.url, { parts: ['oi\r\n\r\n'] }),
      await exchange(gateway.url, { parts: ['oi\r\n\r\n'] }),
    ]
    const ids = answers.map(answer => answer.headers.get('x-request-id'))
    for (const id of ids) expect(id).toMatch(/^[\w-]{6,64}$/)
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('5.4 bears no CORS header, and a preflight is answered like any other wrong method', async () => {
    const origin = { origin: 'https://loja.example.com' }
    const preflight = { ...origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' }
    const answers = [
      await send(gateway.url, account.token, validSend, origin),
      await send(gateway.url, 'x', validSend, origin),
      await request(`${gateway.url}/gw/email`, { method: 'OPTIONS', headers: preflight }),
      await request(`${gateway.url}/gw/email`, { method: 'OPTIONS', token: account.token, headers: preflight }),
    ]
    expect(answers.map(answer => answer.status)).toEqual([200, 401, 401, 404])
    for (const { headers } of answers) {
      expect([...headers.keys()].filter(name => name.startsWith('access-control-'))).toEqual([])
    }
  })
})

describe('7 trouble in the store', () => {
  const away = 'Serviço temporariamente indisponível: banco de dados fora de alcance. Tente novamente em instantes.'
  const shortRetries = { acceptLimits: { ...ACCEPT_LIMITS, retryForMs: 200 } }

  test('7 a database out of reach is 503 with Retry-After, and 200 once it is back', async () => {
    const own = await databaseForTest()
    // A small pool of its own, so that the test can still reach the server.
    const pool = openPool({ url: own.url, size: 4, onError: () => {} })
    const node = await startGateway(pool, {}, shortRetries)
    try {
      const { token } = await createAccount(own.pool)
      expect((await send(node.url, token, validSend)).status).toBe(200)
      await setReachable(own, false)
      const refusals = [
        await send(node.url, token, validSend),
        await send(node.url, token, { ...validSend, attachments: [{ name: 'a', base64: 'YWJj' }] }),
        await send(node.url, token, validSend, { 'idempotency-key': 'chave' }),
        await request(`${node.url}/readyz`),
      ]
      for (const answer of refusals) {
        expectRefusal(answer, 503, away)
        expect(answer.headers.get('retry-after')).toBe('5')
      }
      expectRefusal(await send(node.url, 'x', validSend), 401, 'Unauthorized')
      expect((await request(`${node.url}/healthz`)).status).toBe(200)
      await setReachable(own, true)
      await expect.poll(async () => (await send(node.url, token, validSend)).status).toBe(200)
      expect((await countRows(own.pool)).notification).toBe(2)
    } finally {
      await node.close()
      await pool.end()
    }
  })

  /** Lets nobody but our own superuser session in, and ends all sessions that are in. */
  async function setReachable(own: TestDatabase, reachable: boolean): Promise<void> {
    const name = new URL(own.url).pathname.slice(1)
    const admin = openPool({ url: inject('server').adminUrl, size: 1, asOwner: true, onError: () => {} })
    try {
      await admin.query(`alter database ${name} allow_connections ${reachable}`)
      if (!reachable) await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
    } finally {
      await admin.end()
    }
  }

  test('7 a send whose database connection is gone for good is 503, however often it is tried', async () => {
    const own = await databaseForTest()
    const pool = openPool({ url: own.url, size: 2, onError: () => {} })
    const node = await startGateway(pool, {}, shortRetries)
    try {
      const { token } = await createAccount(own.pool)
      expect((await send(node.url, token, validSend)).status).toBe(200)
      await pool.end()
      for (let round = 0; round < 3; round++) expectRefusal(await send(node.url, token, validSend), 503, away)
    } finally {
      await node.close()
    }
  })

  test('7 a process whose database connections are all in use is overloaded, and does not say that the database is away', async () => {
    const own = await databaseForTest()
    const { token } = await createAccount(own.pool)
    const pool = openPool({ url: own.url, size: 2, onError: () => {} })
    const node = await startGateway(pool, {}, shortRetries)
    try {
      expect((await send(node.url, token, validSend)).status).toBe(200)
      const held = await Promise.all([pool.connect(), pool.connect()])
      const refusal = await send(node.url, token, validSend)
      expectRefusal(refusal, 503, 'Serviço temporariamente sobrecarregado. Tente novamente em instantes.')
      expect(refusal.headers.get('retry-after')).toBe('5')
      for (const client of held) client.release()
      expect((await send(node.url, token, validSend)).status).toBe(200)
    } finally {
      await node.close()
      await pool.end()
    }
  })

  test('7 a value that PostgreSQL refuses (SQLSTATE class 22) is 400, and its neighbours are 200', async () => {
    await database.asOwner(`
      create function refuse_subject() returns trigger language plpgsql as $$
      begin
        if new.subject = 'estraga' then raise exception 'unsuitable' using errcode = '22P05'; end if;
        return new;
      end $$;
      create trigger refuse_subject before insert on notification for each row execute function refuse_subject();`)
    try {
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          send(gateway.url, account.token, { ...validSend, subject: index === 7 ? 'estraga' : `bom ${index}` }),
        ),
      )
      for (const [index, answer] of answers.entries()) {
        if (index !== 7) expect(answer.status).toBe(200)
        else expectRefusal(answer, 400, 'Um valor enviado não pode ser armazenado. Verifique caracteres e tamanhos dos campos.')
      }
    } finally {
      await database.asOwner('drop trigger refuse_subject on notification; drop function refuse_subject()')
    }
  })

  test('7 a bug is 500 that says Internal Server Error and nothing else', async () => {
    const broken = await gatewayForTest(
      database.pool,
      {},
      {
        store: {
          ...acceptStore(database.pool),
          insertAcceptances: async () => {
            throw new TypeError('segredo interno')
          },
        },
      },
    )
    expectRefusal(await send(broken.url, account.token, validSend), 500, 'Internal Server Error')
  })
})
