import type { Config } from '../../app/config.js'
import type { ChannelWiring } from '../../app/lanes.js'
import type { ShortLinks } from '../../engine/recipient/short-links.js'
import type { SmsMessage } from '../provider.js'
import { createSmsPreparation } from './preparation.js'
import { smppProvider } from './smpp.js'
import { zenviaProvider } from './zenvia.js'

export interface SmsWiring {
  config: Config
  shortLink: ShortLinks
  /** Told of what a carrier says and nobody can read. */
  onUnreadable(error: unknown): void
}

/** Of one connection, where the URL does not say. */
const WINDOW = 50

export function wireSms({ config, shortLink, onUnreadable }: SmsWiring): ChannelWiring<SmsMessage> {
  return {
    channel: 'sms',
    carriers: config.sms.carriers,
    // Twice the window: the next message is ready when there is room. A bad number is refused when the carrier is opened.
    concurrency: url => 2 * Number(url.searchParams.get('window') ?? WINDOW),
    provider: (url, { onEvents }) => (url.protocol === 'zenvia:' ? zenviaProvider() : smppProvider({ onEvents, onUnreadable })),
    prepare: () => createSmsPreparation({ publicUrl: config.publicUrl, shortLink }),
  }
}
