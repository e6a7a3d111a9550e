import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'

/** Whether a host name, as a URL has it, can only mean this machine. */
export const isLoopback = (host: string): boolean => /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[::1\]|::1)$/i.test(host)

/** Starts a server and returns host and port as a URL has them. */
export async function listen(server: Server, port: number, host: string): Promise<string> {
  server.listen(port, host)
  await once(server, 'listening')
  const { address, family, port: listening } = server.address() as AddressInfo
  return `${family === 'IPv6' ? `[${address}]` : address}:${listening}`
}

const PORTS_TRIED = 100

/** The first port from here on that nobody listens at; 0, any free one, where all of them are taken. */
export async function nextFreePort(first: number, host: string): Promise<number> {
  for (let port = first; port < first + PORTS_TRIED; port++) {
    const server = createServer()
    try {
      await listen(server, port, host)
      await new Promise(resolve => server.close(resolve))
      return port
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    }
  }
  return 0
}

/** The URL if it lies below the base, else null. */
export function urlBelow(base: string, to: string): URL | null {
  const whole = to.startsWith('/') ? `${base}${to}` : to
  if (!URL.canParse(whole)) return null
  const [url, root] = [new URL(whole), new URL(base)]
  const path = root.pathname.replace(/\/$/, '')
  return url.origin === root.origin && (url.pathname === path || url.pathname.startsWith(`${path}/`)) ? url : null
}
