import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The senders' side of a webhook drill: one path that always answers well, one that has every trouble a drill asks for. */
export type Trouble = 'none' | 'fail' | 'hang' | 'reset' | 'garbage' | 'down'

export interface Arrival {
  id: string
  notification: string
  channel: string
}

export class WebhookReceiver {
  /** In the order of arrival; only what was answered 2xx counts as arrived, the rest as tried. */
  readonly arrived: Record<'healthy' | 'troubled', Arrival[]> = { healthy: [], troubled: [] }
  tried = 0
  #trouble: Trouble = 'none'
  #port = 0
  #troubled: Server | undefined
  readonly #healthy = createServer((request, response) =>
    this.#read(request, arrival => this.#accept('healthy', arrival, response)),
  )

  get trouble(): Trouble {
    return this.#trouble
  }

  /** The two URLs. */
  async start(): Promise<{ healthy: string; troubled: string }> {
    const port = await listen(this.#healthy, 0)
    await this.#open()
    return { healthy: `http://127.0.0.1:${port}/healthy`, troubled: `http://127.0.0.1:${this.#port}/troubled` }
  }

  async make(trouble: Trouble): Promise<void> {
    this.#trouble = trouble
    if (trouble === 'down') {
      await close(this.#troubled!)
      this.#troubled = undefined
    } else if (this.#troubled === undefined) await this.#open()
  }

  async stop(): Promise<void> {
    await close(this.#healthy)
    if (this.#troubled !== undefined) await close(this.#troubled)
  }

  async #open(): Promise<void> {
    this.#troubled = createServer((request, response) =>
      this.#read(request, arrival => {
        this.tried++
        this.#answer(arrival, response)
      }),
    )
    this.#port = await listen(this.#troubled, this.#port)
  }

  #answer(arrival: Arrival, response: ServerResponse): void {
    switch (this.#trouble) {
      case 'fail':
        response.writeHead(503).end('volto logo')
        return
      case 'reset':
        response.socket?.resetAndDestroy()
        return
      case 'garbage':
        response.socket?.end('\x16\x03\x01 garbage\r\n\r\n')
        return
      case 'hang':
        return
      default:
        this.#accept('troubled', arrival, response)
    }
  }

  #accept(path: 'healthy' | 'troubled', arrival: Arrival, response: ServerResponse): void {
    this.arrived[path].push(arrival)
    response.writeHead(204).end()
  }

  #read(request: IncomingMessage, then: (arrival: Arrival) => void): void {
    const chunks: Buffer[] = []
    request.on('data', chunk => chunks.push(chunk))
    request.on('error', () => {})
    request.on('end', () => {
      const { notificationID, channel } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Record<string, string>
      then({ id: request.headers['webhook-id'] as string, notification: notificationID!, channel: channel! })
    })
  }
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
  })
}

function close(server: Server): Promise<void> {
  return new Promise(resolve => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
