import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type AddressRange, addressGroup, inRanges, normaliseAddress } from '../domain/access/address-range.js'

export interface ConnectionLimits {
  /** Connections of one address at once. */
  perAddress: number
  trustedProxies: readonly AddressRange[]
}

interface Peer {
  connections: number
  /** Connections without a request, the one that has been so for longest first. */
  readonly idle: Set<Socket>
}

/**
 * Bounds the connections that one address holds open. One more takes the place of the longest idle one, and is closed at once where
 * none is idle. Proxies hold the connections of many clients and limit these themselves.
 */
export function limitConnections(server: Server, { perAddress, trustedProxies }: ConnectionLimits): void {
  const peers = new Map<string, Peer>()
  const peerOf = new WeakMap<Socket, Peer>()

  server.on('connection', (socket: Socket) => {
    const address = normaliseAddress(socket.remoteAddress ?? '')
    if (address === '' || inRanges(address, trustedProxies)) return
    const name = addressGroup(address)
    const peer = peers.get(name) ?? { connections: 0, idle: new Set() }
    peers.set(name, peer)
    peer.connections++
    peerOf.set(socket, peer)
    socket.once('close', () => {
      peer.idle.delete(socket)
      if (--peer.connections === 0) peers.delete(name)
    })
    if (peer.connections > perAddress) {
      const [longestIdle = socket] = peer.idle
      longestIdle.destroy()
      // Its close is reported later: until then the next connection must not find it again.
      peer.idle.delete(longestIdle)
      if (longestIdle === socket) return
    }
    peer.idle.add(socket)
  })
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const peer = peerOf.get(socket)
    if (peer === undefined) return
    peer.idle.delete(socket)
    response.once('close', () => {
      if (!socket.destroyed) peer.idle.add(socket)
    })
  })
}
