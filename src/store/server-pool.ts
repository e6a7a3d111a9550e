import pg from 'pg'
import type { Servers } from './servers.js'

type Callback = (error: Error | undefined, client: pg.PoolClient | undefined, release: (error?: Error | boolean) => void) => void

/** pg-pool's words for a wait for one of its own connections. */
export const ALL_IN_USE = 'timeout exceeded when trying to connect'

/** After this many failed servers the caller gets the error. Each server was found by a search for the primary. */
const MOST_FAILURES = 3

/** A pool whose connections go to the server that accepts writes, and leave it when it is replaced. */
export class ServerPool extends pg.Pool {
  readonly #servers: Servers
  readonly #epochs: WeakMap<pg.ClientBase, number>

  constructor(servers: Servers, config: pg.PoolConfig) {
    const epochs = new WeakMap<pg.ClientBase, number>()
    const Client = class extends pg.Client {
      constructor(options: pg.ClientConfig) {
        super({ ...options, connectionString: servers.url })
        epochs.set(this, servers.epoch)
        // The end of a session may arrive in one packet with the answer before it. By then the connection is handed to the next caller,
        // who has not had a turn to listen: without a listener the error would end the process.
        this.on('error', () => {})
      }
    }
    super({ ...config, Client: Client as unknown as new () => pg.ClientBase })
    this.#servers = servers
    this.#epochs = epochs
  }

  /** pg-pool's own query calls this, too. */
  override connect(): Promise<pg.PoolClient>
  override connect(callback: Callback): void
  override connect(callback?: Callback): Promise<pg.PoolClient> | undefined {
    const connecting = this.#checkOut()
    if (callback === undefined) return connecting
    connecting.then(
      client => callback(undefined, client, client.release),
      (error: Error) => callback(error, undefined, () => {}),
    )
    return undefined
  }

  async #checkOut(): Promise<pg.PoolClient> {
    for (let failures = 0; ; ) {
      // A connection that is there is used, whatever is known of the server.
      if (this.idleCount === 0) await this.#servers.ready()
      try {
        const client = await super.connect()
        if (this.#epochs.get(client) === this.#servers.epoch) return client
        client.release(true)
      } catch (error) {
        if ((error as Error).message === ALL_IN_USE || this.ending) throw error
        if (!this.#servers.failed(error) || ++failures === MOST_FAILURES) throw error
      }
    }
  }
}
