import { createHash, generateKeyPairSync, hash, X509Certificate } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createSigner } from '../../../../src/channels/email/dkim/signer.js'
import { readSigningKey } from '../../../../src/channels/email/dkim/signing-key.js'
import type { EmailMessage } from '../../../../src/channels/email/email-message.js'
import { composeEmail } from '../../../../src/channels/email/message/compose.js'
import { createComposer } from '../../../../src/channels/email/message/composer.js'
import { readSmtpUrl, type SmtpOptions, smtpProvider } from '../../../../src/channels/email/smtp/smtp.js'
import { packContent } from '../../../../src/channels/pack-content.js'
import type { Carrier, SendError } from '../../../../src/channels/provider.js'
import type { SentContent } from '../../../../src/domain/delivery/sent-content.js'
import { selfSigned } from '../../../support/programs/certificate.js'
import { failureOf } from '../../send-failure.js'
import { email } from '../messages.js'
import { type Point, scriptedServer } from '../scripted-server.js'

const never = new AbortController().signal

async function carrier(url: string, options: Partial<SmtpOptions> = {}): Promise<Carrier<EmailMessage>> {
  const opened = await smtpProvider({ signer: null, ...options }).open(new URL(url))
  onTestFinished(() => opened.close())
  return opened
}

interface Received {
  from: string
  to: string[]
  raw: string
  secure: boolean
  user: unknown
}

/** A complete server of another make, with TLS and AUTH. */
async function realServer(
  options: SMTPServerOptions = {},
): Promise<{ port: number; received: Received[]; connections: () => number }> {
  const received: Received[] = []
  let connections = 0
  const server = new SMTPServer({
    disableReverseLookup: true,
    authOptional: true,
    logger: false,
    closeTimeout: 100,
    maxAllowedUnauthenticatedCommands: false,
    onConnect(_session, done) {
      connections++
      done()
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', chunk => chunks.push(chunk))
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope
        received.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          raw: Buffer.concat(chunks).toString('latin1'),
          secure: session.secure,
          user: session.user,
        })
        done()
      })
    },
    ...options,
  })
  server.on('error', () => {})
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise<void>(resolve => server.close(resolve)))
  return { port: (server.server.address() as AddressInfo).port, received, connections: () => connections }
}

const onAuth: NonNullable<SMTPServerOptions['onAuth']> = (auth, _session, done) =>
  auth.username === 'usuário' && auth.password === 'se:nh@ 1' ? done(null, { user: auth.method }) : done(new Error('no'))

const USER = 'usu%C3%A1rio:se%3Anh%40%201'

describe('the relay provider', () => {
  test('hands over a message and gives the relay’s own answer; delivery is not known yet', async () => {
    const server = await scriptedServer()
    const receipt = await (await carrier(`smtp://127.0.0.1:${server.port}?tls=off&name=envio.example.com`)).send(email(), never)
    expect(receipt).toMatchObject({ references: [], answer: '250 2.0.0 Ok: queued as 4YbX2k0QzB', delivered: false })
    expect(server.commands).toContain('EHLO envio.example.com')
    expect(server.commands.some(command => command.startsWith(`MAIL FROM:<${email().envelopeFrom}>`))).toBe(true)
    expect(server.commands.some(command => command.includes(` ENVID=${email().reference}`))).toBe(true)
    expect(server.messages).toEqual([composeEmail(email()).toString('latin1')])
  })

  test('a server of another make gets what was composed, byte for byte', async () => {
    const server = await realServer()
    const message = email({ text: '.\n..\nponto', attachments: [{ name: 'ç.bin', bytes: Buffer.alloc(200_000, '.\r\n') }] })
    await (await carrier(`smtp://127.0.0.1:${server.port}?tls=off`)).send(message, never)
    expect(server.received).toEqual([
      {
        from: message.envelopeFrom,
        to: [message.to],
        raw: composeEmail(message).toString('latin1'),
        secure: false,
        user: undefined,
      },
    ])
  })

  test.each([
    ['with pipelining', {}],
    ['without pipelining', { hidePIPELINING: true }],
    ['without extensions', { hidePIPELINING: true, hide8BITMIME: true, hideSMTPUTF8: true, hideSize: true }],
    ['with DSN', { hideDSN: false }],
  ])('%s, a hundred messages at once over five connections all arrive, once', async (_, options) => {
    const server = await realServer(options)
    const opened = await carrier(`smtp://127.0.0.1:${server.port}?tls=off&pool=5`)
    const messages = Array.from({ length: 100 }, (_, index) =>
      email({ to: `pessoa${index}@example.net`, subject: `Nº ${index}` }),
    )
    await Promise.all(messages.map(message => opened.send(message, never)))
    expect(server.received.map(({ to }) => to[0]).sort()).toEqual(messages.map(({ to }) => to).sort())
    expect(server.connections()).toBe(5)
  })

  test('every refusal concerns its own message only', async () => {
    const server = await realServer({
      onRcptTo({ address }, _session, done) {
        const wrong = Number(/\d+/.exec(address)![0]) % 3 === 0
        done(wrong ? Object.assign(new Error('5.1.1 no such user'), { responseCode: 550 }) : null)
      },
    })
    const opened = await carrier(`smtp://127.0.0.1:${server.port}?tls=off&pool=3`)
    const outcomes = await Promise.allSettled(
      Array.from({ length: 30 }, (_, index) => opened.send(email({ to: `p${index}@example.net` }), never)),
    )
    for (const [index, outcome] of outcomes.entries()) {
      expect(outcome.status).toBe(index % 3 === 0 ? 'rejected' : 'fulfilled')
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ kind: 'permanent' })
    }
    expect(server.received).toHaveLength(20)
    expect(server.connections()).toBeLessThanOrEqual(3)
  })
})

