import { createHash } from 'node:crypto'
import type { Socket } from 'node:net'
import { SMTPServer, type SMTPServerAddress, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server'
import type { Clock } from '../../src/domain/clock.js'
import { newId } from '../../src/domain/id.js'
import { MIB } from '../../src/domain/units.js'
import { listen } from '../addresses.js'
import { AttemptCounter } from '../bounded-map.js'
import type { FaultSwitch } from '../faults.js'
import type { Inbox } from '../inbox.js'
import { Pauses } from '../pauses.js'
import { type Fate, fateOf } from './fates.js'
import { type Envelope, type Mail, readMail } from './mail.js'
import type { Outbox } from './outbox.js'
import type { Recipient } from './recipient.js'

export interface ExchangerParts {
  inbox: Inbox
  outbox: Outbox
  recipient: Recipient
  faults: FaultSwitch
  clock: Clock
  maxMessageBytes: number
  /** After this time a connection without an answer is closed. */
  silenceMs: number
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

/** All contents that are being received together. Beyond this, a sender is asked to retry (451). */
const MAX_RECEIVING = 256 * MIB

const unavailable = (): Reply => new Reply(421, 'Servidor fora do ar, tente mais tarde')

/** The recipients' mail exchanger: accepts every mail over SMTP and starts the fate of each recipient. */
export class Exchanger {
  readonly #parts: ExchangerParts
  readonly #server: SMTPServer
  readonly #sockets = new Map<string, Socket>()
  readonly #pauses = new Pauses()
  readonly #attempts = new AttemptCounter()
  #receiving = 0

  constructor(parts: ExchangerParts) {
    this.#parts = parts
    this.#server = this.#createServer()
    // A connection that breaks during a transaction concerns the sender only.
    this.#server.on('error', () => {})
    this.#server.server.on('connection', (socket: Socket) => {
      const key = socketKey(socket.remoteAddress ?? '', socket.remotePort ?? 0)
      this.#sockets.set(key, socket)
      socket.once('close', () => this.#sockets.delete(key))
    })
  }

  async open(port: number, host: string): Promise<string> {
    return `smtp://${await listen(this.#server.server, port, host)}`
  }

  /** Ends every connection with 421. */
  interrupt(): void {
    for (const connection of [...this.#server.connections]) connection.send(421, unavailable().message)
  }

  async close(): Promise<void> {
    this.#pauses.close()
    const closed = new Promise<void>(resolve => this.#server.close(resolve))
    for (const socket of this.#sockets.values()) socket.destroy()
    await closed
  }

  #createServer(): SMTPServer {
    const { faults, maxMessageBytes } = this.#parts
    return new SMTPServer({
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
      onData: (stream, session, done) => {
        this.#receive(stream)
          .then(raw => this.#accept(session, raw))
          .then(
            answer => {
              if (answer.kind === 'accepted') done(null, answer.text)
              else this.#loseAnswer(session, answer.kind)
            },
            error =>
              done(error instanceof Reply ? error : new Reply(451, `Erro interno do simulador: ${(error as Error).message}`)),
          )
      },
    })
  }

  #loseAnswer({ remoteAddress, remotePort }: SMTPServerSession, kind: 'reset' | 'none'): void {
    const socket = this.#sockets.get(socketKey(remoteAddress, remotePort))
    if (kind === 'reset') socket?.resetAndDestroy()
    else {
      const timer = setTimeout(() => socket?.destroy(), this.#parts.silenceMs)
      socket?.once('close', () => clearTimeout(timer))
    }
  }

  /** Reads the whole content even when it is too large: SMTP allows a reply only after its end. */
  #receive(stream: SMTPServerDataStream): Promise<Buffer> {
    let chunks: Buffer[] = []
    let bytes = 0
    let full = false
    const drop = (): void => {
      this.#receiving -= bytes
      bytes = 0
      chunks = []
    }
    stream.on('data', (chunk: Buffer) => {
      full ||= this.#receiving + chunk.length > MAX_RECEIVING
      // The chunks of a refused mail are freed at once, so that other mails fit.
      if (full || stream.sizeExceeded) return drop()
      this.#receiving += chunk.length
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

  async #accept(session: SMTPServerSession, raw: Buffer): Promise<Answer> {
    const { inbox, outbox, recipient, faults, clock } = this.#parts
    const { rcptTo } = session.envelope
    const fates = rcptTo.map(({ address }) => fateOf(address))
    await this.#pause(faults.now.latencyMs)
    if (faults.now.outage) throw unavailable()
    if (faults.drawError()) throw new Reply(451, 'Falha simulada, tente mais tarde')
    const mails = rcptTo.map(to => readMail(newId(clock()), new Date(clock()), envelopeOf(session, to), raw))
    for (const [index, mail] of mails.entries()) this.#checkFate(mail, fates[index]!, raw)
    await this.#pause(Math.max(...fates.map(({ answersAfterMs }) => answersAfterMs ?? 0)))
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

  async #pause(ms: number): Promise<void> {
    if (!(await this.#pauses.wait(ms))) throw unavailable()
  }

  #checkFate(mail: Mail, { deferredAttempts = 0 }: Fate, raw: Buffer): void {
    if (deferredAttempts === 0) return
    const message = mail.envelope.envid ?? mail.messageId ?? createHash('sha256').update(raw).digest('hex')
    const attempt = this.#attempts.count(`${mail.to.toLowerCase()} ${message}`)
    if (attempt <= deferredAttempts) throw new Reply(451, `Adiado, tente mais tarde (tentativa ${attempt})`)
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
