import { connect } from 'node:net'

/**
 * A process full of hostile uploads, for the drill of that name: requests that declare much and send little, that stop before their
 * last byte, or that send a byte at a time. Whenever the server ends one, another takes its place.
 */
const [url, token] = process.argv.slice(2) as [string, string]
const { hostname, port } = new URL(url)

/** They hold what they can for as long as they can. A flood of new ones would measure the machine, which the attack shares. */
const AGAIN_MS = 5_000
const DRIP_MS = 200
const CALLBACK_BYTES = 4 * 1_048_576

interface Attack {
  count: number
  head: string
  body: Buffer
  /** Sends a byte from time to time. */
  drips?: boolean
}

const post = (path: string, lines: readonly string[]): string =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${lines.map(line => `${line}\r\n`).join('')}\r\n`
const authorised = (length: number): string => post('/gw/email', [`authorization: ${token}`, `content-length: ${length}`])

const attacks: readonly Attack[] = [
  // With a token: a byte of a small body, most of a large one, one byte at a time.
  { count: 645, head: authorised(262_144), body: Buffer.from('{') },
  { count: 20, head: authorised(36 * 1_048_576), body: Buffer.alloc(8 * 1_048_576, ' ') },
  { count: 50, head: authorised(100_000), body: Buffer.from('{'), drips: true },
  // Without one.
  {
    count: 150,
    head: post('/callbacks/simulator/twilio', [`content-length: ${CALLBACK_BYTES}`]),
    body: Buffer.alloc(CALLBACK_BYTES - 1, 'x'),
  },
  { count: 100, head: 'POST /gw/email HTTP/1.1\r\nhost', body: Buffer.alloc(0) },
]

function attack({ head, body, drips = false }: Attack): void {
  const socket = connect(Number(port), hostname)
  const drip = drips ? setInterval(() => socket.write(' '), DRIP_MS) : undefined
  socket.on('error', () => {})
  socket.on('data', () => socket.destroy())
  socket.on('close', () => {
    clearInterval(drip)
    setTimeout(() => attack({ count: 1, head, body, drips }), AGAIN_MS)
  })
  socket.write(head)
  socket.write(body)
}

for (const kind of attacks) for (let n = 0; n < kind.count; n++) attack(kind)
process.on('disconnect', () => process.exit(0))
process.send!({ ready: null })
