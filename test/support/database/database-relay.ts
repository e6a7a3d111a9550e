import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import type { TestDatabase } from './database.js'

/**
 * A server of its own, as far as its clients can see: a port that leads to one database of the test server. It can go away and come
 * back, and it leads to its database whatever name a client asks for, as the same name on two servers would.
 */
export class DatabaseRelay {
  /** How often somebody connected, in vain as well. */
  connections = 0
  /** The clients' ports. */
  readonly ports: number[] = []
  readonly #path: string
  readonly #name: string
  readonly #user: string
  readonly #sockets = new Set<Socket>()
  readonly #server: Server
  #away = false

  constructor({ url }: Pick<TestDatabase, 'url'>) {
    const { hostname, pathname, username } = new URL(url)
    this.#path = `${decodeURIComponent(hostname)}/.s.PGSQL.5432`
    this.#name = pathname.slice(1)
    this.#user = username
    this.#server = createServer(socket => this.#serve(socket))
  }

  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  get url(): string {
    return `postgresql://${this.#user}@${this.host}/${this.#name}`
  }

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  /** Ends every connection, and each new one at once. */
  goAway(): void {
    this.#away = true
    for (const socket of this.#sockets) socket.destroy()
    this.#sockets.clear()
  }

  comeBack(): void {
    this.#away = false
  }

  close(): void {
    this.goAway()
    this.#server.close()
  }

  #serve(socket: Socket): void {
    this.connections++
    this.ports.push(socket.remotePort!)
    socket.on('error', () => {})
    if (this.#away) return void socket.destroy()
    const onward = connect(this.#path)
    onward.on('error', () => {})
    for (const [end, other] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      this.#sockets.add(end)
      end.on('close', () => {
        this.#sockets.delete(end)
        other.destroy()
      })
    }
    // Names of test databases are equally long, so the first message keeps its length.
    socket.once('data', first => {
      onward.write(Buffer.from(first.toString('latin1').replace(/test_[0-9a-f]{12}/, this.#name), 'latin1'))
      socket.pipe(onward)
    })
    onward.pipe(socket)
  }
}

export async function relayForTest(database: Pick<TestDatabase, 'url'>): Promise<DatabaseRelay> {
  const relay = new DatabaseRelay(database)
  await relay.listen()
  onTestFinished(() => relay.close())
  return relay
}
