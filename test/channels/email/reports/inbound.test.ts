import { describe, expect, onTestFinished, test } from 'vitest'
import { composeEmail } from '../../../../src/channels/email/message/compose.js'
import { type InboundSettings, openInbound } from '../../../../src/channels/email/reports/inbound.js'
import { type Limits, SmtpSession } from '../../../../src/channels/email/smtp/session.js'
import { smtpProvider } from '../../../../src/channels/email/smtp/smtp.js'
import { type ReturnAddress, verpAddress } from '../../../../src/channels/email/verp.js'
import { SendError } from '../../../../src/channels/provider.js'
import { deferred } from '../../../support/deferred.js'
import { selfSigned } from '../../../support/programs/certificate.js'
import { email } from '../messages.js'

const verp = { domain: 'bounce.example.com', key: Buffer.alloc(32, 3) }
const id = '019a1b2c-3d4e-7f50-8a6b-7c8d9e0f1a2b'
const address = verpAddress(id, verp)
const limits = (): Limits => ({ deadline: performance.now() + 20_000, signal: new AbortController().signal })

interface Arrived {
  recipients: ReturnAddress[]
  raw: Buffer
}

type Inbound = Awaited<ReturnType<typeof openInbound>>

async function inbound(changes: Partial<InboundSettings> = {}): Promise<Inbound & { arrived: Arrived[] }> {
  const arrived: Arrived[] = []
  const opened = await openInbound({
    host: '127.0.0.1',
    port: 0,
    maxBytes: 1_000_000,
    verp,
    onMessage: async (recipients, raw) => void arrived.push({ recipients, raw }),
    ...changes,
  })
  onTestFinished(() => opened.close())
  return { ...opened, arrived }
}

async function session({ port }: Inbound): Promise<SmtpSession> {
  const opened = await SmtpSession.open(
    { host: '127.0.0.1', port, helo: 'mx.example.net', tls: 'off', credentials: null },
    limits(),
  )
  onTestFinished(() => opened.close())
  return opened
}

const SMALL: Buffer = Buffer.from('Subject: x\r\n\r\noi\r\n')

async function deliver(listener: Inbound, to: string, raw = SMALL): Promise<SendError | null> {
  const opened = await session(listener)
  try {
    await opened.send({ from: 'someone@example.net', to, id: 'x' }, raw, limits())
    return null
  } catch (error) {
    expect(error).toBeInstanceOf(SendError)
    return error as SendError
  }
}

