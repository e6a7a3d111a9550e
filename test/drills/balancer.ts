import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** What stands in front of the nodes of the API: each connection goes to the next node that takes it. */
export class Balancer {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #next = 0

  private constructor(server: Server) {
    this.#server = server
  }

  /** `targets`: the addresses of the nodes at that moment. */
  static async open(targets: () => readonly string[]): Promise<Balancer> {
    const server = createServer({ allowHalfOpen: true }, socket => balancer.#serve(socket, [...targets()]))
    const balancer = new Balancer(server)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return balancer
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
  }

  #serve(client: Socket, targets: string[]): void {
    this.#keep(client)
    const [target] = targets.splice(this.#next++ % Math.max(1, targets.length), 1)
    if (target === undefined) {
      client.destroy()
      return
    }
    const node = connect({ port: Number(new URL(target).port), host: '127.0.0.1', allowHalfOpen: true })
    this.#keep(node)
    let connected = false
    node.once('connect', () => {
      connected = true
      client.pipe(node)
      node.pipe(client)
    })
    node.once('close', () => {
      // A node that takes no connection got nothing: another one may.
      if (connected) client.destroy()
      else this.#serve(client, targets)
    })
    client.once('close', () => node.destroy())
  }

  #keep(socket: Socket): void {
    if (this.#sockets.has(socket)) return
    this.#sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => this.#sockets.delete(socket))
  }
}