describe('a relay that refuses us says nothing about the recipient', () => {
  const cases: [Point, string, SendError['kind'], SendError['scope']][] = [
    ['greeting', '554 5.7.1 Your address is blocked', 'temporary', 'carrier'],
    ['EHLO', '550 5.7.1 Not you', 'temporary', 'carrier'],
    ['MAIL', '550 5.7.1 Sender not verified', 'temporary', 'message'],
    ['MAIL', '553 5.7.1 Sender address rejected: not owned by user', 'temporary', 'message'],
    ['MAIL', '450 4.1.8 Sender address rejected: Domain not found', 'temporary', 'message'],
    ['MAIL', '550 Credits used up', 'temporary', 'message'],
    ['MAIL', '530 5.7.0 Authentication required', 'temporary', 'carrier'],
    ['MAIL', '421 4.7.0 Slow down', 'throttled', 'carrier'],
    ['MAIL', '552 5.3.4 Message too big', 'permanent', 'carrier'],
    ['RCPT', '550 5.7.1 Relaying denied', 'temporary', 'carrier'],
    ['RCPT', '554 5.7.1 <joao@example.net>: Relay access denied', 'temporary', 'carrier'],
    ['RCPT', '550 5.7.54 SMTP; Unable to relay recipient in non-accepted domain', 'temporary', 'carrier'],
    ['RCPT', '554 5.7.1 <unknown[192.0.2.1]>: Client host rejected: Access denied', 'temporary', 'carrier'],
    ['RCPT', '553 5.7.1 <a@b>: Sender address rejected: not owned', 'temporary', 'message'],
    ['RCPT', '550 5.1.1 User unknown', 'permanent', 'carrier'],
    ['RCPT', '550 5.2.1 The account is disabled; your account team can tell more', 'permanent', 'carrier'],
    ['RCPT', '550 5.7.1 Recipient not authorized', 'permanent', 'carrier'],
    ['end', '554 Message rejected: Email address is not verified', 'temporary', 'message'],
    ['end', '550 5.7.0 Insufficient credits', 'temporary', 'message'],
    ['end', '554 5.7.1 The message holds a credit card number', 'permanent', 'carrier'],
    ['end', '554 5.7.1 Looks like spam', 'permanent', 'carrier'],
  ]
  test.each(cases)('%s answered with %j is %s, of the %s', async (point, step, kind, scope) => {
    const server = await scriptedServer({ at: at => (at === point ? step : undefined) })
    const error = await failureOf((await carrier(`smtp://127.0.0.1:${server.port}?tls=off`)).send(email(), never))
    expect(error).toMatchObject({ kind, answer: step, reason: expect.stringMatching(/^\p{Lu}.*\.$/u) })
    // The scope of what is permanent is nobody's business.
    if (kind !== 'permanent') expect(error.scope).toBe(scope)
  })
})

