import { isIP } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import { SendError } from '../../provider.js'
import { type Command, type Envelope, stuffDots, transaction } from './commands.js'
import { type Reply, refusal, type Stage } from './reply.js'
import { ConnectionLost, type LossKind, SmtpWire } from './wire.js'

/**
 * One SMTP conversation (RFC 5321), used for one message after another. Written here for its pipelining (RFC 2920): a
 * message costs two round trips, where nodemailer's client takes four and ten times the processor time.
 */
export interface ServerSettings {
  host: string
  port: number
  /** The address to connect to, when the name has been resolved already. */
  address?: string
  /** How we introduce ourselves. */
  helo: string
  /**
   * implicit: TLS from the first byte; required: STARTTLS or nothing; both with a certificate that checks.
   * opportunistic: STARTTLS with any certificate where it is offered (RFC 7435); off: never.
   */
  tls: 'implicit' | 'required' | 'opportunistic' | 'off'
  credentials: { user: string; password: string } | null
  /** Trusted instead of the usual authorities. */
  ca?: string
  patience?: Partial<Patience>
}

/** How long each step may take, in milliseconds. */
export interface Patience {
  connect: number
  reply: number
  /** While the message leaves: without any progress. However long it is and however slow the line, it may go on. */
  upload: number
  /** From the end of the data to its answer: servers filter and store in between. */
  data: number
}

/**
 * RFC 5321 4.5.3.2.6 asks for minutes after the final dot: a server that is given up too soon has mostly taken the message,
 * and gets it once more.
 */
const PATIENCE: Patience = { connect: 5_000, reply: 15_000, upload: 30_000, data: 300_000 }

/**
 * Until when, on the clock of performance.now(), the message must have begun to leave, and whose signal calls it off at any
 * time. From then on every step has its own time.
 */
export interface Limits {
  deadline: number
  signal: AbortSignal
}

/** The connection had gone away while nobody used it: nothing was lost, a new one may be tried at once. */
export class StaleSession extends SendError {}

/** No connection came about. */
export class Unreachable extends SendError {}

/** A message over this is handed to the operating system whole before its final dot: a break until then leaves no doubt. */
const ONE_WRITE = 65_536
/** Of a large one this much, or what is left, must leave while the patience for an upload lasts: 2 KB a second. */
const PIECE = 65_536
const END = Buffer.from('.\r\n')

export class SmtpSession {
  /** Transactions so far, those that failed too. */
  transactions = 0
  readonly #wire: SmtpWire
  readonly #patience: Patience
  #extensions = new Map<string, string>()
  /** A transaction was begun and not ended: the next one begins with RSET. */
  #unfinished = false

  private constructor(wire: SmtpWire, patience: Patience) {
    this.#wire = wire
    this.#patience = patience
  }

  /** Connects, secures and signs in. Whatever fails here leaves no message in doubt. */
  static async open(server: ServerSettings, limits: Limits): Promise<SmtpSession> {
    const patience = { ...PATIENCE, ...server.patience }
    const secure = server.tls === 'implicit' ? secureOptions(server) : null
    let session: SmtpSession | undefined
    let unwatch = (): void => {}
    try {
      const target = { host: server.address ?? server.host, port: server.port, secure }
      const wire = await SmtpWire.connect(target, within(limits, patience.connect), limits.signal)
      session = new SmtpSession(wire, patience)
      unwatch = wire.watch(limits.signal)
      await session.#introduce(server, limits)
      return session
    } catch (error) {
      session?.close()
      if (error instanceof ConnectionLost) throw lossError(error, session === undefined)
      throw error
    } finally {
      unwatch()
    }
  }

  /** Ready for another message. */
  get isUsable(): boolean {
    return this.#wire.isQuiet
  }

  set onGone(listener: () => void) {
    this.#wire.onLost = listener
  }

