import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** A sender's own server, as webhooks meet it: keeps what it got and answers as a test says. */
export interface Received {
  path: string
  headers: Record<string, string>
  body: string
  json: Record<string, unknown>
}

export type Answering = (received: Received, response: ServerResponse, request: IncomingMessage) => void

export interface Receiver {
  url: string
  got: Received[]
  /** How it answers from now on. */
  answer: Answering
  close(): Promise<void>
}

const ok: Answering = (_, response) => response.writeHead(204).end()

export const refuseWith =
  (status: number, headers: Record<string, string> = {}, body = ''): Answering =>
  (_, response) =>
    response.writeHead(status, headers).end(body)

export async function receiverForTest(answer: Answering = ok, port = 0): Promise<Receiver> {
  const receiver = await startReceiver(answer, port)
  onTestFinished(() => receiver.close())
  return receiver
}

export async function startReceiver(answer: Answering = ok, port = 0): Promise<Receiver> {
  const got: Received[] = []
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', chunk => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8')
      const received = { path: request.url!, headers: request.headers as Record<string, string>, body, json: JSON.parse(body) }
      got.push(received)
      receiver.answer(received, response, request)
    })
  })
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/avisos`,
    got,
    answer,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return receiver
}
