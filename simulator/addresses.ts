import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'

/** Whether a host name, as a URL has it, can only mean this machine. */
export const isLoopback = (host: string): boolean => /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[::1\]|::1)$/i.test(host)

/** Starts a server and returns host and port as a URL has them. */
export async function listen(server: Server, port: number, host: string): Promise<string> {
  server.listen(port, host)
  await once(server, 'listening')
  const { address, family, port: listening } = server.address() as AddressInfo
  return `${family === 'IPv6' ? `[${address}]` : address}:${listening}`
}
