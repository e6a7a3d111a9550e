import { existsSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** Other people's programs: where they are, and how to know that they listen. */
const PLACES = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/lib/postfix/sbin', '/usr/libexec/postfix']

export const findProgram = (name: string): string | null =>
  PLACES.map(place => join(place, name)).find(path => existsSync(path)) ?? null

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().on('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}

/** Connects as soon as somebody listens. */
export async function reach(port: number): Promise<Socket> {
  for (let round = 0; round < 100; round++) {
    const socket = await new Promise<Socket | null>(resolve => {
      const attempt = connect(port, '127.0.0.1', () => resolve(attempt))
      attempt.on('error', () => resolve(null))
    })
    if (socket !== null) return socket
    await sleep(50)
  }
  throw new Error(`nobody listens on port ${port}`)
}
