import { type AddressInfo, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** An SMTP server that does what a test wants, down to the byte: wrong replies, silence, breaks. */
export interface Script {
  /** Shown in the reply to EHLO. */
  extensions?: string[]
  host?: string
  port?: number
  /** What to do at a point of the conversation; undefined: what a good server does. */
  at?(point: Point, command: string, connection: number): Step | Promise<string> | undefined
}

/** greeting: on connection; end: after the final dot; otherwise the command's verb. */
export type Point = 'greeting' | 'EHLO' | 'HELO' | 'STARTTLS' | 'AUTH' | 'MAIL' | 'RCPT' | 'DATA' | 'end' | 'RSET' | 'QUIT'

export type Step = string | 'RESET' | 'CLOSE' | 'SILENCE'

export interface ScriptedServer {
  port: number
  connections: number
  open: number
  /** Every command line, in order. */
  commands: string[]
  /** What each read from the socket brought. */
  reads: string[]
  /** Messages as they came, dots still doubled. */
  messages: string[]
  /** Breaks every connection and stops listening. */
  leave(): Promise<void>
  comeBack(): Promise<void>
}

const EXTENSIONS = ['PIPELINING', 'SIZE 10000000', '8BITMIME', 'ENHANCEDSTATUSCODES', 'DSN', 'SMTPUTF8']

export async function scriptedServer(script: Script = {}): Promise<ScriptedServer> {
  const sockets = new Set<Socket>()
  const server = createServer({ noDelay: true }, socket => {
    sockets.add(socket)
    const connection = ++record.connections
    record.open++
    socket.on('error', () => {})
    socket.on('close', () => {
      sockets.delete(socket)
      record.open--
    })
    converse(socket, script, record, connection)
  })
  const listen = (port: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, script.host ?? '127.0.0.1', resolve)
    })
  const leave = (): Promise<void> => {
    for (const socket of sockets) socket.destroy()
    return new Promise(resolve => server.close(() => resolve()))
  }
  const comeBack = (): Promise<void> => listen(record.port)
  const record: ScriptedServer = {
    port: 0,
    connections: 0,
    open: 0,
    commands: [],
    reads: [],
    messages: [],
    leave,
    comeBack,
  }
  await listen(script.port ?? 0)
  onTestFinished(leave)
  record.port = (server.address() as AddressInfo).port
  return record
}

function converse(socket: Socket, script: Script, record: ScriptedServer, connection: number): void {
  let buffered = ''
  let inData = false
  const good: Record<Point, string> = {
    greeting: '220 scripted ESMTP',
    EHLO: multiline(250, ['scripted', ...(script.extensions ?? EXTENSIONS)]),
    HELO: '250 scripted',
    STARTTLS: '502 5.5.1 Not here',
    AUTH: '235 2.7.0 Welcome',
    MAIL: '250 2.1.0 Ok',
    RCPT: '250 2.1.5 Ok',
    DATA: '354 Go ahead',
    end: '250 2.0.0 Ok: queued as 4YbX2k0QzB',
    RSET: '250 2.0.0 Ok',
    QUIT: '221 2.0.0 Bye',
  }
  /** False when nothing more is to be read. */
  const perform = (point: Point, command: string): boolean => {
    const step = script.at?.(point, command, connection) ?? good[point] ?? '500 5.5.2 What?'
    if (typeof step !== 'string') {
      void step.then(reply => socket.write(`${reply}\r\n`))
      return true
    }
    if (step === 'SILENCE') return false
    if (step === 'RESET') socket.resetAndDestroy()
    else if (step === 'CLOSE') socket.destroy()
    else socket.write(`${step}\r\n`)
    inData = point === 'DATA' && step.startsWith('354')
    if (point === 'QUIT' || step.startsWith('421')) socket.end()
    return step !== 'RESET' && step !== 'CLOSE'
  }
  if (!perform('greeting', '')) return
  socket.on('data', bytes => {
    record.reads.push(bytes.toString('latin1'))
    buffered += bytes.toString('latin1')
    for (;;) {
      if (inData) {
        const end = buffered.startsWith('.\r\n') ? 0 : buffered.indexOf('\r\n.\r\n') + 2
        if (end === 1) return
        record.messages.push(buffered.slice(0, end))
        buffered = buffered.slice(end + 3)
        inData = false
        if (!perform('end', '')) return
        continue
      }
      const end = buffered.indexOf('\r\n')
      if (end === -1) return
      const command = buffered.slice(0, end)
      buffered = buffered.slice(end + 2)
      record.commands.push(command)
      if (!perform(command.split(' ')[0]!.toUpperCase() as Point, command)) return
    }
  })
}

export const multiline = (code: number, lines: string[]): string =>
  lines.map((line, index) => `${code}${index === lines.length - 1 ? ' ' : '-'}${line}`).join('\r\n')