describe('the bounce domain’s mail server', () => {
  test('takes what comes to an address that we gave out, byte for byte, and says whose it is', async () => {
    const listener = await inbound()
    const raw = composeEmail(email({ text: '.\n..\nfim' }))
    expect(await deliver(listener, address, raw)).toBeNull()
    expect(listener.arrived).toEqual([{ recipients: [{ notification: id, purpose: 'return' }], raw }])
  })

  test.each([
    ['forged', address.replace(/[0-9a-f]{16}@/, '0000000000000000@')],
    ['of another domain', address.replace('bounce.', 'other.')],
    ['of a person', 'postmaster@bounce.example.com'],
    ['without a tag', `b+${id.replaceAll('-', '')}@bounce.example.com`],
  ])('refuses an address %s for good', async (_, to) => {
    const listener = await inbound()
    const error = await deliver(listener, to)
    expect(error).toMatchObject({ kind: 'permanent' })
    expect(error!.answer).toMatch(/^550/)
    expect(listener.arrived).toEqual([])
  })

  test('accepts a message only after it is stored', async () => {
    const safe = deferred()
    const started = deferred()
    const listener = await inbound({
      onMessage: () => {
        started.resolve()
        return safe.promise
      },
    })
    let answered = false
    const delivery = deliver(listener, address).then(error => {
      answered = true
      return error
    })
    await started.promise
    // The answer has had every chance to arrive before the message is safe.
    const another = await inbound()
    await deliver(another, address)
    expect(answered).toBe(false)
    safe.resolve()
    expect(await delivery).toBeNull()
  })

  test('asks for a retry when the message could not be stored', async () => {
    let failures = 1
    const arrived: Buffer[] = []
    const listener = await inbound({
      onMessage: async (_, raw) => {
        if (failures-- > 0) throw new Error('the database is away')
        arrived.push(raw)
      },
    })
    const error = await deliver(listener, address)
    expect(error).toMatchObject({ kind: 'temporary' })
    expect(error!.answer).toMatch(/^451/)
    expect(error!.answer).not.toMatch(/database/)
    expect(await deliver(listener, address)).toBeNull()
    expect(arrived).toHaveLength(1)
  })

  test('refuses what is too large, announced or not, and goes on', async () => {
    const listener = await inbound({ maxBytes: 50_000 })
    const large = Buffer.alloc(200_000, 'muito texto\r\n')
    expect(await deliver(listener, address, large)).toMatchObject({ kind: 'permanent' })
    const { connect } = await import('node:net')
    const reply = await new Promise<string>((resolve, reject) => {
      const socket = connect(listener.port, '127.0.0.1')
      let said = ''
      const script = [
        ['220', 'EHLO x\r\n'],
        ['250 ', 'MAIL FROM:<>\r\n'],
        ['250 ', `RCPT TO:<${address}>\r\n`],
        ['250 ', 'DATA\r\n'],
        ['354', `${large.toString('latin1')}\r\n.\r\n`],
      ]
      socket.on('error', reject)
      socket.on('data', bytes => {
        said += bytes.toString()
        const [expected, next] = script[0] ?? []
        if (expected === undefined && /^\d{3} .*\r\n$/m.test(said)) {
          resolve(said)
          socket.destroy()
        } else if (expected !== undefined && said.split('\r\n').some(line => line.startsWith(expected))) {
          script.shift()
          said = ''
          socket.write(next!)
        }
      })
    })
    expect(reply).toMatch(/^552/)
    expect(listener.arrived).toEqual([])
    expect(await deliver(listener, address)).toBeNull()
  })

  test('takes a report that returns megabytes, and keeps the beginning that says what happened', async () => {
    const listener = await inbound({ maxBytes: 10_000_000 })
    const raw = Buffer.concat([Buffer.from('Subject: x\r\n\r\n'), Buffer.alloc(5_000_000, 'texto devolvido\r\n')])
    expect(await deliver(listener, address, raw)).toBeNull()
    const kept = listener.arrived[0]!.raw
    expect(kept.length).toBe(262_144)
    expect(kept.equals(raw.subarray(0, 262_144))).toBe(true)
  })

  test('takes hundreds of reports over one connection', async () => {
    const listener = await inbound()
    const opened = await session(listener)
    for (let turn = 0; turn < 300; turn++) {
      await opened.send({ from: 'mailer-daemon@example.net', to: address, id: 'x' }, Buffer.from(`X: ${turn}\r\n\r\n`), limits())
    }
    expect(listener.arrived).toHaveLength(300)
  })

  test('names every notification of a message that comes from nobody for several', async () => {
    const other = '019a1b2c-3d4e-7f50-8a6b-000000000000'
    const listener = await inbound()
    const { createTransport } = await import('nodemailer')
    const transport = createTransport({ host: '127.0.0.1', port: listener.port, ignoreTLS: true })
    await transport.sendMail({ envelope: { from: '', to: [address, verpAddress(other, verp)] }, text: 'oi', from: 'a@b.example' })
    transport.close()
    expect(listener.arrived[0]!.recipients.map(({ notification }) => notification)).toEqual([id, other])
  })

  test('offers no sign-in, and TLS where it has a certificate', async () => {
    const certificate = selfSigned(['localhost'])
    const listener = await inbound({ tls: certificate })
    const secure = await smtpProvider({ signer: null, ca: certificate.cert }).open(
      new URL(`smtp://localhost:${listener.port}?tls=required`),
    )
    onTestFinished(() => secure.close())
    await secure.send(email({ to: address }), new AbortController().signal)
    expect(listener.arrived).toHaveLength(1)
    const user = await smtpProvider({ signer: null, ca: certificate.cert }).open(
      new URL(`smtp://u:p@localhost:${listener.port}?tls=required`),
    )
    onTestFinished(() => user.close())
    await expect(user.send(email({ to: address }), new AbortController().signal)).rejects.toThrow(/AUTH/)
  })

  test('a port that is taken is an error of opening', async () => {
    const { port } = await inbound()
    await expect(openInbound({ host: '127.0.0.1', port, maxBytes: 1, verp, onMessage: async () => {} })).rejects.toThrow(
      /EADDRINUSE/,
    )
  })
})