describe('connections', () => {
  test('are kept and used again', async () => {
    const server = await scriptedServer()
    const opened = await carrier(`smtp://127.0.0.1:${server.port}?tls=off`)
    for (let turn = 0; turn < 5; turn++) await opened.send(email(), never)
    expect(server.connections).toBe(1)
  })

  test('that the server closed meanwhile are replaced without the message noticing', async () => {
    const server = await scriptedServer({
      at: (at, _, connection) => (at === 'MAIL' && connection === 1 && server.messages.length > 0 ? '421 4.4.2 Idle' : undefined),
    })
    const opened = await carrier(`smtp://127.0.0.1:${server.port}?tls=off`)
    await opened.send(email(), never)
    await opened.send(email(), never)
    expect(server.connections).toBe(2)
    expect(server.messages).toHaveLength(2)
  })

  test('are never more than the pool allows, and waiting messages are served in order', async () => {
    let most = 0
    const server = await scriptedServer({
      at: () => {
        most = Math.max(most, server.open)
        return undefined
      },
    })
    const opened = await carrier(`smtp://127.0.0.1:${server.port}?tls=off&pool=2`)
    await Promise.all(Array.from({ length: 20 }, () => opened.send(email(), never)))
    expect(most).toBe(2)
    expect(server.messages).toHaveLength(20)
  })

  test('a slot whose connection broke goes to the next waiting message', async () => {
    const server = await scriptedServer({ at: (at, _, connection) => (at === 'end' && connection === 1 ? 'RESET' : undefined) })
    const opened = await carrier(`smtp://127.0.0.1:${server.port}?tls=off&pool=1`)
    const outcomes = await Promise.allSettled([1, 2, 3].map(() => opened.send(email(), never)))
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
    expect((outcomes[0] as PromiseRejectedResult).reason).toMatchObject({ kind: 'uncertain' })
  })

  test('a waiting message can be cancelled and then occupies no slot', async () => {
    const held: (() => void)[] = []
    const server = await realServer({
      onMailFrom: (_address, _session, done) => void held.push(() => done()),
    })
    const opened = await carrier(`smtp://127.0.0.1:${server.port}?tls=off&pool=1`)
    const first = opened.send(email(), never)
    await expect.poll(() => held).toHaveLength(1)
    const stop = new AbortController()
    const second = failureOf(opened.send(email(), stop.signal))
    stop.abort()
    expect(await second).toMatchObject({ kind: 'temporary' })
    held[0]!()
    await first
    const third = opened.send(email(), never)
    await expect.poll(() => held).toHaveLength(2)
    held[1]!()
    await third
    expect(server.received).toHaveLength(2)
  })

  test('closing says goodbye on every connection', async () => {
    const server = await scriptedServer()
    const opened = await carrier(`smtp://127.0.0.1:${server.port}?tls=off&pool=3`)
    await Promise.all([1, 2, 3].map(() => opened.send(email(), never)))
    await opened.close()
    await expect.poll(() => server.open).toBe(0)
    expect(server.commands.filter(command => command === 'QUIT')).toHaveLength(3)
  })

  test('one shared signal for many sends makes no warning', async () => {
    const warnings: Error[] = []
    const listen = (warning: Error): void => void warnings.push(warning)
    process.on('warning', listen)
    onTestFinished(() => void process.off('warning', listen))
    const server = await realServer()
    const opened = await carrier(`smtp://127.0.0.1:${server.port}?tls=off&pool=30`)
    const { signal } = new AbortController()
    await Promise.all(Array.from({ length: 60 }, () => opened.send(email(), signal)))
    expect(warnings).toEqual([])
  })
})

