import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { composeEmail } from '../../../../src/channels/email/message/compose.js'
import { stuffDots } from '../../../../src/channels/email/smtp/commands.js'
import { ReplyReader } from '../../../../src/channels/email/smtp/reply.js'
import { type Limits, type ServerSettings, SmtpSession, StaleSession } from '../../../../src/channels/email/smtp/session.js'
import type { SendError, SendErrorKind } from '../../../../src/channels/provider.js'
import { deferred } from '../../../support/deferred.js'
import { failureOf } from '../../send-failure.js'
import { email } from '../messages.js'
import { multiline, type Point, type ScriptedServer, type Step, scriptedServer } from '../scripted-server.js'

const limits = (signal = new AbortController().signal): Limits => ({ deadline: performance.now() + 20_000, signal })
const envelope = { from: 'b+1@bounce.example.com', to: 'joao@example.net', id: 'ref-1' }
const raw = composeEmail(email())
/** For the tests in which the server keeps silent. */
const shortTimeouts = { connect: 2_000, reply: 200, data: 200 }

const settings = (server: ScriptedServer, changes: Partial<ServerSettings> = {}): ServerSettings => ({
  host: '127.0.0.1',
  port: server.port,
  helo: 'envio.example.com',
  tls: 'off',
  credentials: null,
  ...changes,
})

async function open(server: ScriptedServer, changes: Partial<ServerSettings> = {}): Promise<SmtpSession> {
  const session = await SmtpSession.open(settings(server, changes), limits())
  onTestFinished(() => session.close())
  return session
}

/** Opens and sends, as one try does. */
async function attempt(server: ScriptedServer, changes: Partial<ServerSettings> = {}): Promise<unknown> {
  const session = await open(server, changes)
  return await session.send(envelope, raw, limits())
}

const SIMPLE = ['SIZE 10000000', '8BITMIME']
const PIPELINED = ['PIPELINING', ...SIMPLE]

