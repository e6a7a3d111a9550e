import type { Socket } from 'node:net'
import { Connection, ConnectionEnded, type Exchange } from './connection.js'

export interface PoolOptions {
  /** Opens a connection; its time is limited. */
  connect(done: (error: Error | null, socket: Socket | null) => void): void
  /** How long a free connection is kept. */
  idleMs: number
  /** Called when no connection is left. */
  onEmpty(): void
}

/** The connections to one server: as many as there are requests at a time. Free ones are used again and closed after a while. */
export class ConnectionPool {
  readonly #options: PoolOptions
  readonly #open = new Set<Connection>()
  #connecting = 0
  /** The one that was used last is used first, so that those that are too many grow old. */
  readonly #free: Connection[] = []
  /** Their response came a moment ago. */
  #freed: Connection[] = []
  /** Requests for the connections in #freed. */
  #waiting: Exchange[] = []
  #sweep: NodeJS.Timeout | undefined
  #closed = false

  constructor(options: PoolOptions) {
    this.#options = options
  }

  send(exchange: Exchange): void {
    const free = this.#takeFree()
    if (free !== undefined) free.start(exchange)
    else if (this.#waiting.length < this.#freed.length) this.#waiting.push(exchange)
    else this.#connect(exchange)
  }

  /** The requests under way fail. */
  close(): void {
    this.#closed = true
    clearTimeout(this.#sweep)
    for (const connection of this.#open) connection.close()
    for (const exchange of this.#waiting.splice(0)) exchange.fail(new ConnectionEnded('CLIENT_CLOSED'))
  }

  #takeFree(): Connection | undefined {
    for (let connection = this.#free.pop(); connection !== undefined; connection = this.#free.pop()) {
      if (connection.isOpen && connection.idleUntil > performance.now()) return connection
      connection.close()
    }
    return undefined
  }

  #connect(exchange: Exchange): void {
    this.#connecting++
    this.#options.connect((error, socket) => {
      this.#connecting--
      if (socket === null || this.#closed || exchange.isSettled) {
        socket?.destroy()
        exchange.fail(error ?? new ConnectionEnded('CLIENT_CLOSED'))
        this.#forgetIfEmpty()
        return
      }
      const connection = new Connection(socket, {
        idleMs: this.#options.idleMs,
        onFree: freed => this.#release(freed),
        onClose: closed => {
          this.#open.delete(closed)
          this.#forgetIfEmpty()
        },
      })
      this.#open.add(connection)
      connection.start(exchange)
    })
  }

  /**
   * A server may close the connection right after its response without having said so. The first callback runs before the sockets are
   * read again, the second one after that: then the end of the connection is known, and no request is lost on it.
   */
  #release(connection: Connection): void {
    if (this.#freed.length === 0) setImmediate(() => setImmediate(() => this.#reuse()))
    this.#freed.push(connection)
  }

  #reuse(): void {
    this.#free.push(...this.#freed)
    this.#freed = []
    const waiting = this.#waiting
    this.#waiting = []
    for (const exchange of waiting) if (!exchange.isSettled) this.send(exchange)
    if (this.#free.length > 0 && !this.#closed) this.#sweep ??= this.#scheduleSweep()
  }

  #scheduleSweep(): NodeJS.Timeout {
    const sweep = setTimeout(() => {
      this.#sweep = undefined
      const now = performance.now()
      for (const connection of this.#free.splice(0)) {
        if (connection.isOpen && connection.idleUntil > now) this.#free.push(connection)
        else connection.close()
      }
      if (this.#free.length > 0) this.#sweep = this.#scheduleSweep()
    }, this.#options.idleMs)
    return sweep.unref()
  }

  #forgetIfEmpty(): void {
    if (this.#open.size + this.#connecting + this.#waiting.length > 0) return
    clearTimeout(this.#sweep)
    this.#options.onEmpty()
  }
}
