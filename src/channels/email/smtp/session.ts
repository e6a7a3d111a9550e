import { isIP } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import { type Facts, SendError } from '../../provider.js'
import { type Envelope, stuffDots, transaction } from './commands.js'
import { Dialogue } from './dialogue.js'
import { type Reply, refusal, type Stage } from './reply.js'
import { ConnectionLost, type LossKind, SmtpWire } from './wire.js'

export interface ServerSettings {
  host: string
  port: number
  /** The IP address to connect to, when the name is already resolved. */
  address?: string
  /** Our host name in EHLO. */
  helo: string
  /**
   * implicit: TLS from the first byte; required: STARTTLS or no message. Both need a valid certificate.
   * opportunistic: STARTTLS with any certificate where the server offers it (RFC 7435); off: never.
   */
  tls: 'implicit' | 'required' | 'opportunistic' | 'off'
  credentials: { user: string; password: string } | null
  /** Trusted instead of the system's certificate authorities. */
  ca?: string | undefined
  timeouts?: Partial<StepTimeouts> | undefined
}

/** How long each step may take, in milliseconds. */
export interface StepTimeouts {
  connect: number
  reply: number
  /** Without progress while the message is written. A large message on a slow line may take longer in total. */
  upload: number
  /** From the end of the data to its reply: servers filter and store the message in between. */
  data: number
}

/**
 * RFC 5321 4.5.3.2.6 asks for minutes after the final dot. A server that is abandoned too early has usually accepted the
 * message, and then receives it twice.
 */
const STEP_TIMEOUTS: StepTimeouts = { connect: 5_000, reply: 15_000, upload: 30_000, data: 300_000 }

/**
 * The first byte of data must leave before the deadline (on the clock of performance.now()); later steps have timeouts of their
 * own. The signal cancels the message at any time.
 */
export interface Limits {
  deadline: number
  signal: AbortSignal
}

/** The server closed the connection while it was idle. Nothing was sent, so a new connection may be tried at once. */
export class StaleSession extends SendError {}

export class Unreachable extends SendError {}

/**
 * A larger message is written in pieces before its final dot: if the connection breaks before, the server cannot have it. One
 * piece must leave within the upload timeout, which is 2 KB per second.
 */
const PIECE = 65_536
const END = Buffer.from('.\r\n')

/**
 * One SMTP connection (RFC 5321), used for one message after another. Our own client pipelines (RFC 2920): a message takes two
 * round trips, where nodemailer's client takes four and ten times the processor time.
 */
export class SmtpSession {
  transactions = 0
  readonly #wire: SmtpWire
  readonly #timeouts: StepTimeouts
  readonly #dialogue: Dialogue
  #extensions = new Map<string, string>()
  /** A transaction was begun and not finished, so the next one starts with RSET. */
  #unfinished = false

  private constructor(wire: SmtpWire, name: string, timeouts: StepTimeouts) {
    this.#wire = wire
    this.#dialogue = new Dialogue({ name, socket: wire.socket })
    this.#timeouts = timeouts
  }

  /** Connects, starts TLS and signs in. No failure here is of unknown outcome, because no message was sent. */
  static async open(server: ServerSettings, limits: Limits): Promise<SmtpSession> {
    const timeouts = { ...STEP_TIMEOUTS, ...server.timeouts }
    let session: SmtpSession | undefined
    let stopWatching = (): void => {}
    try {
      const secure = server.tls === 'implicit' ? secureOptions(server) : null
      const target = { host: server.address ?? server.host, port: server.port, secure }
      const wire = await SmtpWire.connect(target, within(limits, timeouts.connect), limits.signal)
      session = new SmtpSession(wire, server.host, timeouts)
      stopWatching = wire.watch(limits.signal)
      await session.#introduce(server, limits)
      return session
    } catch (error) {
      session?.close()
      const failure = error instanceof ConnectionLost ? lossError(error, session === undefined) : error
      if (failure instanceof SendError) failure.facts = session?.facts ?? unreachedFacts(server, error)
      throw failure
    } finally {
      stopWatching()
    }
  }

  get isUsable(): boolean {
    return this.#wire.isIdle
  }

  set onGone(listener: () => void) {
    this.#wire.onLost = listener
  }

  /** The conversation about the latest message, for the timeline. */
  get facts(): Facts {
    return this.#dialogue.facts
  }

  /** Returns the reply that accepted the message. */
  async send(envelope: Envelope, message: Buffer, limits: Limits): Promise<Reply> {
    this.#dialogue.begin()
    try {
      return await this.#handOver(envelope, message, limits)
    } catch (error) {
      if (error instanceof SendError) error.facts = this.facts
      throw error
    }
  }