describe('the conversation, for the proofs', () => {
  const steps = (facts: unknown) => (facts as { smtp: { steps: { command: string; reply: string }[] } }).smtp.steps

  test('has the server, its certificate and every reply, and never a credential', async () => {
    const cert = selfSigned(['localhost', '127.0.0.1'])
    const server = await realServer({ ...cert, onAuth })
    const opened = await carrier(`smtp://${USER}@127.0.0.1:${server.port}?tls=required`, { ca: cert.cert })
    const { facts } = await opened.send(email(), never)
    const again = await opened.send(email(), never)
    const certificate = new X509Certificate(cert.cert)
    expect(facts).toMatchObject({
      smtp: {
        server: '127.0.0.1',
        address: '127.0.0.1',
        port: server.port,
        startedAt: expect.stringMatching(/^\d{4}-.*Z$/),
        tls: {
          version: expect.stringMatching(/^TLSv1\.[23]$/),
          cipher: expect.stringMatching(/^TLS_/),
          verified: true,
          certificate: {
            subject: 'CN=localhost',
            issuer: 'CN=localhost',
            sha256: createHash('sha256').update(certificate.raw).digest('hex'),
            validTo: new Date(certificate.validTo).toISOString(),
          },
        },
      },
    })
    const commands = ['connect', 'STARTTLS', 'AUTH', 'MAIL FROM', 'RCPT TO', 'DATA', 'end of data']
    expect(steps(facts).map(({ command }) => command)).toEqual(commands)
    expect(steps(facts)[0]!.reply).toMatch(/^220 /)
    expect(steps(facts)[2]).toEqual({ command: 'AUTH', reply: '235' })
    expect(steps(facts).at(-1)).toMatchObject({ reply: expect.stringMatching(/^250 /), ms: expect.any(Number) })
    expect(steps(again.facts).map(({ command }) => command)).toEqual(commands)
    const told = JSON.stringify(facts)
    for (const secret of ['se:nh@ 1', 'usuário', Buffer.from('\0usuário\0se:nh@ 1').toString('base64')])
      expect(told).not.toContain(secret)
  })

  test('of a certificate that nobody vouches for says why', async () => {
    const server = await realServer({ ...selfSigned(['other.example.com']) })
    const { facts } = await (await carrier(`smtp://127.0.0.1:${server.port}`)).send(email(), never)
    expect(facts).toMatchObject({ smtp: { tls: { verified: false, fault: expect.stringMatching(/SELF_SIGNED/) } } })
  })

  test('is told of a refusal, of a break and of a server that is not there, with bounded replies', async () => {
    const long = `550 5.7.1 ${'x'.repeat(900)}`
    const server = await scriptedServer({ at: at => (at === 'RCPT' ? long : undefined) })
    const opened = await carrier(`smtp://127.0.0.1:${server.port}?tls=off`)
    const refused = steps((await failureOf(opened.send(email(), never))).facts)
    expect(refused.map(({ command }) => command)).toEqual(['connect', 'MAIL FROM', 'RCPT TO'])
    expect(refused.at(-1)!.reply).toBe(long.slice(0, 300))
    const broken = await scriptedServer({ at: at => (at === 'end' ? 'RESET' : undefined) })
    const lost = await failureOf((await carrier(`smtp://127.0.0.1:${broken.port}?tls=off`)).send(email(), never))
    expect([lost.kind, steps(lost.facts).at(-1)!.command]).toEqual(['uncertain', 'DATA'])
    await broken.leave()
    const away = await failureOf((await carrier(`smtp://127.0.0.1:${broken.port}?tls=off`)).send(email(), never))
    expect(away.facts).toEqual({
      smtp: { server: '127.0.0.1', address: null, port: broken.port, tls: null, fault: 'ECONNREFUSED', steps: [] },
    })
  })
})

test('what is kept of a message is what the server got, byte by byte', async () => {
  const server = await scriptedServer()
  const opened = await carrier(`smtp://127.0.0.1:${server.port}?tls=off`)
  const message = email({
    text: '.\n..\nFrom here\n',
    attachments: [{ name: 'a.bin', bytes: Buffer.alloc(1_000, 3), sha256: 'x' }],
  })
  expect(opened.contentOf(message)).toBeNull()
  await opened.send(message, never)
  const { bytes, files, type, extension } = opened.contentOf(message) as SentContent
  expect(Buffer.from(bytes).toString('latin1')).toBe(server.messages[0])
  expect([type, extension]).toEqual(['message/rfc822', 'eml'])
  const { at, length } = files![0]!
  expect(Buffer.from(Buffer.from(bytes).toString('latin1', at, at + length), 'base64')).toEqual(Buffer.alloc(1_000, 3))
})

test('a message that leaves unsigned is kept as it was packed with its composition, and a signed one with its signature', async () => {
  const server = await scriptedServer()
  const composer = createComposer(1)
  const privateKeyPem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  const key = readSigningKey({ domain: 'orgao.example.com', selector: 'carteiro1', privateKeyPem })
  const signer = createSigner({ find: () => key, threads: 1 })
  onTestFinished(async () => void (await Promise.all([composer.close(), signer.close()])))
  for (const isSigned of [false, true]) {
    const url = `smtp://127.0.0.1:${server.port}?tls=off`
    const opened = await carrier(url, { compose: composer.compose, signer: isSigned ? signer : null })
    const message = email({ text: isSigned ? 'com assinatura' : 'sem assinatura' })
    await opened.send(message, never)
    const content = opened.contentOf(message)!
    expect('packing' in content).toBe(!isSigned)
    const packed = 'packing' in content ? content : await packContent(content)
    const left = server.messages.at(-1)!
    expect(left.startsWith('DKIM-Signature:')).toBe(isSigned)
    expect(packed.statement.sha256).toBe(hash('sha256', Buffer.from(left, 'latin1'), 'hex'))
  }
})

