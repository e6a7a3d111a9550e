/** The part of the package that the simulated SMSC and the tests use. */
declare module 'smpp' {
  import type { Server as NetServer, Socket } from 'node:net'

  interface Pdu {
    command: string
    command_status: number
    sequence_number: number
    source_addr: string
    destination_addr: string
    data_coding: number
    registered_delivery: number
    short_message: { message: string | Buffer; udh?: Buffer[] }
    user_message_reference?: number
    /** An optional parameter that the package does not know, by its tag. */
    [tag: number]: Buffer | undefined
    system_id: string
    password: string
    response(options?: Record<string, unknown>): Pdu
  }

  interface Session {
    socket: Socket
    on(event: 'close' | 'connect', listener: () => void): this
    on(event: 'error', listener: (error: Error) => void): this
    on(event: string, listener: (pdu: Pdu) => void): this
    send(pdu: Pdu): boolean
    bind_transceiver(fields: Record<string, unknown>, onAnswer: (answer: Pdu) => void): boolean
    submit_sm(fields: Record<string, unknown>, onAnswer: (answer: Pdu) => void): boolean
    deliver_sm(fields: Record<string, unknown>, onAnswer: (answer: Pdu) => void): boolean
    close(): void
    destroy(): void
  }

  interface Server extends NetServer {
    sessions: Session[]
  }

  const smpp: {
    createServer(onSession: (session: Session) => void): Server
    connect(options: { host: string; port: number }): Session
  }
  export default smpp
  export type { Pdu, Server, Session }
}
