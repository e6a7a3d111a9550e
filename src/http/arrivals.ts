import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** For a request to arrive, headers and body. A stop waits as long for those that are still arriving, and for answers to be read. */
export const ARRIVAL_MS = 120_000
/** Bytes per second of the slowest line on which the largest body arrives in time. */
const SLOWEST_LINE = 262_144

/** How long a request may take to arrive, where the largest body has so many bytes. */
export const arrivalMs = (largest: number): number => Math.max(ARRIVAL_MS, Math.ceil((largest / SLOWEST_LINE) * 1_000))

/** For the first bytes of a connection that was made just before a stop: its request is on the way. */
const FIRST_BYTES_MS = 1_000

interface Exchange {
  request: IncomingMessage
  response: ServerResponse
}

/**
 * Once the server is being closed, each connection is closed when its request has arrived and its answer is out, and every other one
 * after `stopMs`. Node's own closeIdleConnections, which server.close() calls, cuts answers short that are still being sent; and Node
 * looks at the time of connections no more, so that a sender or a reader that stalls would keep the process for ever.
 */
export function closeWhenDone(server: Server, stopMs: number): void {
  /** The latest exchange of each connection; null: no request has arrived yet. */
  const latest = new Map<Socket, Exchange | null>()
  let stopping = false

  const closeIfDone = (socket: Socket): void => {
    const exchange = latest.get(socket)
    if (exchange?.request.complete && exchange.response.writableFinished) socket.destroy()
  }
  const follow = ({ request, response }: Exchange): void => {
    const look = (): void => closeIfDone(request.socket)
    response.once('close', look)
    // An answer may be out before the rest of its request, which is read and discarded.
    if (!request.complete) request.once('end', look)
  }
  const closeUnused = (): void => {
    for (const [socket, exchange] of latest) if (exchange === null && socket.bytesRead === 0) socket.destroy()
  }
  const closeAll = (): void => {
    for (const socket of latest.keys()) socket.destroy()
  }

  server.on('connection', (socket: Socket) => {
    latest.set(socket, null)
    socket.once('close', () => latest.delete(socket))
  })
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const exchange = { request, response }
    latest.set(request.socket, exchange)
    if (stopping) follow(exchange)
  })
  server.closeIdleConnections = () => {
    if (stopping) return
    stopping = true
    for (const [socket, exchange] of latest) {
      if (exchange !== null) follow(exchange)
      closeIfDone(socket)
    }
    const timers = [setTimeout(closeUnused, FIRST_BYTES_MS), setTimeout(closeAll, stopMs)]
    server.once('close', () => timers.forEach(clearTimeout))
  }
}
