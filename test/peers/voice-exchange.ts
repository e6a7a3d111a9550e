import { createSocket, type RemoteInfo } from 'node:dgram'
import { once } from 'node:events'
import { onTestFinished } from 'vitest'
import type { ContractDesk } from '../channels/contract.js'

/** A telephone exchange over UDP: numbers that end in 3 ring for ever, those that end in 4 do not exist, all others answer. */
export async function openExchange(): Promise<ContractDesk> {
  const socket = createSocket('udp4')
  const rung = new Set<string>()
  let faults: Parameters<ContractDesk['setFaults']>[0] = {}
  const ring = (invite: string, to: RemoteInfo): void => {
    const tell = (line: string, body = ''): void =>
      socket.send(answerTo(invite, line, socket.address().port, body), to.port, to.address)
    const [, number = ''] = /^INVITE sip:([^@]+)@/.exec(invite) ?? []
    if (faults.outage === true) return
    if (faults.errorRate === 1) tell('503 Service Unavailable')
    else if (number.endsWith('4')) tell('404 Not Found')
    else {
      rung.add(header(invite, 'Call-ID'))
      tell('180 Ringing')
      if (!number.endsWith('3')) tell('200 OK', descriptionAt(socket.address().port))
    }
  }
  socket.on('message', (bytes, from) => {
    const text = bytes.toString('latin1')
    if (text.startsWith('INVITE ')) ring(text, from)
    if (/^(BYE|CANCEL) /.test(text)) socket.send(answerTo(text, '200 OK', socket.address().port), from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  onTestFinished(() => void socket.close())
  return {
    carrier: new URL(`sip://carteiro:segredo@127.0.0.1:${socket.address().port}?local=127.0.0.1&ring=5`),
    setFaults: async given => {
      faults = given
    },
    count: async () => rung.size,
  }
}

const lines = (text: string, name: string): string[] =>
  text.split('\r\n').filter(line => line.toLowerCase().startsWith(`${name.toLowerCase()}:`))

const header = (text: string, name: string): string => lines(text, name)[0] ?? ''

const answerTo = (request: string, line: string, port: number, body = ''): string =>
  [
    `SIP/2.0 ${line}`,
    ...lines(request, 'Via'),
    header(request, 'From'),
    header(request, 'To').includes('tag=') ? header(request, 'To') : `${header(request, 'To')};tag=exchange`,
    header(request, 'Call-ID'),
    header(request, 'CSeq'),
    `Contact: <sip:exchange@127.0.0.1:${port}>`,
    ...(body === '' ? [] : ['Content-Type: application/sdp']),
    `Content-Length: ${body.length}`,
    '',
    body,
  ].join('\r\n')

/** Sound comes to the port of the words: whatever is no request is not looked at. */
const descriptionAt = (port: number): string =>
  [
    'v=0',
    'o=exchange 1 1 IN IP4 127.0.0.1',
    's=-',
    'c=IN IP4 127.0.0.1',
    't=0 0',
    `m=audio ${port} RTP/AVP 0`,
    'a=rtpmap:0 PCMU/8000',
    '',
  ].join('\r\n')
