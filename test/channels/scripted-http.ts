import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { Plan, type ProviderParts, type ScriptedSide } from './subject.js'

/** A carrier over HTTP that does what a test wants. */
interface HttpRequest {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: string
}

export interface HttpAnswer {
  status: number
  body: string
  headers?: Record<string, string>
}

export interface HttpScript<Message> {
  provider: ScriptedSide<Message>['provider']
  url(port: number): string
  /** Our own name for a message, as it travels. */
  nameOf(request: HttpRequest): string
  /** The yes to the nth message that was taken. */
  accept(number: number): HttpAnswer
  refusals: Record<'refuse for good' | 'refuse for a while' | 'throttle', HttpAnswer>
  /** What the carrier says of a message when it is asked; `taken`: the names of those that it took. */
  lookUp?(request: HttpRequest, taken: readonly string[]): HttpAnswer
  report?(taken: readonly string[], onEvents: ProviderParts['onEvents']): Promise<void>
}

const PAGE: HttpAnswer = { status: 200, body: '<html>lixo</html>' }
const PROXY_PAGES: readonly HttpAnswer[] = [
  { status: 503, body: '<html>Service Unavailable</html>' },
  { status: 408, body: '' },
  { status: 503, body: '{"message":"no healthy upstream"}' },
]
const NOT_HTTP = 'lixo\r\n\r\n'

export async function startHttpSide<Message>(script: HttpScript<Message>): Promise<ScriptedSide<Message>> {
  const taken: string[] = []
  const sockets = new Set<Socket>()
  const plan = new Plan()
  let garbled = 0
  let passedOn = 0
  const server = createServer(async (incoming, response) => {
    const { method = '', url: path = '', headers, socket } = incoming
    let body = ''
    for await (const chunk of incoming) body += chunk
    const request = { method, path, headers, body }
    const say = ({ status, body: text, headers: more = {} }: HttpAnswer): void => void response.writeHead(status, more).end(text)
    if (method === 'GET') {
      const down = plan.now === 'refuse for a while'
      return say(down ? script.refusals['refuse for a while'] : script.lookUp!(request, taken))
    }
    const behaviour = plan.take()
    if (behaviour === 'refuse for good' || behaviour === 'refuse for a while' || behaviour === 'throttle')
      return say(script.refusals[behaviour])
    if (behaviour !== 'drop') taken.push(script.nameOf(request))
    if (behaviour === 'accept') return say(script.accept(taken.length))
    if (behaviour === 'reset' || behaviour === 'drop') return void socket.resetAndDestroy()
    if (behaviour === 'answer by a proxy') return say(PROXY_PAGES[passedOn++ % PROXY_PAGES.length]!)
    if (behaviour === 'answer garbage') return ++garbled % 2 === 1 ? say(PAGE) : void socket.end(NOT_HTTP)
  })
  server.on('connection', socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  const listen = async (port: number): Promise<void> => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  const leave = async (): Promise<void> => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    for (const socket of sockets) socket.destroy()
    await closed
  }
  await listen(0)
  const { port } = server.address() as AddressInfo
  onTestFinished(leave)
  const { provider, report } = script
  return {
    url: new URL(script.url(port)),
    provider,
    behave: plan.behave,
    taken: () => taken,
    leave,
    comeBack: () => listen(port),
    open: () => sockets.size,
    ...(report === undefined ? {} : { report: onEvents => report(taken, onEvents) }),
  }
}
