import { describe, expect, test } from 'vitest'
import { HeadersTooLarge, MalformedResponse, ResponseReader } from '../../src/webhooks/response-reader.js'

const LIMITS = { maxHeaderBytes: 300, maxBodyBytes: 100, keptBodyBytes: 20 }
const bytes = (text: string): Buffer => Buffer.from(text, 'latin1')

/** What is read of these pieces, until the response ends. */
function read(...pieces: string[]) {
  const reader = new ResponseReader(LIMITS)
  let progress: ReturnType<ResponseReader['push']> = 'incomplete'
  for (const piece of pieces) {
    progress = reader.push(bytes(piece))
    if (progress !== 'incomplete') break
  }
  const { head, keepsAlive, idleMs, endsWithConnection } = reader
  const { status, headers } = head ?? {}
  return {
    progress,
    status,
    headers: { ...headers },
    body: reader.body.toString('latin1'),
    keepsAlive,
    idleMs,
    endsWithConnection,
  }
}

const responses: [string, string, object][] = [
  [
    'with a length',
    'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nX-A:  b \r\n\r\nabc',
    { status: 200, body: 'abc', keepsAlive: true },
  ],
  ['without a reason', 'HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n', { status: 200, body: '', keepsAlive: true }],
  ['that never has a body', 'HTTP/1.1 204 No Content\r\n\r\n', { status: 204, body: '', keepsAlive: true }],
  [
    'whose length is of another',
    'HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n',
    { status: 304, body: '', keepsAlive: true },
  ],
  [
    'in chunks',
    'HTTP/1.1 500 E\r\nTransfer-Encoding: Chunked\r\n\r\n3;a="b"\r\nabc\r\n0A \r\n0123456789\r\n0\r\nx-sum: 1\r\n\r\n',
    { status: 500, body: 'abc0123456789', keepsAlive: true },
  ],
  [
    'after interim ones',
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 201 C\r\ncontent-length: 1\r\n\r\na',
    { status: 201, body: 'a', headers: { 'content-length': '1' } },
  ],
  ['of HTTP/1.0', 'HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\na', { status: 200, body: 'a', keepsAlive: false }],
  [
    'of HTTP/1.0 that goes on',
    'HTTP/1.0 200 OK\r\nconnection: Keep-Alive\r\nkeep-alive: max=5, timeout=7\r\ncontent-length: 1\r\n\r\na',
    { status: 200, body: 'a', keepsAlive: true, idleMs: 7_000 },
  ],
  [
    'that is the last one',
    'HTTP/1.1 200 OK\r\nconnection: foo, Close\r\ncontent-length: 0\r\n\r\n',
    { status: 200, keepsAlive: false, idleMs: null },
  ],
  [
    'with a header twice, and names of every object',
    'HTTP/1.1 200 OK\r\nx-a: 1\r\nX-A: \xe9\r\n__proto__: p\r\nconstructor: c\r\ncontent-length: 0\r\n\r\n',
    {
      headers: Object.fromEntries([
        ['x-a', '1, \xe9'],
        ['__proto__', 'p'],
        ['constructor', 'c'],
        ['content-length', '0'],
      ]),
    },
  ],
]

describe('a response', () => {
  test.each(responses)('%s is read, wherever its bytes are cut', (_, text, expected) => {
    expect(read(text)).toMatchObject({ progress: 'complete', ...expected })
    expect(read(...text)).toMatchObject({ progress: 'complete', ...expected })
    for (let cut = 1; cut < text.length; cut++) {
      expect(read(text.slice(0, cut))).toMatchObject({ progress: 'incomplete' })
      expect(read(text.slice(0, cut), text.slice(cut))).toMatchObject({ progress: 'complete', ...expected })
    }
  })

  test.each(responses)('%s is followed by nothing', (_, text) => {
    expect(read(`${text}H`).progress).toBe('surplus')
  })

  test.each([
    ['no length', 'HTTP/1.1 200 OK\r\nx-a: b\r\n\r\nabc'],
    ['another encoding', 'HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n3\r\nabc'],
  ])('with %s ends with its connection, which is not used again', (_, text) => {
    expect(read(text, 'def')).toMatchObject({ progress: 'incomplete', status: 200, keepsAlive: false, endsWithConnection: true })
  })

  test('in chunks of HTTP/1.0 is read, and its connection is not used again', () => {
    const text = 'HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n'
    expect(read(text)).toMatchObject({ progress: 'complete', body: 'a', keepsAlive: false })
  })
})