describe('TLS', () => {
  const good = selfSigned(['localhost', '127.0.0.1'])

  test('opportunistic: used with any certificate where it is offered', async () => {
    const server = await realServer({ ...good })
    await (await carrier(`smtp://127.0.0.1:${server.port}`)).send(email(), never)
    expect(server.received[0]!.secure).toBe(true)
  })

  test('opportunistic: goes in clear where it is not offered', async () => {
    const server = await realServer({ disabledCommands: ['STARTTLS'] })
    await (await carrier(`smtp://127.0.0.1:${server.port}?tls=opportunistic`)).send(email(), never)
    expect(server.received[0]!.secure).toBe(false)
  })

  test('opportunistic: offered and broken is temporary, never in clear', async () => {
    for (const step of ['454 4.7.0 TLS not available', '220 Go ahead', 'CLOSE'] as const) {
      const server = await scriptedServer({ extensions: ['STARTTLS'], at: at => (at === 'STARTTLS' ? step : undefined) })
      const timeouts = { connect: 1_000, reply: 1_000, data: 1_000 }
      const opened = await carrier(`smtp://127.0.0.1:${server.port}`, { timeouts })
      expect((await failureOf(opened.send(email(), never))).kind).toBe('temporary')
      expect(server.commands.slice(0, 2).map(command => command.split(' ')[0])).toEqual(['EHLO', 'STARTTLS'])
      expect(server.commands.some(command => command.startsWith('MAIL'))).toBe(false)
    }
  })

  test('off: not used though offered', async () => {
    const server = await realServer({ ...good })
    await (await carrier(`smtp://127.0.0.1:${server.port}?tls=off`)).send(email(), never)
    expect(server.received[0]!.secure).toBe(false)
  })

  test('required: with a certificate that checks, by name or by address', async () => {
    const server = await realServer({ ...good })
    for (const host of ['localhost', '127.0.0.1']) {
      await (await carrier(`smtp://${host}:${server.port}?tls=required`, { ca: good.cert })).send(email(), never)
    }
    expect(server.received.map(({ secure }) => secure)).toEqual([true, true])
  })

  test.each([
    ['that nobody vouches for', selfSigned(['localhost']), {}],
    ['of another name', selfSigned(['outro.example.com']), 'trusted'],
    ['that has run out', selfSigned(['localhost'], new Date(Date.now() - 3_600_000)), 'trusted'],
  ] as const)('required: a certificate %s is temporary and nothing is sent', async (_, certificate, trust) => {
    const server = await realServer({ ...certificate })
    const opened = await carrier(
      `smtp://localhost:${server.port}?tls=required`,
      trust === 'trusted' ? { ca: certificate.cert } : { ca: good.cert },
    )
    const error = await failureOf(opened.send(email(), never))
    expect(error).toMatchObject({
      kind: 'temporary',
      reason: 'A conexão segura (TLS) com o servidor de e-mail falhou. Verifique o certificado dele.',
    })
    expect(server.received).toEqual([])
  })

  test('required: not offered is temporary and nothing is sent', async () => {
    const server = await scriptedServer()
    const opened = await carrier(`smtp://127.0.0.1:${server.port}?tls=required`)
    expect(await failureOf(opened.send(email(), never))).toMatchObject({
      kind: 'temporary',
      reason: expect.stringMatching(/\(STARTTLS\).* EMAIL_URL .*tls\.$/),
    })
    expect(server.messages).toEqual([])
  })

  test('smtps: encrypted from the first byte, certificate checked', async () => {
    const server = await realServer({ ...good, secure: true })
    await (await carrier(`smtps://localhost:${server.port}`, { ca: good.cert })).send(email(), never)
    expect(server.received[0]!.secure).toBe(true)
    const stranger = await carrier(`smtps://localhost:${server.port}`, { ca: selfSigned(['localhost']).cert })
    expect((await failureOf(stranger.send(email(), never))).kind).toBe('temporary')
  })

  test('data injected in clear before TLS began is not read', async () => {
    // The command injection of CVE-2011-0411, from the server's side.
    const server = await scriptedServer({
      extensions: ['STARTTLS'],
      at: at => (at === 'STARTTLS' ? '220 Go ahead\r\n250-evil\r\n250 AUTH PLAIN' : undefined),
    })
    const opened = await carrier(`smtp://127.0.0.1:${server.port}`)
    expect(await failureOf(opened.send(email(), never))).toMatchObject({
      kind: 'temporary',
      reason: 'O servidor de e-mail deu uma resposta que não é SMTP.',
    })
  })
})