  /** Hands over one message; gives the reply that took it. */
  async send(envelope: Envelope, message: Buffer, limits: Limits): Promise<Reply> {
    const commands = transaction(envelope, message, this.#extensions, this.#unfinished)
    const body = stuffDots(message)
    const reused = this.transactions++ > 0
    const { received } = this.#wire
    let inDoubt = false
    const unwatch = this.#wire.watch(limits.signal)
    try {
      await this.#begin(commands, limits)
      const large = body.length > ONE_WRITE
      if (large) await this.#upload(body)
      this.#refuseEarly()
      inDoubt = this.#wire.write(large ? END : Buffer.concat([body, END]))
      const reply = await this.#wire.reply(this.#patience.data)
      this.#unfinished = false
      if (reply.code >= 300) throw refusal(reply, 'data')
      return reply
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error
      if (inDoubt) throw new SendError('uncertain', UNCONFIRMED, { cause: error })
      const stale = reused && this.#wire.received === received && error.kind === 'closed'
      throw stale ? new StaleSession('temporary', losses.closed, { cause: error }) : lossError(error, false)
    } finally {
      unwatch()
    }
  }

  /** Says goodbye and leaves. */
  close(): void {
    this.#wire.leave('QUIT\r\n')
  }

  async #introduce(server: ServerSettings, limits: Limits): Promise<void> {
    expect(await this.#reply(limits), 220, 'greeting')
    await this.#hello(server.helo, limits)
    if (server.tls === 'required' || server.tls === 'opportunistic') {
      if (this.#extensions.has('STARTTLS')) {
        this.#wire.write('STARTTLS\r\n')
        expect(await this.#reply(limits), 220, 'tls')
        await this.#wire.startTls(secureOptions(server), within(limits, this.#patience.connect))
        // What was offered in clear may have been written by anybody on the way (RFC 3207 4.2).
        await this.#hello(server.helo, limits)
      } else if (server.tls === 'required' || server.credentials !== null) {
        throw new SendError('temporary', NOT_SECURE)
      }
    }
    if (server.credentials !== null) await this.#signIn(server.credentials, limits)
  }

  async #hello(name: string, limits: Limits): Promise<void> {
    this.#wire.write(`EHLO ${name}\r\n`)
    const reply = await this.#reply(limits)
    this.#extensions = new Map()
    if (reply.code >= 500 && reply.code < 505) {
      this.#wire.write(`HELO ${name}\r\n`)
      expect(await this.#reply(limits), 250, 'hello')
      return
    }
    expect(reply, 250, 'hello')
    for (const line of reply.lines.slice(1)) {
      const [keyword = '', ...parameters] = line.trim().split(/[ =]+/)
      this.#extensions.set(keyword.toUpperCase(), parameters.join(' ').toUpperCase())
    }
  }

  async #signIn({ user, password }: { user: string; password: string }, limits: Limits): Promise<void> {
    const mechanisms = (this.#extensions.get('AUTH') ?? '').split(' ')
    const encoded = (text: string): string => Buffer.from(text).toString('base64')
    if (mechanisms.includes('PLAIN')) {
      this.#wire.write(`AUTH PLAIN ${encoded(`\0${user}\0${password}`)}\r\n`)
    } else if (mechanisms.includes('LOGIN')) {
      for (const line of ['AUTH LOGIN', encoded(user)]) {
        this.#wire.write(`${line}\r\n`)
        expect(await this.#reply(limits), 334, 'auth')
      }
      this.#wire.write(`${encoded(password)}\r\n`)
    } else {
      throw new SendError('temporary', NO_SIGN_IN)
    }
    expect(await this.#reply(limits), 235, 'auth')
  }

  /** Until the server waits for the message. */
  async #begin(commands: Command[], limits: Limits): Promise<void> {
    const pipelined = this.#extensions.has('PIPELINING')
    this.#unfinished = true
    if (pipelined) this.#wire.write(commands.map(({ line }) => line).join(''))
    for (const [index, { stage, line }] of commands.entries()) {
      if (!pipelined) this.#wire.write(line)
      const reply = await this.#reply(limits)
      if (line === 'DATA\r\n' ? reply.code === 354 : reply.code < 300) continue
      const refused = refusal(reply, stage)
      if (reply.code === 421) {
        this.#wire.lose(new ConnectionLost('closed'))
        if (index === 0 && this.transactions > 1) throw new StaleSession('temporary', refused.reason, { answer: reply.text })
      } else if (pipelined) await this.#drain(commands.length - 1 - index, limits)
      throw refused
    }
  }

  /** Reads the answers to what was written after a refused command. */
  async #drain(count: number, limits: Limits): Promise<void> {
    try {
      for (let left = count; left > 0; left--) {
        const reply = await this.#reply(limits)
        if (reply.code !== 354) continue
        // RFC 2920 3.1: the server takes data although nobody is to get it; an empty message ends that.
        this.#wire.write(END)
        await this.#reply(limits)
      }
    } catch (error) {
      // The refusal is known; the connection is not needed for it.
      if (!(error instanceof ConnectionLost)) throw error
    }
  }

  async #upload(body: Buffer): Promise<void> {
    try {
      for (let start = 0; start < body.length; start += PIECE) {
        await this.#wire.flush(body.subarray(start, start + PIECE), this.#patience.upload)
        this.#refuseEarly()
      }
    } catch (error) {
      this.#refuseEarly()
      throw error
    }
  }

  /** A server that speaks before the end has made up its mind, or lost count: what it says next would be taken for its answer. */
  #refuseEarly(): void {
    const early = this.#wire.unasked()
    if (early === null) return
    this.#wire.lose(new ConnectionLost('garbled'))
    if (early.code >= 400) throw refusal(early, 'data')
    throw new SendError('temporary', losses.garbled, { answer: early.text })
  }

  #reply(limits: Limits): Promise<Reply> {
    return this.#wire.reply(within(limits, this.#patience.reply))
  }
}

const within = (limits: Limits, patience: number): number => Math.min(patience, limits.deadline - performance.now())

function expect(reply: Reply, code: number, stage: Stage): void {
  if (reply.code !== code) throw refusal(reply, stage)
}

function secureOptions({ host, tls, ca }: ServerSettings): ConnectionOptions {
  return {
    // Any encryption is better than none; a certificate that must check is asked for by 'required' (RFC 7435 3).
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

const losses: Record<LossKind, string> = {
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
  return new SendError('temporary', losses[error.kind], { cause: error })
}
