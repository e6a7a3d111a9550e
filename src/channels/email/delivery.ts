import type { Mode } from '../../domain/token.js'
import { Semaphore } from '../../runtime/semaphore.js'
import { suppress } from '../../store/accounts/suppressions.js'
import { findRecipient } from '../../store/delivery/deliveries.js'
import { readBlobs } from '../../store/notification/blobs.js'
import { readContent } from '../../store/notification/notifications.js'
import type { ChannelDelivery, ChannelRuntime, DeliveryContext, World } from '../channel.js'
import { type EmailConfig, email } from './channel.js'
import { openKeyring } from './dkim/open-keyring.js'
import { createSigner } from './dkim/signer.js'
import type { EmailMessage } from './email-message.js'
import { createComposer } from './message/composer.js'
import { createEmailPreparation, saysMailboxIsGone, weighEmail } from './preparation.js'
import { openInbound } from './reports/inbound.js'
import { readReport } from './reports/reports.js'
import { createReturns } from './reports/returns.js'
import { type MailResolver, simulatedResolver, systemResolver } from './resolver.js'
import { validateRecipient } from './validation.js'
import { type Verp, verpAddress } from './verp.js'

/** What tests and benchmarks replace. */
export interface EmailOptions {
  /** Instead of the system's name servers. */
  resolver?: MailResolver
  /** The age at which the DKIM keys are read again. */
  dkimRefreshMs?: number
}

/** The simulator answers faster than real servers. */
const SIMULATED_TIMEOUTS = { upload: 10_000, data: 15_000 }
/** Of the e-mails on their way in this process. Live: two of the largest, or fifty with a file of 1 MiB. */
const BYTES_ON_THEIR_WAY: Readonly<Record<Mode, number>> = { live: 128 * 1_048_576, test: 32 * 1_048_576 }
/** Some servers return the whole original message. */
const MAX_RETURN_BYTES = 40 * 1_048_576
const DKIM_REFRESH_MS = 30_000

export const emailRuntime: ChannelRuntime<EmailConfig> = { openDelivery }

async function openDelivery(context: DeliveryContext<EmailConfig>): Promise<ChannelDelivery<EmailMessage>> {
  const { config, keys, pool, publicUrl, onError } = context
  const { resolver: system = systemResolver(), dkimRefreshMs = DKIM_REFRESH_MS } = context.options as EmailOptions
  const verp: Verp = { domain: config.bounceDomain, key: keys.derive('bounce') }
  const keyring = await openKeyring({ config, keys, pool, onError })
  const signer = createSigner({ find: domain => keyring.find(domain) })
  const composer = createComposer()
  const inbound = await listenForReports(context, verp, composer)
  const budgetOf = (mode: Mode): Semaphore => new Semaphore({ permits: BYTES_ON_THEIR_WAY[mode] })
  const budgets = { live: budgetOf('live'), test: budgetOf('test') }
  const resolverOf = ({ simulatorUrl }: World): MailResolver => (simulatorUrl === null ? system : simulatedResolver(simulatorUrl))
  return {
    partsOf: (_, world) => ({
      signer,
      compose: composer.compose,
      resolver: resolverOf(world),
      ...(world.simulatorUrl === null ? {} : { timeouts: SIMULATED_TIMEOUTS }),
    }),
    memory: ({ mode }) => ({ budget: budgets[mode], weigh: weighEmail }),
    suppresses: saysMailboxIsGone,
    prepare(world) {
      const resolver = resolverOf(world)
      return createEmailPreparation({
        publicUrl,
        defaultFrom: config.from,
        linkKey: keys.link,
        returnAddress: (notification, purpose) => verpAddress(notification, verp, purpose),
        validate: address => validateRecipient(address, { resolver }),
        readContent: notification => readContent(pool, notification),
        readBlobs: hashes => readBlobs(pool, hashes),
        enclose: (content, footer) => composer.enclose(content, footer),
      })
    },
    chores: [{ name: 'DKIM keys', everyMs: dkimRefreshMs, run: () => keyring.refresh() }],
    returnRoutes: host => ({ bounces: `smtp://${host}:${inbound.port}` }),
    async close() {
      await inbound.close()
      await Promise.all([signer.close(), composer.close()])
    },
  }
}

/** The listener for bounces, receipts, complaints and answers. */
function listenForReports(
  { config, pool, clock, record, warn }: DeliveryContext<EmailConfig>,
  verp: Verp,
  composer: ReturnType<typeof createComposer>,
) {
  const takeReturn = createReturns({
    clock,
    record,
    findRecipient: notification => findRecipient(pool, notification, email.channel),
    suppress: (notification, reason) => suppress(pool, { notification, channel: email.channel, reason }),
    onLastNote: (notification, kind) => warn({ notification, kind }, 'no more of what comes back for this e-mail is kept'),
  })
  return openInbound({
    ...config.inbound,
    maxBytes: MAX_RETURN_BYTES,
    verp,
    onMessage: async (recipients, raw) => {
      const report = await readReport(raw, composer.toText)
      for (const address of recipients) await takeReturn(address, report)
    },
  })
}
