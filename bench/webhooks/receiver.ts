import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A receiver in a process of its own: counts what arrives on each path; /hang never answers. */
let counts = new Map<string, { count: number; firstMs: number; lastMs: number }>()
const server = createServer((request, response) => {
  request.resume()
  request.on('end', () => {
    const path = request.url!
    const now = performance.now()
    const tally = counts.get(path)
    if (tally === undefined) counts.set(path, { count: 1, firstMs: now, lastMs: now })
    else {
      tally.count++
      tally.lastMs = now
    }
    if (path !== '/hang') response.writeHead(204).end()
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send?.({ ready: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }))
process.on('message', (message: 'read' | 'reset') => {
  if (message === 'reset') counts = new Map()
  process.send?.({ counts: Object.fromEntries(counts) })
})
process.on('SIGINT', () => {})
process.on('SIGTERM', () => process.exit(0))
process.on('disconnect', () => process.exit(0))