describe('AUTH', () => {
  const certificate = selfSigned(['localhost'])
  const trusting = { ca: certificate.cert }

  test.each(['PLAIN', 'LOGIN'])('signs in with %s over TLS', async method => {
    const server = await realServer({ ...certificate, authOptional: false, authMethods: [method], onAuth })
    await (await carrier(`smtp://${USER}@localhost:${server.port}`, trusting)).send(email(), never)
    expect(server.received[0]).toMatchObject({ user: method, secure: true })
  })

  test('signs in once a connection', async () => {
    let times = 0
    const server = await realServer({
      ...certificate,
      authOptional: false,
      onAuth(auth, session, done) {
        times++
        onAuth(auth, session, done)
      },
    })
    const opened = await carrier(`smtp://${USER}@localhost:${server.port}?pool=1`, trusting)
    await Promise.all([1, 2, 3, 4].map(() => opened.send(email(), never)))
    expect(times).toBe(1)
    expect(server.received).toHaveLength(4)
  })

  test('a wrong password is temporary: the message is good, the setting is not; and it is never shown', async () => {
    const server = await realServer({ ...certificate, authOptional: false, onAuth })
    const opened = await carrier(`smtp://alguem:segredo-errado@localhost:${server.port}`, trusting)
    const error = await failureOf(opened.send(email(), never))
    expect(error).toMatchObject({ kind: 'temporary', reason: expect.stringMatching(/usuário ou a senha\..* EMAIL_URL\.$/) })
    expect(error.answer).toMatch(/^535/)
    const everything = `${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`
    expect(everything).not.toMatch(/segredo|c2VncmVkby/)
  })

  test('no password goes out in clear, unless the operator says tls=off', async () => {
    const server = await scriptedServer({ extensions: ['AUTH PLAIN LOGIN'] })
    for (const query of ['', '?tls=required', '?tls=opportunistic']) {
      const opened = await carrier(`smtp://u:p@127.0.0.1:${server.port}${query}`)
      expect((await failureOf(opened.send(email(), never))).kind).toBe('temporary')
    }
    expect(server.commands.some(command => command.startsWith('AUTH'))).toBe(false)
    await (await carrier(`smtp://u:p@127.0.0.1:${server.port}?tls=off`)).send(email(), never)
    expect(server.commands).toContain(`AUTH PLAIN ${Buffer.from('\0u\0p').toString('base64')}`)
  })

  test('a password for a server that asks for none, or knows only other ways, is temporary', async () => {
    for (const extensions of [[], ['AUTH CRAM-MD5 XOAUTH2']]) {
      const server = await scriptedServer({ extensions })
      const opened = await carrier(`smtp://u:p@127.0.0.1:${server.port}?tls=off`)
      expect((await failureOf(opened.send(email(), never))).reason).toMatch(/AUTH PLAIN ou LOGIN.* EMAIL_URL/)
    }
  })
})

describe('EMAIL_URL', () => {
  const read = (url: string) => readSmtpUrl(new URL(url))

  test('tells server, port, user, TLS, connections and our name', () => {
    expect(read('smtp://relay.example.com').server).toEqual({
      host: 'relay.example.com',
      port: 25,
      helo: hostname(),
      tls: 'opportunistic',
      credentials: null,
    })
    expect(read('smtp://a%40b.example:p%2Fw@relay.example.com?pool=50&name=eu.example.com')).toEqual({
      server: {
        host: 'relay.example.com',
        port: 587,
        helo: 'eu.example.com',
        tls: 'required',
        credentials: { user: 'a@b.example', password: 'p/w' },
      },
      size: 50,
    })
    expect(read('smtps://u:p@relay.example.com').server).toMatchObject({ port: 465, tls: 'implicit' })
    expect(read('smtp://[::1]:2525?tls=off').server).toMatchObject({ host: '::1', port: 2525, tls: 'off' })
  })

  test('every option that the documents name is known', () => {
    expect(() => read('smtp://relay.example.com?tls=required&pool=9&name=a.example&rate=5')).not.toThrow()
    expect(() => read('smtps://relay.example.com?tls=required&pool=9&name=a.example&rate=5')).not.toThrow()
  })
})
