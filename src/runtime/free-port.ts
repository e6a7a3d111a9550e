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
