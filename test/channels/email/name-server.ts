import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { onTestFinished } from 'vitest'

/** A name server on loopback that answers over UDP what a test tells it (RFC 1035). */
export interface Zone {
  /** Exchange "" is the null MX. */
  mx?: [priority: number, exchange: string][]
  a?: string[]
  aaaa?: string[]
  /** Each record in its strings. */
  txt?: string[][]
  /** 2: server failure, 3: no such name, 5: refused; 'silence': no answer at all. */
  failure?: number | 'silence'
  /** A type of question that gets no answer. */
  unanswered?: number
}

const MX = 15
const A = 1
const AAAA = 28
const TXT = 16

export async function nameServer(zones: Record<string, Zone>): Promise<{ address: string; questions: string[] }> {
  const socket = createSocket('udp4')
  const questions: string[] = []
  socket.on('message', (query, { address, port }) => {
    const { name, type, end } = readQuestion(query)
    questions.push(`${name} ${type}`)
    const zone = zones[name] ?? { failure: 3 }
    if (zone.failure === 'silence' || zone.unanswered === type) return
    const records =
      type === MX
        ? (zone.mx ?? []).map(([priority, exchange]) => Buffer.concat([Buffer.from([0, priority]), encodeName(exchange)]))
        : type === A
          ? (zone.a ?? []).map(text => Buffer.from(text.split('.').map(Number)))
          : type === AAAA
            ? (zone.aaaa ?? []).map(hex => Buffer.from(hex, 'hex'))
            : type === TXT
              ? (zone.txt ?? []).map(strings => Buffer.concat(strings.map(encodeString)))
              : []
    const head = Buffer.alloc(12)
    query.copy(head, 0, 0, 2)
    head.writeUInt16BE(0x8180 | (zone.failure ?? 0), 2)
    head.writeUInt16BE(1, 4)
    head.writeUInt16BE(records.length, 6)
    const answers = records.map(data => {
      const fixed = Buffer.alloc(12)
      fixed.writeUInt16BE(0xc00c, 0)
      fixed.writeUInt16BE(type, 2)
      fixed.writeUInt16BE(1, 4)
      fixed.writeUInt32BE(60, 6)
      fixed.writeUInt16BE(data.length, 10)
      return Buffer.concat([fixed, data])
    })
    socket.send(Buffer.concat([head, query.subarray(12, end), ...answers]), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  onTestFinished(() => void socket.close())
  return { address: `127.0.0.1:${socket.address().port}`, questions }
}

function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += length + 1
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

const encodeString = (text: string): Buffer => Buffer.concat([Buffer.from([text.length]), Buffer.from(text, 'latin1')])

const encodeName = (name: string): Buffer =>
  Buffer.concat([
    ...name
      .split('.')
      .filter(label => label !== '')
      .map(label => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)])),
    Buffer.from([0]),
  ])
