import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'

/** For a request to arrive, headers and body. A stop waits as long for those that are still arriving. */
export const ARRIVAL_MS = 120_000
/** Bytes per second of the slowest line on which the largest body arrives in time. */
const SLOWEST_LINE = 262_144

/** How long a request may take to arrive, where the largest body has so many bytes. */
export const arrivalMs = (largest: number): number => Math.max(ARRIVAL_MS, Math.ceil((largest / SLOWEST_LINE) * 1_000))

/**
 * Ends the requests that have not arrived within `stopMs` of the end that is asked for by the returned function. Once a server is being
 * closed, Node looks at their time no more, and a sender that stalls would keep the process for ever.
 */
export function watchArrivals(server: Server, stopMs: number): () => void {
  const latest = new Map<Socket, IncomingMessage>()
  server.on('connection', (socket: Socket) => socket.once('close', () => latest.delete(socket)))
  server.on('request', (request: IncomingMessage) => latest.set(request.socket, request))
  return () => {
    const timer = setTimeout(() => {
      for (const [socket, { complete }] of latest) if (!complete) socket.destroy()
    }, stopMs)
    server.once('close', () => clearTimeout(timer))
  }
}
