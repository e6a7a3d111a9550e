import { randomBytes } from 'node:crypto'
import type { Clock } from '../src/domain/clock.js'
import { MIB } from '../src/domain/units.js'
import { Callbacks } from './callbacks.js'
import { type ChannelDeclaration, openChannels } from './channel.js'
import { openHttp } from './http/server.js'
import { Inbox } from './inbox.js'
import { CHANNELS } from './registry.js'
import { Visitor } from './visitor.js'

export interface SimulatorOptions {
  host?: string
  /** Shared with the gateway; a new one where absent. */
  key?: string
  /** By name: "http", and the ports that the channels declare. A port that is absent or 0 is any free one. */
  ports?: Readonly<Record<string, number>>
  maxMessages?: number
  maxBytes?: number
  silenceMs?: number
  clock?: Clock
}

export interface Simulator {
  /** Base of the pages, of the API below /simulator and of the carriers that speak HTTP. */
  url: string
  key: string
  /** The addresses at the declared ports, by the name of the port. */
  carrierUrls: Readonly<Record<string, string>>
  close(): Promise<void>
}

/** The largest send that the gateway accepts fits, in base64. */
const MAX_MESSAGE_BYTES = 48 * MIB

export async function createSimulator(
  options: SimulatorOptions = {},
  declarations: readonly ChannelDeclaration[] = CHANNELS,
): Promise<Simulator> {
  const { host = '127.0.0.1', ports = {}, maxMessages = 10_000, maxBytes = 64 * MIB } = options
  const { silenceMs = 300_000, clock = Date.now, key = randomBytes(32).toString('hex') } = options
  const inbox = new Inbox({ maxMessages, maxBytes })
  const callbacks = new Callbacks(clock)
  const visitor = new Visitor(clock)
  const maxMessageBytes = Math.min(MAX_MESSAGE_BYTES, maxBytes)
  const context = { host, key, inbox, callbacks, visitor, clock, maxMessageBytes, silenceMs }
  const channels = await openChannels(declarations, context, ports)
  const closeChannels = () => Promise.all(channels.map(channel => channel.close()))
  const http = await openHttp({ ...context, port: ports.http ?? 0, channels }).catch(async error => {
    await closeChannels()
    throw error
  })
  const carrierUrls = declarations.flatMap(({ port }, index) =>
    port === undefined ? [] : [[port.name, channels[index]!.url!] as const],
  )
  return {
    url: http.url,
    key,
    carrierUrls: Object.fromEntries(carrierUrls),
    async close() {
      inbox.close()
      visitor.close()
      callbacks.close()
      await Promise.all([http.close(), closeChannels()])
    },
  }
}
