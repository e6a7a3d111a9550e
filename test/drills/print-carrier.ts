import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A print service as docs/carta.md describes it, which a drill can make take orders without an answer. */
export class PrintService {
  /** Our references of the orders that it took, in their order. */
  readonly orders: string[] = []
  /** Our references that it was asked about. */
  readonly asked: string[] = []
  /** It answers only one order in five: enough that the gateway goes on sending. */
  losesAnswers = false
  readonly #secret: string
  readonly #server = createServer((request, response) => void this.#answer(request, response))

  constructor(secret: string) {
    this.#secret = secret
  }

  /** Returns the value of LETTER_URL. */
  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `print+http://token:${this.#secret}@127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`
  }

  /** Tells the gateway that a letter arrived; returns the status of its answer. */
  async tellDelivered(api: string, reference: string): Promise<number> {
    const body = JSON.stringify({ referencia: reference, situacao: 'entregue' })
    const timestamp = String(Math.floor(Date.now() / 1_000))
    const signature = createHmac('sha256', this.#secret).update(`${timestamp}.${body}`).digest('hex')
    const headers = { 'carteiro-timestamp': timestamp, 'carteiro-signature': `v1=${signature}` }
    return (await fetch(`${api}/callbacks/print-shop`, { method: 'POST', headers, body })).status
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await closed
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const say = (status: number, body: object): unknown =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (request.method === 'GET') {
      const reference = decodeURIComponent(request.url!.split('/').at(-1)!)
      this.asked.push(reference)
      const place = this.orders.indexOf(reference)
      return void (place === -1 ? say(404, { situacao: 'desconhecida' }) : say(200, { id: `C-${place}`, situacao: 'aceita' }))
    }
    // The whole order is read first: only then has the service taken it.
    try {
      for await (const _ of request);
    } catch {
      return
    }
    this.orders.push(String(request.headers['idempotency-key']))
    if (!this.losesAnswers || this.orders.length % 5 === 0) return void say(201, { id: `C-${this.orders.length - 1}` })
    request.socket.resetAndDestroy()
  }
}
