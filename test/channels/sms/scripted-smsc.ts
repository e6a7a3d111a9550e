import { once } from 'node:events'
import { type AddressInfo, createServer as createPlain, type Server, type Socket } from 'node:net'
import { createServer as createSecure } from 'node:tls'
import { onTestFinished } from 'vitest'
import { commands, type Pdu, PduReader, RESPONSE, writePdu } from '../../../src/channels/sms/smpp-pdu.js'

/** An SMSC that does what a test scripts, byte by byte where need be. */
export interface ScriptedSmsc {
  url: string
  /** Everything that came, but for answers to ours. */
  got: (Pdu & { connection: number })[]
  connections: Connection[]
  /** The newest connection that is bound. */
  bound(): Promise<Connection>
  close(): Promise<void>
  /** Listens again, where it did before. */
  comeBack(): Promise<void>
}

interface Connection {
  socket: Socket
  /** Sends a request of the SMSC's own and gives the status of the answer. */
  ask(command: number, body?: Buffer): Promise<number>
  answer(pdu: Pdu, status?: number, body?: Buffer): void
}

export interface Script {
  onBind?(pdu: Pdu, connection: Connection, count: number): void
  onSubmit?(pdu: Pdu, connection: Connection, count: number): void
  onEnquire?(pdu: Pdu, connection: Connection): void
}

export async function smscForTest(script: Script = {}, tls?: { key: string; cert: string }, port = 0): Promise<ScriptedSmsc> {
  const got: ScriptedSmsc['got'] = []
  const connections: Connection[] = []
  let binds = 0
  let submits = 0
  const serve = (socket: Socket): void => {
    const reader = new PduReader()
    const asked = new Map<number, (status: number) => void>()
    let sequence = 0
    const connection: Connection = {
      socket,
      ask: (command, body) =>
        new Promise(resolve => {
          asked.set(++sequence, resolve)
          socket.write(writePdu(command, sequence, body))
        }),
      answer: (pdu, status = 0, body) => {
        socket.write(writePdu(pdu.command + RESPONSE, pdu.sequence, body, status))
      },
    }
    const number = connections.push(connection)
    socket.on('error', () => {})
    socket.on('data', chunk => {
      for (const pdu of reader.read(chunk)) {
        if (pdu.command >= RESPONSE) {
          asked.get(pdu.sequence)?.(pdu.status)
          continue
        }
        got.push({ ...pdu, body: Buffer.from(pdu.body), connection: number })
        if (pdu.command === commands.bindTransceiver) {
          if (script.onBind === undefined) connection.answer(pdu, 0, Buffer.from('smsc\0'))
          else script.onBind(pdu, connection, ++binds)
        } else if (pdu.command === commands.submit) {
          if (script.onSubmit === undefined) connection.answer(pdu, 0, Buffer.from(`id${++submits}\0`))
          else script.onSubmit(pdu, connection, ++submits)
        } else if (pdu.command === commands.enquireLink && script.onEnquire !== undefined) script.onEnquire(pdu, connection)
        else connection.answer(pdu)
      }
    })
  }
  const server: Server = tls === undefined ? createPlain(serve) : createSecure(tls, serve)
  const listen = async (at: number): Promise<void> => {
    server.listen(at, '127.0.0.1')
    await once(server, 'listening')
  }
  await listen(port)
  const close = async (): Promise<void> => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    for (const { socket } of connections) socket.destroy()
    await closed
  }
  onTestFinished(close)
  const address = server.address() as AddressInfo
  return {
    url: `${tls === undefined ? 'smpp' : 'smpps'}://usuario:senha%201@127.0.0.1:${address.port}`,
    got,
    connections,
    async bound() {
      for (;;) {
        const bind = got.findLast(pdu => pdu.command === commands.bindTransceiver)
        const connection = bind === undefined ? undefined : connections[bind.connection - 1]
        if (connection !== undefined && !connection.socket.destroyed) return connection
        await new Promise(resolve => setTimeout(resolve, 10))
      }
    },
    close,
    comeBack: () => listen(address.port),
  }
}
