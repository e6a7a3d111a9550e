import { existsSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Workspace } from './workspace.js'

/** The two kinds of load: as much as 64 connections can carry, and a fixed rate. */
export interface Target {
  address: string
  method: 'GET' | 'POST'
  path: string
  /** Asked for at random instead of `path`, where one address would say too little. */
  paths?: string[]
  headers: Record<string, string>
  body: string
}

export const CONNECTIONS = 64

export interface FullLoad {
  /** Requests answered 2xx. */
  answered: number
  perSecond: number
}

const WRK = '/usr/bin/wrk'

/** Every connection asks again as soon as it is answered. A single answer that is not 2xx fails the benchmark. */
export async function fullLoad(workspace: Workspace, target: Target, seconds: number): Promise<FullLoad> {
  const { requests, failed, elapsed } = existsSync(WRK)
    ? await runWrk(workspace, target, seconds)
    : await runAutocannon(workspace, target, seconds)
  if (failed !== 0 || !(requests > 0)) throw new Error(`${failed} of ${requests} requests to ${target.address} failed`)
  return { answered: requests, perSecond: requests / elapsed }
}

interface Tally {
  requests: number
  failed: number
  elapsed: number
}

async function runWrk(workspace: Workspace, target: Target, seconds: number): Promise<Tally> {
  const script = join(workspace.folder('load'), 'request.lua')
  // What JSON escapes in our texts, Lua escapes alike.
  const quote = (value: string): string => JSON.stringify(value)
  const headers = Object.entries(target.headers).map(([name, value]) => `wrk.headers[${quote(name)}] = ${quote(value)}`)
  writeFileSync(
    script,
    `wrk.method = ${quote(target.method)}
     wrk.body = ${quote(target.body)}
     ${headers.join('\n')}
     ${randomPaths(workspace, target)}
     function done(summary)
       local e = summary.errors
       print(string.format("tally %d %d %d", summary.requests, e.connect + e.read + e.write + e.status + e.timeout, summary.duration))
     end`,
  )
  const args = ['-t1', `-c${CONNECTIONS}`, `-d${seconds}s`, '--timeout', '30s', '-s', script, target.address + target.path]
  const output = await outputOf(workspace, WRK, args)
  const [, requests, failed, microseconds] = /^tally (\d+) (\d+) (\d+)$/m.exec(output) ?? []
  return { requests: Number(requests), failed: Number(failed), elapsed: Number(microseconds) / 1e6 }
}

/** From a file: too many for a script. */
function randomPaths(workspace: Workspace, { paths }: Target): string {
  if (paths === undefined) return ''
  const list = join(workspace.folder('load'), 'paths.txt')
  writeFileSync(list, paths.join('\n'))
  return `local paths = {}
     for line in io.lines(${JSON.stringify(list)}) do paths[#paths + 1] = line end
     request = function() return wrk.format(nil, paths[math.random(#paths)]) end`
}

async function runAutocannon(workspace: Workspace, target: Target, seconds: number): Promise<Tally> {
  const program = fileURLToPath(import.meta.resolve('autocannon'))
  const headers = Object.entries(target.headers).flatMap(([name, value]) => ['-H', `${name}=${value}`])
  const body = target.body === '' ? [] : ['-b', target.body]
  const args = ['-j', '-c', String(CONNECTIONS), '-d', String(seconds), '-m', target.method, ...body, ...headers]
  const output = await outputOf(workspace, process.execPath, [program, ...args, target.address + target.path])
  const result = JSON.parse(output) as { '2xx': number; non2xx: number; errors: number; duration: number }
  return { requests: result['2xx'], failed: result.non2xx + result.errors, elapsed: result.duration }
}

async function outputOf(workspace: Workspace, command: string, args: string[]): Promise<string> {
  const child = workspace.spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'] })
  return text(child.stdout!)
}

