import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

/**
 * A TCP port that was free a moment ago, for programs that cannot choose one themselves. `wanted`: rejects when that port is taken;
 * 0: the system chooses.
 */
export async function freePort(wanted = 0): Promise<number> {
  const server = createServer().listen(wanted, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

const reserved = new Set<number>()

/** A free port that no other caller of this process gets before its release: a program binds it some time after it is told. */
export async function reservePort(wanted = 0): Promise<number> {
  const port = await freePort(wanted)
  if (!reserved.has(port)) {
    reserved.add(port)
    return port
  }
  if (wanted !== 0) throw new Error(`port ${port} is reserved`)
  return reservePort()
}

export const releasePort = (port: number): void => void reserved.delete(port)
