import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { SMTPServer, type SMTPServerAddress, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server'
import type { Clock } from '../../src/domain/clock.js'
import { newId } from '../../src/domain/id.js'
import { AttemptCounter } from '../bounded-map.js'
import type { FaultSwitch } from '../faults.js'
import type { Inbox } from '../inbox.js'
import { Pauses } from '../pauses.js'
import { type Fate, fateOf } from './fates.js'
import { type Envelope, type Mail, readMail } from './mail.js'
import type { Outbox } from './outbox.js'
import type { Recipient } from './recipient.js'

export interface ExchangerParts {
  host: string
  port: number
  inbox: Inbox
  outbox: Outbox
  recipient: Recipient
  faults: FaultSwitch
  clock: Clock
  maxMessageBytes: number
  /** After this time a connection without an answer is closed. */
  silenceMs: number
}

export interface Exchanger {
  url: string
  /** Ends every connection with 421. */
  interrupt(): void
  close(): Promise<void>
}

/** A reply other than 250. The server adds the enhanced status code of its class. */
class Reply extends Error {
  readonly responseCode: number

  constructor(code: number, text: string) {
    super(text)
    this.responseCode = code
  }
}

type Answer = { kind: 'accepted'; text: string } | { kind: 'reset' } | { kind: 'none' }

/** All contents that are being received together. Beyond this, a sender is told to retry (451). */
const MAX_RECEIVING = 256 * 1_048_576

const unavailable = (): Reply => new Reply(421, 'Servidor fora do ar, tente mais tarde')

/** The recipients' mail exchanger: accepts every mail over SMTP and starts the fate of each recipient. */
export async function openExchanger(parts: ExchangerParts): Promise<Exchanger> {
  const { host, port, inbox, outbox, recipient, faults, clock, maxMessageBytes, silenceMs } = parts
  const pauses = new Pauses()
  const sockets = new Map<string, Socket>()
  const attempts = new AttemptCounter()
  let receiving = 0

  const server = new SMTPServer({
    name: 'mx.simulador.test',
    banner: 'Simulador',
    size: maxMessageBytes,
    rejectOversized: true,
    hideDSN: false,
    hideENHANCEDSTATUSCODES: false,
    disableReverseLookup: true,
    disabledCommands: ['STARTTLS'],
    hideSTARTTLS: true,
    // Any credentials are accepted, so that real settings work without a change.
    authOptional: true,
    allowInsecureAuth: true,
    onAuth: ({ username }, _session, done) => done(null, { user: username ?? 'anyone' }),
    logger: false,
    closeTimeout: 100,
    onConnect: (_session, done) => done(faults.now.outage ? unavailable() : null),
    onMailFrom: (_address, _session, done) => done(faults.now.outage ? unavailable() : null),
    onRcptTo({ address }, _session, done) {
      const { refusal } = fateOf(address)
      if (faults.now.outage) done(unavailable())
      else done(refusal === undefined ? null : new Reply(refusal.code, refusal.text))
    },
    onData(stream, session, done) {
      receive(stream)
        .then(raw => accept(session, raw))
        .then(
          answer => {
            if (answer.kind === 'accepted') done(null, answer.text)
            else if (answer.kind === 'reset') socketOf(session)?.resetAndDestroy()
            else closeLater(socketOf(session))
          },
          error =>
            done(error instanceof Reply ? error : new Reply(451, `Erro interno do simulador: ${(error as Error).message}`)),
        )
    },
  })
  // A connection that breaks during a transaction concerns the sender only.
  server.on('error', () => {})
  server.server.on('connection', (socket: Socket) => {
    const key = socketKey(socket.remoteAddress ?? '', socket.remotePort ?? 0)
    sockets.set(key, socket)
    socket.once('close', () => sockets.delete(key))
  })

  const socketOf = ({ remoteAddress, remotePort }: SMTPServerSession): Socket | undefined =>
    sockets.get(socketKey(remoteAddress, remotePort))

  function closeLater(socket: Socket | undefined): void {
    const timer = setTimeout(() => socket?.destroy(), silenceMs)
    socket?.once('close', () => clearTimeout(timer))
  }

  /** Reads the whole content even when it is too large: SMTP allows a reply only after its end. */
  function receive(stream: SMTPServerDataStream): Promise<Buffer> {
    let chunks: Buffer[] = []
    let bytes = 0
    let full = false
    const drop = (): void => {
      receiving -= bytes
      bytes = 0
      chunks = []
    }
    stream.on('data', (chunk: Buffer) => {
      full ||= receiving + chunk.length > MAX_RECEIVING
      // The chunks of a refused mail are freed at once, so that other mails fit.
      if (full || stream.sizeExceeded) return drop()
      receiving += chunk.length
      bytes += chunk.length
      chunks.push(chunk)
    })
    stream.once('close', drop)
    return new Promise((resolve, reject) => {
      stream.once('error', reject)
      stream.once('end', () => {
        if (stream.sizeExceeded) reject(new Reply(552, 'Mensagem grande demais'))
        else if (full) reject(new Reply(451, 'Mensagens demais ao mesmo tempo, tente mais tarde'))
        else resolve(Buffer.concat(chunks))
      })
    })
  }

  async function accept(session: SMTPServerSession, raw: Buffer): Promise<Answer> {
    const { rcptTo } = session.envelope
    const fates = rcptTo.map(({ address }) => fateOf(address))
    await pause(faults.now.latencyMs)
    if (faults.now.outage) throw unavailable()
    if (faults.drawError()) throw new Reply(451, 'Falha simulada, tente mais tarde')
    const mails = rcptTo.map(to => readMail(newId(clock()), new Date(clock()), envelopeOf(session, to), raw))
    for (const [index, mail] of mails.entries()) defer(mail, fates[index]!, raw)
    await pause(Math.max(...fates.map(({ answersAfterMs }) => answersAfterMs ?? 0)))
    await outbox.waitForCapacity()

    const silent = fates.some(fate => fate.silent)
    const reset = faults.now.resetAfterAccept
    const text = `OK: queued as ${mails[0]!.id}`
    for (const mail of mails) {
      mail.answer = silent || reset ? null : `250 2.6.0 ${text}`
      inbox.add({ message: mail, raw }, mail.header.length)
    }
    if (silent) return { kind: 'none' }
    for (const mail of mails) inbox.record(mail, { messageId: mail.messageId, envid: mail.envelope.envid, answer: mail.answer })
    // Deferred so that no report is sent before the answer.
    setImmediate(() => {
      for (const [index, mail] of mails.entries()) recipient.receive(mail, fates[index]!)
    })
    return reset ? { kind: 'reset' } : { kind: 'accepted', text }
  }

  async function pause(ms: number): Promise<void> {
    if (!(await pauses.wait(ms))) throw unavailable()
  }

  function defer(mail: Mail, { deferredAttempts = 0 }: Fate, raw: Buffer): void {
    if (deferredAttempts === 0) return
    const message = mail.envelope.envid ?? mail.messageId ?? createHash('sha256').update(raw).digest('hex')
    const attempt = attempts.count(`${mail.to.toLowerCase()} ${message}`)
    if (attempt <= deferredAttempts) throw new Reply(451, `Adiado, tente mais tarde (tentativa ${attempt})`)
  }

  const listening = server.listen(port, host)
  await once(listening, 'listening')
  const address = listening.address() as AddressInfo
  return {
    url: `smtp://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`,
    interrupt() {
      for (const connection of [...server.connections]) connection.send(421, unavailable().message)
    },
    async close() {
      pauses.close()
      const closed = new Promise<void>(resolve => server.close(resolve))
      for (const socket of sockets.values()) socket.destroy()
      await closed
    },
  }
}

const socketKey = (address: string, port: number): string => `${address.replace(/^::ffff:/i, '').toLowerCase()} ${port}`

function envelopeOf({ envelope }: SMTPServerSession, to: SMTPServerAddress): Envelope {
  return {
    from: envelope.mailFrom === false ? '' : envelope.mailFrom.address,
    to: to.address,
    envid: envelope.dsn?.envid ?? null,
    ret: (envelope.dsn?.ret ?? null) as Envelope['ret'],
    notify: to.dsn?.notify ?? null,
    orcpt: to.dsn?.orcpt ?? null,
  }
}