/** So many requests and no more, over as many connections as full load has. */
export async function countedLoad(target: Target, count: number): Promise<void> {
  const bytes = requestBytes(target)
  const connections = await Promise.all(Array.from({ length: CONNECTIONS }, () => Connection.open(target.address)))
  let left = count
  const ask = (connection: Connection): Promise<void> =>
    new Promise((resolve, reject) => {
      const next = (failure: Error | null): void => {
        if (failure !== null) reject(failure)
        else if (left === 0) resolve()
        else {
          left--
          connection.ask(bytes, next)
        }
      }
      next(null)
    })
  try {
    await Promise.all(connections.map(ask))
  } finally {
    for (const connection of connections) connection.close()
  }
}

export interface PacedLoad {
  p50: number
  p99: number
  perSecond: number
}

/**
 * Requests at fixed moments, whether or not earlier ones were answered. Latency counts from the moment a request was due,
 * so a server that stalls cannot hide the requests that would have come meanwhile (coordinated omission).
 */
export async function pacedLoad(target: Target, rate: number, seconds: number): Promise<PacedLoad> {
  const bytes = requestBytes(target)
  const total = Math.round(rate * seconds)
  const latencies: number[] = []
  const idle: Connection[] = []
  const late: number[] = []
  const connections = await Promise.all(Array.from({ length: CONNECTIONS }, () => Connection.open(target.address)))
  idle.push(...connections)

  const start = performance.now()
  const dueAt = (index: number): number => start + (index * 1000) / rate
  await new Promise<void>((resolve, reject) => {
    let sent = 0
    const send = (connection: Connection, due: number): void => {
      connection.ask(bytes, failure => {
        if (failure !== null) return reject(failure)
        latencies.push(performance.now() - due)
        const next = late.shift()
        if (next === undefined) idle.push(connection)
        else send(connection, next)
        if (latencies.length === total) resolve()
      })
    }
    const timer = setInterval(() => {
      for (; sent < total && dueAt(sent) <= performance.now(); sent++) {
        const connection = idle.pop()
        if (connection === undefined) late.push(dueAt(sent))
        else send(connection, dueAt(sent))
      }
      if (sent === total) clearInterval(timer)
    }, 1)
  })
  const elapsed = (performance.now() - start) / 1000
  for (const connection of connections) connection.close()
  latencies.sort((a, b) => a - b)
  const percentile = (share: number): number => latencies[Math.min(total - 1, Math.floor(total * share))]!
  return { p50: percentile(0.5), p99: percentile(0.99), perSecond: total / elapsed }
}

const requestBytes = ({ address, method, path, headers, body }: Target): Buffer =>
  Buffer.from(
    [
      `${method} ${path} HTTP/1.1`,
      `host: ${new URL(address).host}`,
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      `content-length: ${Buffer.byteLength(body)}`,
      '',
      body,
    ].join('\r\n'),
  )

/** As little HTTP as measuring needs, so that the client leaves the processor to the server. */
class Connection {
  readonly #socket: Socket
  #received = ''
  #answered: ((failure: Error | null) => void) | undefined

  constructor(socket: Socket) {
    this.#socket = socket
    socket.setNoDelay(true)
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => this.#receive(chunk))
    socket.on('error', error => this.#finish(error))
    socket.on('close', () => this.#finish(new Error('the server closed a connection')))
  }

  static open(address: string): Promise<Connection> {
    const { hostname, port } = new URL(address)
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => resolve(new Connection(socket)))
      socket.once('error', reject)
    })
  }

  ask(bytes: Buffer, answered: (failure: Error | null) => void): void {
    this.#answered = answered
    this.#socket.write(bytes)
  }

  #receive(chunk: string): void {
    this.#received += chunk
    const head = this.#received.indexOf('\r\n\r\n')
    if (head === -1) return
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(this.#received)?.[1])
    if (this.#received.length < head + 4 + length) return
    const status = this.#received.slice(9, 12)
    this.#received = ''
    this.#finish(status.startsWith('2') ? null : new Error(`the server answered ${status}`))
  }

  #finish(failure: Error | null): void {
    const answered = this.#answered
    this.#answered = undefined
    answered?.(failure)
  }

  close(): void {
    this.#socket.destroy()
  }
}
