import { connect } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Answer } from './gateway/requests.js'

/** Bytes on a socket, for requests that no well-behaved client would send. */
export interface ExchangeOptions {
  /** Parts are written one after the other, each once the socket has taken the one before. */
  parts: Iterable<string | Uint8Array>
  /** Passes over "100 Continue" and reads the answer that follows. */
  skipContinue?: boolean
  /** Longest silence. */
  withinMs?: number
}

/** Writes all the parts, then reads one whole answer: a client that does not look before it has written everything. */
export function exchange(url: string, { parts, skipContinue = false, withinMs = 120_000 }: ExchangeOptions): Promise<Answer> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    onTestFinished(() => {
      socket.destroy()
    })
    const received: Buffer[] = []
    const read = (): Answer | null => readAnswer(Buffer.concat(received), skipContinue)
    socket.setTimeout(withinMs, () => socket.destroy(new Error('no answer in time')))
    socket.on('error', reject)
    socket.on('close', () => reject(new Error(`closed after ${Buffer.concat(received).length} bytes of an answer`)))
    socket.on('connect', async () => {
      for (const part of parts) {
        if (socket.destroyed) return
        if (!socket.write(part)) await new Promise(drained => socket.once('drain', drained))
      }
      socket.on('data', chunk => {
        received.push(chunk)
        const answer = read()
        if (answer === null) return
        socket.destroy()
        resolve(answer)
      })
    })
  })
}

/** The first answer in the bytes, or null while it is not complete. Only answers with Content-Length are read. */
function readAnswer(bytes: Buffer, skipContinue: boolean): Answer | null {
  const head = bytes.indexOf('\r\n\r\n')
  if (head === -1) return null
  if (skipContinue && bytes.subarray(0, 12).toString('latin1') === 'HTTP/1.1 100')
    return readAnswer(bytes.subarray(head + 4), false)
  const [statusLine, ...lines] = bytes.subarray(0, head).toString('latin1').split('\r\n')
  const headers = new Headers(lines.map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]))
  const length = Number(headers.get('content-length') ?? '0')
  const body = bytes.subarray(head + 4)
  if (body.length < length) return null
  const text = body.subarray(0, length).toString('utf8')
  return { status: Number(statusLine!.split(' ')[1]), headers, body: text === '' ? null : JSON.parse(text) }
}