/** Takes a message piece by piece, with a rest after each; null: not at all. */
async function slowReader(restMs: number | null): Promise<ScriptedServer> {
  const server = createServer(socket => {
    let inData = false
    let tail = ''
    socket.on('error', () => {})
    onTestFinished(() => void socket.destroy())
    socket.write('220 x\r\n')
    socket.on('data', bytes => {
      const text = bytes.toString('latin1')
      tail = (tail + text).slice(-5)
      if (!inData) {
        inData = text.startsWith('DATA')
        socket.write(inData ? '354 go\r\n' : '250 ok\r\n')
      } else if (tail === '\r\n.\r\n') socket.write('250 taken\r\n')
      if (!inData) return
      socket.pause()
      if (restMs !== null) setTimeout(() => socket.resume(), restMs)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return { port: (server.address() as AddressInfo).port } as ScriptedServer
}

describe('what a reply means for the message, with and without pipelining', () => {
  const cases: [Point, Step, SendErrorKind][] = [
    ['greeting', '421 4.3.2 Shutting down', 'temporary'],
    ['greeting', '421 4.7.0 Too many connections from your address', 'throttled'],
    ['greeting', '554 5.7.1 Blocked', 'temporary'],
    ['greeting', 'RESET', 'temporary'],
    ['greeting', 'CLOSE', 'temporary'],
    ['greeting', 'HTTP/1.1 400 Bad Request', 'temporary'],
    ['EHLO', '421 4.3.0 Not now', 'temporary'],
    ['EHLO', '550 5.7.1 Not you', 'temporary'],
    ['EHLO', 'RESET', 'temporary'],
    ['MAIL', '451 4.3.0 Try later', 'temporary'],
    ['MAIL', '450 4.7.1 Rate limit reached', 'throttled'],
    ['MAIL', '421 4.7.0 Slow down', 'throttled'],
    ['MAIL', '550 5.7.1 Sender refused', 'permanent'],
    ['MAIL', '530 5.7.0 Authentication required', 'temporary'],
    ['MAIL', '552 5.3.4 Too big', 'permanent'],
    ['MAIL', 'RESET', 'temporary'],
    ['MAIL', 'CLOSE', 'temporary'],
    ['MAIL', 'nonsense', 'temporary'],
    ['RCPT', '450 4.2.1 Mailbox busy', 'temporary'],
    ['RCPT', '450 4.2.0 Greylisted, come back in 5 minutes', 'temporary'],
    ['RCPT', '451 4.7.1 Greylisting in action, try again in 300 seconds', 'temporary'],
    ['RCPT', '452 4.2.2 Mailbox over quota', 'temporary'],
    ['RCPT', '452 4.5.3 Too many recipients this hour', 'throttled'],
    ['RCPT', '451 4.7.650 The mail server has been temporarily rate limited', 'throttled'],
    ['RCPT', '550 5.1.1 User unknown', 'permanent'],
    ['RCPT', '553 5.1.3 Bad address', 'permanent'],
    ['RCPT', 'RESET', 'temporary'],
    ['DATA', '451 4.3.0 Try later', 'temporary'],
    ['DATA', '554 5.5.1 No valid recipients', 'permanent'],
    ['DATA', 'CLOSE', 'temporary'],
    ['DATA', '250 Ok?', 'temporary'],
    ['end', '451 4.3.0 Try later', 'temporary'],
    ['end', '452 4.3.1 System busy, too many messages', 'throttled'],
    ['end', '554 5.7.1 Looks like spam', 'permanent'],
    ['end', '421 4.3.0 Going down', 'temporary'],
    ['end', 'RESET', 'uncertain'],
    ['end', 'CLOSE', 'uncertain'],
    ['end', 'nonsense', 'uncertain'],
    ['end', '250-half a reply', 'uncertain'],
  ]

  for (const [way, extensions] of [
    ['pipelined', PIPELINED],
    ['one by one', SIMPLE],
  ] as const) {
    test.each(cases)(`${way}: %s answered with %j is %s`, async (point, step, kind) => {
      const server = await scriptedServer({ extensions: [...extensions], at: at => (at === point ? step : undefined) })
      const timeouts = step === '250-half a reply' ? { timeouts: shortTimeouts } : {}
      const error = await failureOf(attempt(server, timeouts))
      expect(error.kind).toBe(kind)
      expect(error.reason).toMatch(/^[\p{Lu}].*\.$/u)
      // A reply that was understood is kept as it came.
      expect(error.answer).toBe(/^[45]\d\d /.test(step) || step === '250 Ok?' ? step : null)
    })

    test.each(['greeting', 'EHLO', 'MAIL', 'RCPT', 'DATA', 'end'] as const)(`${way}: silence at %s ends in time`, async point => {
      const server = await scriptedServer({ extensions: [...extensions], at: at => (at === point ? 'SILENCE' : undefined) })
      const error = await failureOf(attempt(server, { timeouts: shortTimeouts }))
      expect(error.kind).toBe(point === 'end' ? 'uncertain' : 'temporary')
      await expect.poll(() => server.open).toBe(0)
    })
  }

  test('nobody listens: temporary', async () => {
    const server = await scriptedServer()
    const error = await failureOf(attempt({ ...server, port: 1 }))
    expect(error).toMatchObject({ kind: 'temporary', reason: 'Não foi possível conectar ao servidor de e-mail.', answer: null })
  })

  test('the reason names what the enhanced status code says', async () => {
    const reasons: [string, string][] = [
      ['550 5.1.1 User unknown', 'O endereço do destinatário não existe.'],
      ['552 5.2.2 Over quota', 'A caixa postal do destinatário está cheia.'],
      ['550 no such user', 'O servidor de e-mail recusou o destinatário.'],
      ['556 5.1.10 Null MX', 'O domínio do destinatário declara que não recebe e-mails.'],
    ]
    for (const [step, reason] of reasons) {
      const server = await scriptedServer({ at: at => (at === 'RCPT' ? step : undefined) })
      expect((await failureOf(attempt(server))).reason).toBe(reason)
    }
  })

  test('a wait that the server names is passed on', async () => {
    const waits: [string, number | null][] = [
      ['451 4.7.1 Greylisted, try again in 300 seconds', 300_000],
      ['450 4.2.0 Come back in 5 minutes please', 300_000],
      ['421 4.7.0 Too many, retry in 2 hours', 7_200_000],
      ['450 4.2.0 Try later', null],
      ['550 5.1.1 Gone in 60 seconds', null],
    ]
    for (const [step, wait] of waits) {
      const server = await scriptedServer({ at: at => (at === 'RCPT' ? step : undefined) })
      expect((await failureOf(attempt(server))).retryAfterMs, step).toBe(wait)
    }
  })

  test.each([
    ['354 Go\r\n250 2.0.0 Ok', 'temporary'],
    ['354 Go\r\n554 5.7.1 Changed my mind', 'permanent'],
  ] as const)('%j to DATA: what comes before the message is no answer to it', async (step, kind) => {
    const server = await scriptedServer({ at: at => (at === 'DATA' ? step : undefined) })
    const session = await open(server)
    const error = await failureOf(session.send(envelope, raw, limits()))
    expect(error).toMatchObject({ kind, answer: step.split('\r\n')[1] })
    expect(session.isUsable).toBe(false)
    expect(server.messages).toEqual([])
  })

  test('a connection that breaks right after 354 is temporary: the message had not left', async () => {
    const server = await scriptedServer({ at: at => (at === 'RCPT' ? '250 Ok\r\n354 Go\r\nnonsense' : undefined) })
    expect((await failureOf(attempt(server))).kind).toBe('temporary')
    expect(server.messages).toEqual([])
  })

  test('a reply of several lines is read as one and kept whole, without control characters', async () => {
    const reply = '550-5.7.26 This mail\u0000 is not\r\n550-5.7.26 authenticated\r\n550 5.7.26 Bye'
    const server = await scriptedServer({ at: at => (at === 'end' ? reply : undefined) })
    const error = await failureOf(attempt(server))
    expect(error).toMatchObject({
      kind: 'permanent',
      reason: 'O servidor recusou a mensagem: autenticação do remetente (SPF, DKIM) não confere.',
      answer: '550-5.7.26 This mail  is not\n550-5.7.26 authenticated\n550 5.7.26 Bye',
    })
  })

  test('a yes that is cut inside a character is a yes that can be stored', async () => {
    // The answer is kept up to a length at which a character of two halves stands.
    const server = await scriptedServer({ at: at => (at === 'end' ? `250 ${'x'.repeat(995)}😀 guardada` : undefined) })
    const reply = (await attempt(server)) as { code: number; text: string }
    expect(reply).toMatchObject({ code: 250, text: expect.stringMatching(/^250 x+/) })
    expect(reply.text.isWellFormed()).toBe(true)
  })

  test('a character that is split between two reads stays whole', () => {
    const reader = new ReplyReader()
    const bytes = Buffer.from('250 Olá, João 😀\r\n')
    const replies = [...bytes].flatMap(byte => [...reader.read(Buffer.from([byte]))])
    expect(replies).toMatchObject([{ code: 250, text: '250 Olá, João 😀' }])
  })

  test.each<[flood: string, outcome: SendErrorKind | 'sent', step: string]>([
    ['a line without end', 'uncertain', 'x'.repeat(100_000)],
    ['a long line', 'uncertain', `250 ${'x'.repeat(5_000)}`],
    ['a reply without end', 'uncertain', multiline(250, Array(500).fill('more'))],
    // The first reply is the answer; the others make the connection useless.
    ['unasked replies without end', 'sent', Array(100).fill('250 Ok').join('\r\n')],
  ])('a server that floods us with %s is left, and the outcome is: %s', async (_, expected, step) => {
    const server = await scriptedServer({ at: at => (at === 'end' ? step : undefined) })
    const session = await open(server)
    const outcome = await session.send(envelope, raw, limits()).then(
      () => 'sent',
      (error: SendError) => error.kind,
    )
    expect(outcome).toBe(expected)
    await expect.poll(() => session.isUsable).toBe(false)
    await expect.poll(() => server.open).toBe(0)
  })
})

describe('on the wire', () => {
  test('pipelined: MAIL, RCPT and DATA go in one write, message and dot in a second one', async () => {
    const server = await scriptedServer()
    await attempt(server)
    expect(server.reads.slice(1)).toEqual([
      [
        `MAIL FROM:<b+1@bounce.example.com> SIZE=${raw.length} RET=HDRS ENVID=ref-1`,
        'RCPT TO:<joao@example.net> NOTIFY=SUCCESS,FAILURE,DELAY ORCPT=rfc822;joao@example.net',
        'DATA',
        '',
      ].join('\r\n'),
      `${raw.toString('latin1')}.\r\n`,
    ])
  })

  test('not pipelined: each command waits for the answer to the one before', async () => {
    const server = await scriptedServer({ extensions: SIMPLE })
    await attempt(server)
    expect(server.reads).toEqual([
      'EHLO envio.example.com\r\n',
      `MAIL FROM:<b+1@bounce.example.com> SIZE=${raw.length}\r\n`,
      'RCPT TO:<joao@example.net>\r\n',
      'DATA\r\n',
      `${raw.toString('latin1')}.\r\n`,
    ])
  })

  test('a server that knows no EHLO is greeted with HELO and gets no parameters', async () => {
    const server = await scriptedServer({ at: at => (at === 'EHLO' ? '502 5.5.1 Not implemented' : undefined) })
    await attempt(server)
    expect(server.commands).toEqual([
      'EHLO envio.example.com',
      'HELO envio.example.com',
      'MAIL FROM:<b+1@bounce.example.com>',
      'RCPT TO:<joao@example.net>',
      'DATA',
    ])
  })

  test('ENVID and ORCPT are encoded as RFC 3461 asks', async () => {
    const server = await scriptedServer()
    const session = await open(server)
    await session.send({ from: 'b@x.example', to: 'a+b=c@y.example', id: 'id+1=é ~' }, raw, limits())
    expect(server.commands).toContain(`MAIL FROM:<b@x.example> SIZE=${raw.length} RET=HDRS ENVID=id+2B1+3D+C3+A9+20~`)
    expect(server.commands).toContain('RCPT TO:<a+b=c@y.example> NOTIFY=SUCCESS,FAILURE,DELAY ORCPT=rfc822;a+2Bb+3Dc@y.example')
  })

  test('a line that begins with a dot gets another one, in the middle and at the start', async () => {
    const server = await scriptedServer()
    const session = await open(server)
    await session.send(envelope, Buffer.from('.um\r\ndois\r\n..três\r\n.\r\n'), limits())
    expect(server.messages).toEqual(['..um\r\ndois\r\n...três\r\n..\r\n'.replace('ê', 'Ãª')])
  })

  test('no lone CR or LF leaves, and the last line is ended', () => {
    expect(stuffDots(Buffer.from('a\n.\nb\r.\rc')).toString()).toBe('a\r\n..\r\nb\r\n..\r\nc\r\n')
    expect(stuffDots(Buffer.from('a\r\n\n.\r\nb\r\n')).toString()).toBe('a\r\n\r\n..\r\nb\r\n')
    expect(stuffDots(Buffer.from('')).toString()).toBe('\r\n')
    expect(stuffDots(Buffer.from('a\r\r\nb\r\n')).toString()).toBe('a\r\n\r\nb\r\n')
    const clean = Buffer.from('a\r\nb\r\n')
    expect(stuffDots(clean)).toBe(clean)
  })

  test('an address that could end its command is refused before anything is said', async () => {
    const server = await scriptedServer()
    const session = await open(server)
    for (const to of ['a@b.example>\r\nRCPT TO:<x@y.example', 'a@b.example> NOTIFY=NEVER', 'a b@c.example', '<a@b.example>']) {
      const error = await failureOf(session.send({ ...envelope, to }, raw, limits()))
      expect(error.kind).toBe('permanent')
      expect((await failureOf(session.send({ ...envelope, from: to }, raw, limits()))).kind).toBe('permanent')
    }
    await session.send(envelope, raw, limits())
    expect(server.commands.filter(command => command.startsWith('RCPT'))).toHaveLength(1)
  })

  test('a message over the size that the server takes is refused without sending it', async () => {
    const server = await scriptedServer({ extensions: ['SIZE 100'] })
    const error = await failureOf(attempt(server))
    expect(error).toMatchObject({ kind: 'permanent', reason: 'A mensagem é grande demais para o servidor de e-mail.' })
    expect(server.commands).toEqual(['EHLO envio.example.com'])
  })

  test('SIZE without a number, or zero, is no limit', async () => {
    for (const extensions of [['SIZE'], ['SIZE 0']]) {
      const server = await scriptedServer({ extensions })
      await attempt(server)
      expect(server.messages).toEqual([raw.toString('latin1')])
    }
  })

  test('a message with bytes over 127 is announced as such', async () => {
    const server = await scriptedServer()
    const session = await open(server)
    await session.send(envelope, Buffer.from('Subject: x\r\n\r\nolá\r\n'), limits())
    expect(server.commands).toContain('MAIL FROM:<b+1@bounce.example.com> SIZE=20 BODY=8BITMIME RET=HDRS ENVID=ref-1')
    expect(Buffer.from(server.messages[0]!, 'latin1').toString()).toBe('Subject: x\r\n\r\nolá\r\n')
  })

  test('an address outside ASCII needs SMTPUTF8: announced where it is offered, refused where it is not', async () => {
    const message = email({ to: 'joão@example.net' })
    const international = { ...envelope, to: message.to }
    const server = await scriptedServer()
    await (await open(server)).send(international, composeEmail(message), limits())
    const utf8 = server.commands.map(command => Buffer.from(command, 'latin1').toString())
    expect(utf8[1]).toMatch(/ BODY=8BITMIME SMTPUTF8 RET=HDRS /)
    expect(utf8[2]).toBe('RCPT TO:<joão@example.net> NOTIFY=SUCCESS,FAILURE,DELAY ORCPT=utf-8;jo\\x{E3}o@example.net')

    const seven = await open(await scriptedServer({ extensions: ['PIPELINING'] }))
    const eightBits = await failureOf(seven.send(envelope, Buffer.from('Subject: x\r\n\r\nolá\r\n'), limits()))
    expect(eightBits).toMatchObject({ kind: 'permanent', reason: 'O servidor de e-mail não aceita mensagens de 8 bits.' })

    const plain = await scriptedServer({ extensions: PIPELINED })
    const error = await failureOf((await open(plain)).send(international, composeEmail(message), limits()))
    expect(error.kind).toBe('permanent')
    expect(plain.commands).toHaveLength(1)
  })

  test('a large message arrives whole', async () => {
    const server = await scriptedServer({ extensions: ['PIPELINING'] })
    const bytes = Buffer.alloc(3_000_000, 'carteiro')
    const large = composeEmail(email({ attachments: [{ name: 'a.bin', bytes }] }))
    await (await open(server)).send(envelope, large, limits())
    expect(server.messages[0]!.length).toBe(large.length)
    expect(Buffer.from(server.messages[0]!, 'latin1').equals(large)).toBe(true)
  })

  test('a break while a large message is on its way is temporary: the dot has not left', async () => {
    const server = createServer(socket => {
      socket.on('error', () => {})
      socket.write('220 x\r\n')
      socket.once('data', () => {
        socket.write('250 x\r\n')
        socket.on('data', bytes => {
          const text = bytes.toString('latin1')
          if (text.startsWith('DATA')) {
            socket.write('354 go\r\n')
            socket.pause()
            // The kernel's buffers fill up; then the connection breaks.
            setImmediate(() => socket.resetAndDestroy())
          } else socket.write('250 ok\r\n')
        })
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const { port } = server.address() as { port: number }
    const session = await SmtpSession.open(settings({ port } as ScriptedServer), limits())
    const error = await failureOf(session.send(envelope, Buffer.alloc(20_000_000, 'x\r\n'), limits()))
    expect(error.kind).toBe('temporary')
  })
})

describe('a connection used again', () => {
  test('carries one message after another without RSET', async () => {
    const server = await scriptedServer()
    const session = await open(server)
    for (let turn = 0; turn < 3; turn++) await session.send(envelope, raw, limits())
    expect(server.connections).toBe(1)
    expect(server.messages).toHaveLength(3)
    expect(server.commands).not.toContain('RSET')
  })

  test.each(['MAIL', 'RCPT', 'DATA'] as const)('goes on after a refusal at %s, with RSET first', async point => {
    for (const extensions of [PIPELINED, SIMPLE]) {
      let refusals = 1
      let isRefused = false
      const at = (command: Point): Step | undefined => {
        isRefused = command === 'RSET' ? false : isRefused || (command === point && refusals-- > 0)
        if (!isRefused) return undefined
        return command === point ? '550 5.1.1 No' : '503 5.5.1 Bad sequence of commands'
      }
      const server = await scriptedServer({ extensions, at })
      const session = await open(server)
      expect((await failureOf(session.send(envelope, raw, limits()))).kind).toBe('permanent')
      expect(session.isUsable).toBe(true)
      await session.send(envelope, raw, limits())
      expect(server.commands.filter(command => command === 'RSET')).toHaveLength(1)
      expect(server.messages.at(-1)).toBe(raw.toString('latin1'))
      expect(server.connections).toBe(1)
    }
  })

  test('pipelined, refused, and DATA taken all the same: an empty message ends it, and nothing of ours is in it', async () => {
    let refusals = 1
    const server = await scriptedServer({ at: at => (at === 'RCPT' && refusals-- > 0 ? '550 5.1.1 No' : undefined) })
    const session = await open(server)
    const error = await failureOf(session.send(envelope, raw, limits()))
    expect(error).toMatchObject({ kind: 'permanent', answer: '550 5.1.1 No' })
    expect(server.messages).toEqual([''])
    await session.send(envelope, raw, limits())
    expect(server.messages).toEqual(['', raw.toString('latin1')])
  })

  test('pipelined, RSET refused, and all the rest taken: the connection is dropped, and no empty message arrives', async () => {
    let refusals = 1
    const server = await scriptedServer({
      at: at => (at === 'RSET' ? '502 5.5.1 No' : at === 'RCPT' && refusals-- > 0 ? '550 5.1.1 No' : undefined),
      extensions: PIPELINED,
    })
    const session = await open(server)
    await failureOf(session.send(envelope, raw, limits()))
    server.messages.length = 0
    expect(await failureOf(session.send(envelope, raw, limits()))).toMatchObject({ answer: '502 5.5.1 No' })
    expect(session.isUsable).toBe(false)
    await expect.poll(() => server.open).toBe(0)
    expect(server.messages).toEqual([])
  })

  test('a refusal after the dot ends the transaction: no RSET', async () => {
    let refusals = 1
    const server = await scriptedServer({ at: at => (at === 'end' && refusals-- > 0 ? '554 5.7.1 Spam' : undefined) })
    const session = await open(server)
    await failureOf(session.send(envelope, raw, limits()))
    await session.send(envelope, raw, limits())
    expect(server.commands).not.toContain('RSET')
  })

  test('that the server has left meanwhile is stale, not a failed message', async () => {
    const leaving = async (step: Step): Promise<SendError> => {
      let turn = 0
      const server = await scriptedServer({ at: at => (at === 'MAIL' && ++turn === 2 ? step : undefined) })
      const session = await open(server)
      await session.send(envelope, raw, limits())
      return await failureOf(session.send(envelope, raw, limits()))
    }
    for (const step of ['CLOSE', 'RESET', '421 4.4.2 Idle for too long'] as const) {
      expect(await leaving(step), step).toBeInstanceOf(StaleSession)
    }
    expect(await leaving('451 4.3.0 Later')).not.toBeInstanceOf(StaleSession)
  })

  test('an unsolicited 421 makes it unusable', async () => {
    const server = await scriptedServer({ at: at => (at === 'end' ? '250 Ok\r\n421 4.3.2 Shutting down' : undefined) })
    const session = await open(server)
    await session.send(envelope, raw, limits())
    await expect.poll(() => session.isUsable).toBe(false)
  })

  test('closing says QUIT', async () => {
    const server = await scriptedServer()
    const session = await open(server)
    session.close()
    await expect.poll(() => server.open).toBe(0)
    expect(server.commands.at(-1)).toBe('QUIT')
  })
})

describe('cancelling', () => {
  test.each(['greeting', 'EHLO', 'MAIL', 'DATA', 'end'] as const)(
    'while the server thinks at %s: known when the dot has not left',
    async point => {
      const stop = new AbortController()
      const server = await scriptedServer({
        at: at => {
          if (at !== point) return undefined
          setImmediate(() => stop.abort())
          return 'SILENCE'
        },
      })
      const trying = (async () => {
        const session = await SmtpSession.open(settings(server), limits(stop.signal))
        return await session.send(envelope, raw, limits(stop.signal))
      })()
      const error = await failureOf(trying)
      expect(error.kind).toBe(point === 'end' ? 'uncertain' : 'temporary')
      await expect.poll(() => server.open).toBe(0)
    },
  )

  test('before it begins: temporary, and nothing is said', async () => {
    const server = await scriptedServer()
    const error = await failureOf(SmtpSession.open(settings(server), limits(AbortSignal.abort())))
    expect(error.kind).toBe('temporary')
    expect(server.commands).toEqual([])
  })

  test('the deadline ends what has not begun to leave, even where the server’s own time is not up', async () => {
    const server = await scriptedServer({ at: at => (at === 'RCPT' ? 'SILENCE' : undefined) })
    const session = await open(server)
    const soon = { deadline: performance.now() + 300, signal: new AbortController().signal }
    expect((await failureOf(session.send(envelope, raw, soon))).kind).toBe('temporary')
  })
})

describe('once the data leaves', () => {
  test('the server may take longer to reply to the message than the message may take to start', async () => {
    const thought = deferred<string>()
    const server = await scriptedServer({ at: at => (at === 'end' ? thought.promise : undefined) })
    const session = await open(server)
    const soon = { deadline: performance.now() + 2_000, signal: new AbortController().signal }
    const sending = session.send(envelope, raw, soon)
    await expect.poll(() => performance.now()).toBeGreaterThan(soon.deadline + 200)
    thought.resolve('250 2.0.0 Thought about it')
    expect(await sending).toMatchObject({ code: 250, text: '250 2.0.0 Thought about it' })
  })

  test('a large message may take any time as long as it makes progress', async () => {
    const server = await slowReader(12)
    const session = await SmtpSession.open({ ...settings(server), timeouts: { upload: 5_000, data: 60_000 } }, limits())
    onTestFinished(() => session.close())
    const soon = { deadline: performance.now() + 5_000, signal: new AbortController().signal }
    expect(await session.send(envelope, Buffer.alloc(30_000_000, `${'x'.repeat(62)}\r\n`), soon)).toMatchObject({ code: 250 })
    // The reader rests 12 ms after each of at least 450 chunks.
    expect(performance.now()).toBeGreaterThan(soon.deadline)
  })

  test('a message without progress is given up as temporary', async () => {
    const server = await slowReader(null)
    const session = await SmtpSession.open({ ...settings(server), timeouts: { upload: 300 } }, limits())
    expect((await failureOf(session.send(envelope, Buffer.alloc(30_000_000, 'x\r\n'), limits()))).kind).toBe('temporary')
  })
})
