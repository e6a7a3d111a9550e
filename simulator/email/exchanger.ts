import { createHash } from 'node:crypto'
import { once, setMaxListeners } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { SMTPServer, type SMTPServerAddress, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server'
import type { Clock } from '../../src/domain/clock.js'
import { newId } from '../../src/domain/id.js'
import { BoundedCache } from '../../src/runtime/bounded-cache.js'
import type { FaultSwitch } from '../faults.js'
import type { Inbox } from '../inbox.js'
import type { Outbox } from '../outbox.js'
import { type Fate, fateOf } from './fates.js'
import { type Envelope, type Mail, readMail } from './mail.js'
import type { Recipient } from './recipient.js'

/** The recipients' mail exchanger: takes everything over SMTP, keeps it, and lets each recipient's fate begin. */
export interface ExchangerParts {
  host: string
  port: number
  inbox: Inbox
  outbox: Outbox
  recipient: Recipient
  faults: FaultSwitch
  clock: Clock
  maxMessageBytes: number
  /** After this a connection that got no answer is closed. */
  silenceMs: number
}

export interface Exchanger {
  url: string
  /** Drops every connection with 421. */
  interrupt(): void
  close(): Promise<void>
}

/** A reply other than 250; the server adds the enhanced code of its class. */
class Reply extends Error {
  readonly responseCode: number

  constructor(code: number, text: string) {
    super(text)
    this.responseCode = code
  }
}

type Verdict = { answer: 'yes'; text: string } | { answer: 'reset' } | { answer: 'none' }

/** Contents being received at once; past this a sender is told to come back (451). */
const MAX_RECEIVING = 256 * 1_048_576
/** Messages whose tries are counted. */
const MAX_COUNTED = 10_000

const unavailable = (): Reply => new Reply(421, 'Servidor fora do ar, tente mais tarde')

export async function openExchanger(parts: ExchangerParts): Promise<Exchanger> {
  const { host, port, inbox, outbox, recipient, faults, clock, maxMessageBytes, silenceMs } = parts
  const stop = new AbortController()
  // Every pause under way listens to it, any number at a time, and leaves when it ends: no leak, no warning.
  setMaxListeners(0, stop.signal)
  const sockets = new Map<string, Socket>()
  const tries = new BoundedCache<string, number>({ maxEntries: MAX_COUNTED })
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
    // Any credentials will do: who tests with their real settings need not change them.
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
        .then(raw => decide(session, raw))
        .then(
          verdict => {
            if (verdict.answer === 'yes') done(null, verdict.text)
            else if (verdict.answer === 'reset') socketOf(session)?.resetAndDestroy()
            else closeLater(socketOf(session))
          },
          error =>
            done(error instanceof Reply ? error : new Reply(451, `Erro interno do simulador: ${(error as Error).message}`)),
        )
    },
  })
  // A connection that breaks in mid-transaction is the sender's matter.
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

  /** The content, or a refusal once the sender has sent all of what does not fit. */
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
      // What is refused makes room at once, so that the others get through.
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

  async function decide(session: SMTPServerSession, raw: Buffer): Promise<Verdict> {
    const { rcptTo } = session.envelope
    const fates = rcptTo.map(({ address }) => fateOf(address))
    await pause(faults.now.latencyMs)
    if (faults.now.outage) throw unavailable()
    if (faults.drawError()) throw new Reply(451, 'Falha simulada, tente mais tarde')
    const mails = rcptTo.map(to => readMail(newId(clock()), new Date(clock()), envelopeOf(session, to), raw))
    for (const [index, mail] of mails.entries()) putOff(mail, fates[index]!, raw)
    await pause(Math.max(...fates.map(({ answersAfterMs }) => answersAfterMs ?? 0)))
    await outbox.room()

    const silent = fates.some(fate => fate.silent)
    const reset = faults.now.resetAfterAccept
    const text = `OK: queued as ${mails[0]!.id}`
    for (const mail of mails) {
      mail.answer = silent || reset ? null : `250 2.6.0 ${text}`
      inbox.add({ message: mail, raw }, mail.header.length)
    }
    if (silent) return { answer: 'none' }
    for (const mail of mails) inbox.record(mail, { messageId: mail.messageId, envid: mail.envelope.envid, answer: mail.answer })
    // After the answer: reports do not overtake it in this process.
    setImmediate(() => {
      for (const [index, mail] of mails.entries()) recipient.receive(mail, fates[index]!)
    })
    return reset ? { answer: 'reset' } : { answer: 'yes', text }
  }

  async function pause(ms: number): Promise<void> {
    if (ms === 0) return
    await sleep(ms, undefined, { signal: stop.signal }).catch(() => {
      throw unavailable()
    })
  }

  /** Counts the tries of one message to one recipient; those that came too early are put off. */
  function putOff(mail: Mail, { temporaryTries = 0 }: Fate, raw: Buffer): void {
    if (temporaryTries === 0) return
    const message = mail.envelope.envid ?? mail.messageId ?? createHash('sha256').update(raw).digest('hex')
    const key = `${mail.to.toLowerCase()} ${message}`
    const made = (tries.get(key) ?? 0) + 1
    tries.set(key, made)
    if (made <= temporaryTries) throw new Reply(451, `Adiado, tente mais tarde (tentativa ${made})`)
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
      stop.abort()
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
