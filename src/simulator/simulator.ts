import type { Clock } from '../domain/clock.js'
import { type Exchanger, openExchanger } from './email/exchanger.js'
import { Recipient } from './email/recipient.js'
import { FaultSwitch } from './faults.js'
import { openHttp } from './http/server.js'
import { Inbox } from './inbox.js'
import { Outbox } from './outbox.js'
import { Visitor } from './visitor.js'

/** The carriers' side of every protocol, on sockets of its own, and the inbox that shows what they got. */
export interface SimulatorOptions {
  /** Loopback, unless told otherwise. */
  host?: string
  /** 0: any free port. */
  httpPort?: number
  smtpPort?: number
  maxMessages?: number
  maxBytes?: number
  /** How long the recipient silencio keeps a connection without an answer. */
  silenceMs?: number
  clock?: Clock
}

export interface Simulator {
  /** Of the page and of the API below /simulator. */
  url: string
  smtpUrl: string
  close(): Promise<void>
}

const MIB = 1_048_576
/** Leaves room for the largest send that the gateway accepts, in base64. */
const MAX_MESSAGE_BYTES = 48 * MIB

export async function createSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const { host = '127.0.0.1', httpPort = 0, smtpPort = 0, maxMessages = 10_000, maxBytes = 64 * MIB } = options
  const { silenceMs = 300_000, clock = Date.now } = options
  const inbox = new Inbox({ maxMessages, maxBytes })
  const outbox = new Outbox(clock)
  const visitor = new Visitor()
  let exchanger: Exchanger | undefined
  const faults = new FaultSwitch(() => exchanger?.interrupt())
  const recipient = new Recipient({ inbox, outbox, visitor, faults, clock })
  exchanger = await openExchanger({
    host,
    port: smtpPort,
    inbox,
    outbox,
    recipient,
    faults,
    clock,
    maxMessageBytes: Math.min(MAX_MESSAGE_BYTES, maxBytes),
    silenceMs,
  })
  const carriers = { email: exchanger.url }
  const http = await openHttp({ host, port: httpPort, inbox, outbox, visitor, recipient, faults, carriers }).catch(
    async error => {
      await exchanger.close()
      throw error
    },
  )
  return {
    url: http.url,
    smtpUrl: exchanger.url,
    async close() {
      inbox.close()
      recipient.close()
      visitor.close()
      outbox.close()
      await Promise.all([http.close(), exchanger.close()])
    },
  }
}