  async #handOver(envelope: Envelope, message: Buffer, limits: Limits): Promise<Reply> {
    const commands = transaction(envelope, message, this.#extensions, this.#unfinished)
    const body = stuffDots(message)
    const reused = this.transactions++ > 0
    const { received } = this.#wire
    let mayHaveArrived = false
    const stopWatching = this.#wire.watch(limits.signal)
    try {
      await this.#begin(commands, limits)
      const large = body.length > PIECE
      if (large) await this.#upload(body)
      this.#refuseEarly()
      mayHaveArrived = this.#wire.write(large ? END : Buffer.concat([body, END]))
      const reply = await this.#wire.reply(this.#timeouts.data)
      this.#dialogue.replied('end of data', reply)
      this.#unfinished = false
      if (reply.code >= 300) throw refusal(reply, 'data')
      return reply
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error
      if (mayHaveArrived) throw new SendError('uncertain', UNCONFIRMED, { cause: error })
      const stale = reused && this.#wire.received === received && error.kind === 'closed'
      throw stale ? new StaleSession('temporary', lossReasons.closed, { cause: error }) : lossError(error, false)
    } finally {
      stopWatching()
    }
  }

  close(): void {
    this.#wire.sendAndClose('QUIT\r\n')
  }

  async #introduce(server: ServerSettings, limits: Limits): Promise<void> {
    expect(await this.#reply('connect', limits), 220, 'greeting')
    await this.#hello(server.helo, limits)
    if (server.tls === 'required' || server.tls === 'opportunistic') {
      if (this.#extensions.has('STARTTLS')) {
        expect(await this.#ask('STARTTLS', limits), 220, 'tls')
        await this.#wire.startTls(secureOptions(server), within(limits, this.#timeouts.connect))
        this.#dialogue.secured(this.#wire.socket)
        // The extensions offered in clear may be forged, so they are asked for again (RFC 3207 4.2).
        await this.#hello(server.helo, limits)
      } else if (server.tls === 'required' || server.credentials !== null) {
        throw new SendError('temporary', NOT_SECURE)
      }
    }
    if (server.credentials !== null) await this.#signIn(server.credentials, limits)
  }

  async #hello(name: string, limits: Limits): Promise<void> {
    let reply = await this.#ask(`EHLO ${name}`, limits)
    this.#extensions = new Map()
    const isExtended = reply.code < 500 || reply.code >= 505
    if (!isExtended) reply = await this.#ask(`HELO ${name}`, limits)
    expect(reply, 250, 'hello')
    for (const line of isExtended ? reply.lines.slice(1) : []) {
      const [keyword = '', ...parameters] = line.trim().split(/[ =]+/)
      this.#extensions.set(keyword.toUpperCase(), parameters.join(' ').toUpperCase())
    }
  }

  async #signIn({ user, password }: { user: string; password: string }, limits: Limits): Promise<void> {
    const mechanisms = (this.#extensions.get('AUTH') ?? '').split(' ')
    const encoded = (text: string): string => Buffer.from(text).toString('base64')
    let last = `AUTH PLAIN ${encoded(`\0${user}\0${password}`)}`
    if (!mechanisms.includes('PLAIN')) {
      if (!mechanisms.includes('LOGIN')) throw new SendError('temporary', NO_SIGN_IN)
      for (const line of ['AUTH LOGIN', encoded(user)]) expect(await this.#ask(line, limits, 'AUTH'), 334, 'auth')
      last = encoded(password)
    }
    expect(await this.#ask(last, limits, 'AUTH'), 235, 'auth')
  }

  /** Sends the commands up to DATA, until the server waits for the message. */
  async #begin(commands: ReturnType<typeof transaction>, limits: Limits): Promise<void> {
    const pipelined = this.#extensions.has('PIPELINING')
    this.#unfinished = true
    if (pipelined) this.#wire.write(commands.map(({ line }) => line).join(''))
    for (const [index, { stage, line }] of commands.entries()) {
      if (!pipelined) this.#wire.write(line)
      const reply = await this.#reply(nameOf(line), limits)
      if (line === 'DATA\r\n' ? reply.code === 354 : reply.code < 300) continue
      const refused = refusal(reply, stage)
      if (reply.code === 421) {
        this.#wire.drop(new ConnectionLost('closed'))
        if (index === 0 && this.transactions > 1) throw new StaleSession('temporary', refused.reason, { answer: reply.text })
      } else if (pipelined) await this.#drain(commands.slice(index + 1), limits)
      throw refused
    }
  }

  /** Reads the replies to the pipelined commands after a refused one. */
  async #drain(commands: ReturnType<typeof transaction>, limits: Limits): Promise<void> {
    let isRecipientTaken = false
    try {
      for (const { stage } of commands) {
        const reply = await this.#wire.reply(within(limits, this.#timeouts.reply))
        if (stage === 'recipient' && reply.code < 300) isRecipientTaken = true
        if (reply.code !== 354) continue
        // The server refused RSET alone. An empty message would reach the recipient.
        if (isRecipientTaken) return this.#wire.drop(new ConnectionLost('garbled'))
        // RFC 2920 3.1: the server may accept DATA without a valid recipient; an empty message ends it.
        this.#wire.write(END)
        await this.#wire.reply(within(limits, this.#timeouts.reply))
      }
    } catch (error) {
      // The caller throws the refusal, for which the connection is no longer needed.
      if (!(error instanceof ConnectionLost)) throw error
    }
  }

