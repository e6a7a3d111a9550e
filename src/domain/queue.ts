import type { Mode } from './access/token.js'
import type { Channel } from './channel.js'

/** The deliveries of one channel in one mode, which are sent by the same carriers. */
export type Queue = `${Channel} ${Mode}`

export const queueOf = ({ channel, mode }: { channel: Channel; mode: Mode }): Queue => `${channel} ${mode}`

/** Receives the signal that queues have deliveries to send. A signal without queues is about all queues. */
export interface QueueListener {
  notify(queues?: Iterable<Queue>): void
}
