import { connect as connectPlain, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectSecure } from 'node:tls'
import { type Reply, ReplyReader } from './reply.js'

/** A connection to an SMTP server that writes bytes and reads whole replies, each with a timeout. */
export class SmtpWire {
  /** Called once, when the connection is lost. */
  onLost: () => void = () => {}
  /** The number of replies on this connection. */
  received = 0
  #socket: Socket
  #reader = new ReplyReader()
  readonly #replies: Reply[] = []
  #takeReply: ((reply: Reply) => void) | null = null
  #giveUp: ((error: ConnectionLost) => void) | null = null
  #lost: ConnectionLost | null = null
  #handshaking: boolean

  private constructor(socket: Socket, handshaking: boolean) {
    this.#socket = socket
    this.#handshaking = handshaking
    this.#listen()
  }

  static async connect(
    { host, port, secure }: { host: string; port: number; secure: ConnectionOptions | null },
    ms: number,
    signal: AbortSignal,
  ): Promise<SmtpWire> {
    const target = { host, port, noDelay: true }
    const socket = secure === null ? connectPlain(target) : connectSecure({ ...target, ...secure })
    const wire = new SmtpWire(socket, secure !== null)
    const stopWatching = wire.watch(signal)
    try {
      await wire.#wait<void>(ms, done => socket.once(secure === null ? 'connect' : 'secureConnect', () => done()))
      wire.#handshaking = false
      return wire
    } finally {
      stopWatching()
    }
  }

  get socket(): Socket {
    return this.#socket
  }

  /** Whether no reply is pending, so that the next reply answers the next command. */
  get isIdle(): boolean {
    return this.#lost === null && this.#replies.length === 0 && !this.#reader.isIncomplete
  }

  /** False: the connection was already lost and nothing was written. */
  write(data: string | Buffer): boolean {
    if (this.#lost !== null) return false
    this.#socket.write(data)
    return true
  }

  /** Writes and waits until the operating system has taken all the data. */
  flush(data: Buffer, ms: number): Promise<void> {
    // A failed write also emits 'error', which rejects this promise.
    return this.#wait<void>(ms, done => this.#socket.write(data, error => error == null && done()))
  }

  async reply(ms: number): Promise<Reply> {
    const takeNext = (done: (reply: Reply) => void): void => {
      this.#takeReply = done
    }
    return this.unsolicited() ?? this.#wait<Reply>(ms, takeNext)
  }

  /** A reply that was received before it was asked for. */
  unsolicited(): Reply | undefined {
    return this.#replies.shift()
  }

  /** Starts TLS. Unread data from before TLS may be injected by an attacker, so it ends the connection. */
  async startTls(options: ConnectionOptions, ms: number): Promise<void> {
    if (!this.isIdle) this.drop(new ConnectionLost('garbled'))
    this.#socket.removeAllListeners()
    this.#handshaking = true
    this.#socket = connectSecure({ ...options, socket: this.#socket })
    this.#reader = new ReplyReader()
    this.#listen()
    await this.#wait<void>(ms, done => this.#socket.once('secureConnect', () => done()))
    this.#handshaking = false
  }

  /** Drops the connection when the signal is aborted. Returns a function that stops watching. */
  watch(signal: AbortSignal): () => void {
    const abort = (): void => this.drop(new ConnectionLost('aborted', signal.reason))
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort)
    return () => signal.removeEventListener('abort', abort)
  }

  /** Sends a last command and does not wait for its reply. */
  sendAndClose(command: string): void {
    if (this.#lost !== null) return
    const socket = this.#socket
    socket.end(command)
    const timer = setTimeout(() => socket.destroy(), 1_000).unref()
    socket.once('close', () => clearTimeout(timer))
    this.#settle(new ConnectionLost('closed'))
  }

  drop(error: ConnectionLost): void {
    this.#socket.destroy()
    this.#settle(error)
  }

  #settle(error: ConnectionLost): void {
    if (this.#lost !== null) return
    this.#lost = error
    this.#giveUp?.(error)
    this.onLost()
  }

  #wait<T>(ms: number, begin: (done: (value: T) => void) => unknown): Promise<T> {
    if (this.#lost !== null) return Promise.reject(this.#lost)
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.drop(new ConnectionLost('timeout')), Math.max(0, ms))
      this.#giveUp = error => {
        clearTimeout(timer)
        reject(error)
      }
      begin(value => {
        clearTimeout(timer)
        this.#giveUp = null
        resolve(value)
      })
    })
  }

  #listen(): void {
    this.#socket.on('data', bytes => this.#read(bytes))
    this.#socket.on('error', cause => this.drop(new ConnectionLost(this.#handshaking ? 'handshake' : 'closed', cause)))
    for (const event of ['end', 'close']) this.#socket.on(event, () => this.drop(new ConnectionLost('closed')))
  }

  #read(bytes: Buffer): void {
    try {
      for (const reply of this.#reader.read(bytes)) {
        this.received++
        const take = this.#takeReply
        this.#takeReply = null
        if (take === null) this.#replies.push(reply)
        else take(reply)
      }
    } catch (cause) {
      this.drop(new ConnectionLost('garbled', cause))
    }
    // At most five commands are pipelined, so more replies than this are a protocol error.
    if (this.#replies.length > 16) this.drop(new ConnectionLost('garbled'))
  }
}

export type LossKind = 'closed' | 'timeout' | 'aborted' | 'handshake' | 'garbled'

export class ConnectionLost extends Error {
  readonly kind: LossKind

  constructor(kind: LossKind, cause?: unknown) {
    super(`SMTP connection: ${kind}`, { cause })
    this.name = 'ConnectionLost'
    this.kind = kind
  }
}