  async #upload(body: Buffer): Promise<void> {
    try {
      for (let start = 0; start < body.length; start += PIECE) {
        await this.#wire.flush(body.subarray(start, start + PIECE), this.#timeouts.upload)
        this.#refuseEarly()
      }
    } catch (error) {
      this.#refuseEarly()
      throw error
    }
  }

  /** A reply before the end of the data is a refusal or a protocol error. Without this check the next reply would be taken for its answer. */
  #refuseEarly(): void {
    const early = this.#wire.unsolicited()
    if (early === undefined) return
    this.#dialogue.replied('data', early)
    this.#wire.drop(new ConnectionLost('garbled'))
    if (early.code >= 400) throw refusal(early, 'data')
    throw new SendError('temporary', lossReasons.garbled, { answer: early.text })
  }

  /** `name`: of a line with a secret in its text. */
  #ask(command: string, limits: Limits, name = nameOf(command)): Promise<Reply> {
    this.#wire.write(`${command}\r\n`)
    return this.#reply(name, limits)
  }

  async #reply(command: string, limits: Limits): Promise<Reply> {
    const reply = await this.#wire.reply(within(limits, this.#timeouts.reply))
    this.#dialogue.replied(command, reply)
    return reply
  }
}

/** A command without its parameters: "MAIL FROM", "DATA". */
const nameOf = (line: string): string => /^(MAIL FROM|RCPT TO|[A-Z]+)/.exec(line)?.[0] ?? ''

/** What is known of a server that gave no connection. */
function unreachedFacts({ host, address, port }: ServerSettings, error: unknown): Facts {
  const { cause } = error as { cause?: { code?: unknown } }
  const fault = typeof cause?.code === 'string' ? { fault: cause.code } : {}
  return { smtp: { server: host, address: address ?? null, port, tls: null, ...fault, steps: [] } }
}

const within = (limits: Limits, timeoutMs: number): number => Math.min(timeoutMs, limits.deadline - performance.now())

function expect(reply: Reply, code: number, stage: Stage): void {
  if (reply.code !== code) throw refusal(reply, stage)
}

function secureOptions({ host, tls, ca }: ServerSettings): ConnectionOptions {
  return {
    // RFC 7435 3: encryption without authentication is better than none. 'required' demands a valid certificate.
    rejectUnauthorized: tls !== 'opportunistic',
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(ca === undefined ? {} : { ca }),
  }
}

const NOT_SECURE =
  'O servidor de e-mail não oferece a conexão segura (STARTTLS) que EMAIL_URL pede. Confira nela o servidor, a porta e a opção tls.'
const NO_SIGN_IN =
  'O servidor de e-mail não oferece entrada por usuário e senha (AUTH PLAIN ou LOGIN). Confira a porta em EMAIL_URL, ou tire dela o usuário e a senha.'
const UNCONFIRMED = 'O servidor de e-mail não confirmou se recebeu a mensagem.'

const lossReasons: Record<LossKind, string> = {
  closed: 'A conexão com o servidor de e-mail caiu antes do envio.',
  timeout: 'O servidor de e-mail não respondeu a tempo.',
  aborted: 'O envio foi interrompido antes de a mensagem sair.',
  handshake: 'A conexão segura (TLS) com o servidor de e-mail falhou. Verifique o certificado dele.',
  garbled: 'O servidor de e-mail deu uma resposta que não é SMTP.',
}

function lossError(error: ConnectionLost, whileConnecting: boolean): SendError {
  if (whileConnecting && (error.kind === 'closed' || error.kind === 'timeout')) {
    return new Unreachable('temporary', 'Não foi possível conectar ao servidor de e-mail.', { cause: error })
  }
  return new SendError('temporary', lossReasons[error.kind], { cause: error })
}
