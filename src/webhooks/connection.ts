import type { Socket } from 'node:net'
import type { ResponseReader } from './response-reader.js'

/** Why a request has no response, where the socket has no error. */
export class ConnectionEnded extends Error {
  readonly code: 'SERVER_CLOSED' | 'CLIENT_CLOSED'

  constructor(code: ConnectionEnded['code']) {
    super(code)
    this.code = code
  }
}

/** One request and its response. It is told its end once or several times; only the first counts. */
export interface Exchange {
  readonly reader: ResponseReader
  /** The request, head and body: one write. */
  readonly text: string
  readonly isSettled: boolean
  /** Set while a connection works for this exchange. */
  onTimeout: (() => void) | null
  succeed(): void
  fail(error: Error): void
}

/** A server that asks for less idle time than this is not asked twice: our request could cross its closing. */
const CLOSING_MARGIN_MS = 2_000

/** An open connection. It carries one exchange at a time, because the response to a POST may mean that the next one must wait. */
export class Connection {
  readonly #socket: Socket
  readonly #idleMs: number
  readonly #onFree: (connection: Connection) => void
  readonly #abandon = (): void => this.close()
  #exchange: Exchange | null = null
  /** performance.now() from which on the server may close this connection. */
  idleUntil = Number.POSITIVE_INFINITY

  constructor(
    socket: Socket,
    options: { idleMs: number; onFree(connection: Connection): void; onClose(connection: Connection): void },
  ) {
    this.#socket = socket
    this.#idleMs = options.idleMs
    this.#onFree = options.onFree
    // An idle connection does not keep the process alive; the time limit of a request does.
    socket.unref()
    socket.on('data', (bytes: Buffer) => this.#receive(bytes))
    socket.on('end', () => this.#end())
    socket.on('error', error => this.close(error))
    socket.once('close', () => {
      this.close(new ConnectionEnded('SERVER_CLOSED'))
      options.onClose(this)
    })
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed && this.#socket.writable
  }

  start(exchange: Exchange): void {
    this.#exchange = exchange
    exchange.onTimeout = this.#abandon
    this.#socket.write(exchange.text, 'utf8')
  }

  /** The exchange under way fails, unless its status is known. */
  close(error: Error = new ConnectionEnded('CLIENT_CLOSED')): void {
    const exchange = this.#exchange
    this.#exchange = null
    this.#socket.destroy()
    exchange?.fail(error)
  }

  #receive(bytes: Buffer): void {
    const exchange = this.#exchange
    // Bytes that nobody asked for would be taken for the response to the next request.
    if (exchange === null) {
      this.close()
      return
    }
    try {
      const progress = exchange.reader.push(bytes)
      if (progress !== 'incomplete') this.#finish(exchange, progress === 'complete')
    } catch (error) {
      this.close(error as Error)
    }
  }

  #finish(exchange: Exchange, isClean: boolean): void {
    this.#exchange = null
    const { keepsAlive, idleMs } = exchange.reader
    const freeMs = idleMs === null ? this.#idleMs : Math.min(this.#idleMs, idleMs - CLOSING_MARGIN_MS)
    // A response that came before the whole request was sent leaves the rest of the request in the connection.
    const isReusable = isClean && keepsAlive && freeMs > 0 && this.#socket.writableLength === 0 && this.isOpen
    if (isReusable) {
      this.idleUntil = performance.now() + freeMs
      this.#onFree(this)
    } else this.#socket.destroy()
    exchange.succeed()
  }

  /** The server sends no more. Only a response without a length ends that way. */
  #end(): void {
    const exchange = this.#exchange
    if (exchange?.reader.endsWithConnection === true) this.#finish(exchange, false)
    else this.close(new ConnectionEnded('SERVER_CLOSED'))
  }
}
