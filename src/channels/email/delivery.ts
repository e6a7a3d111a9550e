import type { Config } from '../../app/config.js'
import type { ChannelWiring, World } from '../../app/lanes.js'
import type { Keys } from '../../domain/keys.js'
import { ByteBudget } from '../../runtime/byte-budget.js'
import { readBlobs } from '../../store/blobs.js'
import { readContent } from '../../store/notifications.js'
import type { Pool } from '../../store/postgres.js'
import { suppress } from '../../store/suppressions.js'
import type { EmailMessage } from '../provider.js'
import type { Signer } from './dkim/signer.js'
import type { Composer } from './message/composer.js'
import { createEmailPreparation, saysMailboxIsGone, weighEmail } from './preparation.js'
import { type MailResolver, simulatedResolver } from './resolver.js'
import { mxProvider } from './smtp/mx.js'
import { smtpProvider } from './smtp/smtp.js'
import { validateRecipient } from './validation.js'
import { type Verp, verpAddress } from './verp.js'

export interface EmailWiring {
  config: Config
  keys: Keys
  pool: Pool
  verp: Verp
  signer: Signer
  composer: Composer
  /** Of the real world's domains. */
  resolver: MailResolver
}

/** The next message is ready when a connection is; more would use up their time while they wait for a slow carrier. */
const EMAILS_PER_CONNECTION = 2
const CONNECTIONS = 20
const SIMULATED_TIMEOUTS = { upload: 10_000, data: 15_000 }
/** Of the e-mails on their way in this process: two of the largest, or fifty with a file of 1 MiB. */
const BYTES_ON_THEIR_WAY = 128 * 1_048_576

export function wireEmail(wiring: EmailWiring): ChannelWiring<EmailMessage> {
  const { config, keys, pool, verp, signer, composer, resolver: system } = wiring
  const { compose } = composer
  const resolverOf = ({ simulatorUrl }: World): MailResolver => (simulatorUrl === null ? system : simulatedResolver(simulatorUrl))
  return {
    channel: 'email',
    carriers: config.email.carriers,
    // A bad number is refused when the carrier is opened.
    concurrency: url => EMAILS_PER_CONNECTION * Number(withPool(url).searchParams.get('pool')),
    provider(url, world) {
      const options = { signer, compose, ...(world.simulatorUrl === null ? {} : { timeouts: SIMULATED_TIMEOUTS }) }
      const provider = url.protocol === 'mx:' ? mxProvider({ ...options, resolver: resolverOf(world) }) : smtpProvider(options)
      return { ...provider, open: given => provider.open(withPool(given)) }
    },
    memory: { budget: new ByteBudget(BYTES_ON_THEIR_WAY), weigh: weighEmail },
    async follow({ notification, fact }) {
      if (saysMailboxIsGone(fact)) await suppress(pool, { notification, channel: 'email', reason: 'hard bounce' })
    },
    prepare(world) {
      const resolver = resolverOf(world)
      return createEmailPreparation({
        publicUrl: config.publicUrl,
        defaultFrom: config.email.from,
        linkKey: keys.link,
        envelopeSender: notification => verpAddress(notification, verp),
        validate: address => validateRecipient(address, { resolver }),
        readContent: notification => readContent(pool, notification),
        readBlobs: hashes => readBlobs(pool, hashes),
        toText: html => composer.toText(html),
      })
    },
  }
}

/** Enough connections for the lane, unless the URL says how many the carrier likes. */
function withPool(url: URL): URL {
  const sized = new URL(url)
  if (!sized.searchParams.has('pool')) sized.searchParams.set('pool', String(CONNECTIONS))
  return sized
}
