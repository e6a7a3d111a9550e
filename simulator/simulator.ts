import type { Clock } from '../src/domain/clock.js'
import { Callbacks } from './callbacks.js'
import { type DeskParts, openDesks } from './desk.js'
import { openEmailDesk } from './email/desk.js'
import { openHttp } from './http/server.js'
import { Inbox } from './inbox.js'
import { openLetterDesk } from './letter/desk.js'
import { Outbox } from './outbox.js'
import { openSmsDesk } from './sms/desk.js'
import { Visitor } from './visitor.js'
import { openVoiceDesk } from './voice/desk.js'
import { openWhatsappDesk } from './whatsapp/desk.js'

/** The carriers' side of every protocol, on sockets of its own, and the inbox that shows what they got. */
export interface SimulatorOptions {
  /** Loopback, unless told otherwise. */
  host?: string
  /** 0: any free port. */
  httpPort?: number
  smtpPort?: number
  smppPort?: number
  maxMessages?: number
  maxBytes?: number
  /** How long recipients that fall silent keep a connection without an answer. */
  silenceMs?: number
  clock?: Clock
}

export interface Simulator {
  /** Of the page and of the API below /simulator. */
  url: string
  smtpUrl: string
  smppUrl: string
  close(): Promise<void>
}

const MIB = 1_048_576
/** Leaves room for the largest send that the gateway accepts, in base64. */
const MAX_MESSAGE_BYTES = 48 * MIB

export async function createSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const { host = '127.0.0.1', httpPort = 0, smtpPort = 0, smppPort = 0, maxMessages = 10_000, maxBytes = 64 * MIB } = options
  const { silenceMs = 300_000, clock = Date.now } = options
  const inbox = new Inbox({ maxMessages, maxBytes })
  const [outbox, callbacks, visitor] = [new Outbox(clock), new Callbacks(clock), new Visitor()]
  const parts: DeskParts = { host, inbox, callbacks, visitor, clock }
  const maxMessageBytes = Math.min(MAX_MESSAGE_BYTES, maxBytes)
  const email = openEmailDesk({ ...parts, outbox, port: smtpPort, maxMessageBytes, silenceMs })
  const sms = openSmsDesk({ ...parts, port: smppPort })
  const desks = await openDesks([
    email,
    sms,
    openWhatsappDesk({ ...parts, silenceMs }),
    openVoiceDesk(parts),
    openLetterDesk(parts),
  ])
  const closeDesks = () => Promise.all(desks.map(desk => desk.close()))
  const http = await openHttp({ host, port: httpPort, inbox, outbox, callbacks, visitor, desks }).catch(async error => {
    await closeDesks()
    throw error
  })
  return {
    url: http.url,
    smtpUrl: (await email).smtpUrl,
    smppUrl: (await sms).smppUrl,
    async close() {
      inbox.close()
      visitor.close()
      outbox.close()
      callbacks.close()
      await Promise.all([http.close(), closeDesks()])
    },
  }
}