describe('what is refused', () => {
  test.each([
    'SSH-2.0-OpenSSH_9.2\r\n',
    'x',
    'HTTP/2 200 OK\r\n\r\n',
    'HTTP/1.1 20 OK\r\n\r\n',
    'HTTP/1.1 2000 OK\r\n\r\n',
    'HTTP/1.1  200 OK\r\n\r\n',
    'HTTP/1.1 200 O\0K\r\n\r\n',
    '\r\nHTTP/1.1 200 OK\r\n\r\n',
    'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n',
    'HTTP/1.1 200 OK\r\nno colon\r\n\r\n',
    'HTTP/1.1 200 OK\r\n: no name\r\n\r\n',
    'HTTP/1.1 200 OK\r\ncontent-length : 1\r\n\r\n',
    'HTTP/1.1 200 OK\r\nx: a\r\n folded\r\n\r\n',
    'HTTP/1.1 200 OK\r\nx: a\ncontent-length: 1\r\n\r\n',
    'HTTP/1.1 200 OK\r\nx: a\rb\r\n\r\n',
    'HTTP/1.1 200 OK\r\nx: a\0b\r\n\r\n',
    'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 1\r\n\r\n',
    'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n',
    ...['-1', '+1', '0x1', '1, 1', '1 1', '', '9999999999999999'].map(
      length => `HTTP/1.1 200 OK\r\ncontent-length: ${length}\r\n\r\n`,
    ),
    ...['\r\n', 'g\r\n', '-1\r\n', '0x1\r\na', '100000000\r\n', '1\r\nab\r\n', '1\ra', '0\r\nno colon\r\n', '0\r\n\0: a\r\n'].map(
      chunks => `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunks}${chunks === '1\ra' ? '\r\n' : ''}`,
    ),
  ])('%j', text => {
    expect(() => read(text)).toThrow(MalformedResponse)
    expect(() => read(...text)).toThrow(MalformedResponse)
  })

  test.each([
    ['a header', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(300)}\r\n\r\n`],
    ['a header without an end', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(3_000)}`],
    ['many interim responses', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(20)],
    ['a chunk size without an end', `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;${'y'.repeat(300)}`],
    ['many small chunks', `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\na\r\n'.repeat(90)}`],
    ['trailers', `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n${'x: y\r\n'.repeat(90)}\r\n`],
  ])('%s of more bytes than allowed', (_, text) => {
    expect(() => read(text)).toThrow(HeadersTooLarge)
    expect(() => read(...text)).toThrow(HeadersTooLarge)
  })

  test('headers of as many bytes as allowed are read', () => {
    const fixed = 'HTTP/1.1 204 OK\r\nx: \r\n\r\n'
    const most = fixed.replace('x: ', `x: ${'y'.repeat(LIMITS.maxHeaderBytes - fixed.length)}`)
    expect(read(most).progress).toBe('complete')
    expect(() => read(most.replace('x: ', 'x: y'))).toThrow(HeadersTooLarge)
  })

  test.each(['content-length: 5000', 'x-length: none', 'transfer-encoding: chunked'])(
    'a body with %s is abandoned at its limit, and its beginning is kept',
    header => {
      const body = header.includes('chunked') ? `1388\r\n${'a'.repeat(5_000)}` : 'a'.repeat(5_000)
      for (const pieces of [[body], [...body]]) {
        const { progress, body: kept } = read(`HTTP/1.1 200 OK\r\n${header}\r\n\r\n`, ...pieces)
        expect([progress, kept]).toEqual(['too large', 'a'.repeat(LIMITS.keptBodyBytes)])
      }
    },
  )
})
