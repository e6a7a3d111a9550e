import { connect } from 'node:net'

/** HTTP written byte by byte: what a well-behaved client library would never send. */
export interface RawAnswer {
  status: number
  headers: Map<string, string>
  body: unknown
}

const LONGEST_MS = 120_000

/** Sends header lines (and a body) over a socket of its own, and reads the answer until the server closes. */
export function rawRequest(url: string, lines: readonly string[], body = ''): Promise<RawAnswer> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) })
    socket.setTimeout(LONGEST_MS, () => socket.destroy(new Error('no answer')))
    socket.on('data', chunk => chunks.push(chunk))
    // A server that refuses in mid-request may reset the connection after its answer.
    socket.on('error', error => (chunks.length === 0 ? reject(error) : resolve(readAnswer(chunks))))
    socket.on('end', () => resolve(readAnswer(chunks)))
    socket.write(Buffer.from(`${[...lines, 'Host: localhost', 'Connection: close'].join('\r\n')}\r\n\r\n${body}`, 'latin1'))
  })
}

function readAnswer(chunks: readonly Buffer[]): RawAnswer {
  const text = Buffer.concat(chunks).toString('utf8')
  const [head, ...rest] = text.split('\r\n\r\n') as [string, ...string[]]
  const [statusLine, ...headerLines] = head.split('\r\n') as [string, ...string[]]
  const headers = new Map(
    headerLines.map(line => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  )
  const body = rest.join('\r\n\r\n')
  return { status: Number(statusLine.split(' ')[1]), headers, body: body === '' ? null : JSON.parse(body) }
}
