import type { Mode } from '../../domain/access/token.js'
import { html } from '../../domain/text/html.js'
import { HOUR_MS, MIB } from '../../domain/units.js'
import { digest } from '../../runtime/digest.js'
import { Semaphore } from '../../runtime/semaphore.js'
import { findAccountLogo, listAccounts } from '../../store/accounts/accounts.js'
import { suppress } from '../../store/accounts/suppressions.js'
import { findVersionContent } from '../../store/accounts/templates.js'
import { findRecipient } from '../../store/delivery/deliveries.js'
import { readBlobs } from '../../store/files/read.js'
import { readContent } from '../../store/notification/notifications.js'
import type { ChannelDelivery, ChannelRuntime, DeliveryContext, RuntimeContext, World } from '../channel-runtime.js'
import type { ChannelPreview } from '../preview.js'
import { createRendering } from '../rendering.js'
import { type EmailConfig, type EmailSettings, email } from './channel.js'
import { openKeyring } from './dkim/open-keyring.js'
import { createSigner } from './dkim/signer.js'
import { checkMailDomains, type DnsOptions } from './dns-checks.js'
import type { EmailMessage } from './email-message.js'
import { openForwardCarriers } from './forward/carriers.js'
import { deleteOldForwards, forwardJobs, queueForward } from './forward/forward-store.js'
import { createForwarder, sendBy } from './forward/forwarder.js'
import { createLogos } from './logos.js'
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
  /** How often replies to be forwarded are looked for. */
  forwardEveryMs?: number
}

/** The simulator answers faster than real servers. */
const SIMULATED_TIMEOUTS = { upload: 10_000, data: 15_000 }
/** The bytes of the e-mails on their way in this process. Live: two of the largest, or fifty with a file of 1 MiB. */
const BYTES_ON_THEIR_WAY: Readonly<Record<Mode, number>> = { live: 128 * MIB, test: 32 * MIB }
/** Some servers return the whole original message. */
const MAX_RETURN_BYTES = 40 * MIB
const DKIM_REFRESH_MS = 30_000
const FORWARD_MS = 5_000

export const emailRuntime: ChannelRuntime<EmailConfig> = {
  openDelivery,
  async checkSetup(context, options) {
    const senders = (await listAccounts(context.pool)).map(
      ({ settings }) => (settings as Partial<EmailSettings>)['email.from'] ?? '',
    )
    return checkMailDomains(context, senders, options as DnsOptions)
  },
  openPreview,
}

function openPreview({ config, keys, pool, publicUrl, templates }: RuntimeContext<EmailConfig>): ChannelPreview {
  const composer = createComposer(1)
  const verp: Verp = { domain: config.bounceDomain, key: keys.derive('bounce') }
  const prepare = createEmailPreparation({
    publicUrl,
    defaultFrom: config.from,
    linkKey: keys.link,
    returnAddress: (notification, purpose) => verpAddress(notification, verp, purpose),
    // Whether the address can receive is asked when the message leaves, not while it is written.
    validate: async () => null,
    readContent: async () => null,
    render: createRendering(email, templates, (id, version) => findVersionContent(pool, id, version)),
    readBlobs: async () => new Map(),
    findLogo: createLogos({ read: account => findAccountLogo(pool, account) }),
  })
  return {
    async show(claim) {
      const message = await prepare({ ...claim, attachments: [] })
      if ('refused' in message) return message
      const { html } = 'content' in message ? await composer.enclose(message) : message
      return { kind: 'mail', from: message.from, fromName: message.fromName, subject: message.subject, html }
    },
    close: () => composer.close(),
  }
}

async function openDelivery(context: DeliveryContext<EmailConfig>): Promise<ChannelDelivery<EmailMessage>> {
  const { config, keys, pool, publicUrl, templates, onError } = context
  const {
    resolver: system = systemResolver(),
    dkimRefreshMs = DKIM_REFRESH_MS,
    forwardEveryMs = FORWARD_MS,
  } = context.options as EmailOptions
  const verp: Verp = { domain: config.bounceDomain, key: keys.derive('bounce') }
  const keyring = await openKeyring({ config, keys, pool, onError })
  const signer = createSigner({ find: domain => keyring.find(domain) })
  const composer = createComposer()
  const findLogo = createLogos({ read: account => findAccountLogo(pool, account) })
  const inbound = await listenForReports(context, verp, composer)
  const budgetOf = (mode: Mode): Semaphore => new Semaphore({ permits: BYTES_ON_THEIR_WAY[mode] })
  const budgets = { live: budgetOf('live'), test: budgetOf('test') }
  const resolverOf = ({ simulatorUrl }: Pick<World, 'simulatorUrl'>): MailResolver =>
    simulatorUrl === null ? system : simulatedResolver(simulatorUrl)
  const partsOf = (simulatorUrl: string | null) => ({
    signer,
    compose: composer.compose,
    resolver: resolverOf({ simulatorUrl }),
    ...(simulatorUrl === null ? {} : { timeouts: SIMULATED_TIMEOUTS }),
  })
  const carriers = openForwardCarriers(context, partsOf)
  const forwardReplies = createForwarder({
    jobs: forwardJobs(pool),
    clock: context.clock,
    record: context.record,
    carriers: carriers.of,
    defaultFrom: config.from,
    bounceDomain: config.bounceDomain,
    envelopeFrom: notification => verpAddress(notification, verp, 'forward'),
  })
  return {
    partsOf: (_, { simulatorUrl }) => partsOf(simulatorUrl),
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
        render: createRendering(email, templates, (id, version) => findVersionContent(pool, id, version)),
        readBlobs: hashes => readBlobs(pool, hashes),
        findLogo,
      })
    },
    chores: [
      { name: 'DKIM keys', everyMs: dkimRefreshMs, run: () => keyring.refresh() },
      { name: 'replies to forward', everyMs: forwardEveryMs, run: forwardReplies },
      { name: 'forwarded replies', everyMs: HOUR_MS, oneNode: true, run: () => deleteOldForwards(pool) },
    ],
    async sendMail({ to, subject, text, reference }, signal) {
      const from = config.from
      const message = {
        reference,
        envelopeFrom: from,
        to,
        toName: '',
        from,
        fromName: 'Carteiro',
        subject,
        text,
        attachments: [],
      }
      const page = html`<!doctype html>
<html><head><meta charset="utf-8"></head><body><pre style="white-space:pre-wrap">${text}</pre></body></html>
`.text
      await sendBy(await carriers.of('live'), { ...message, html: page, date: new Date(context.clock()) }, signal)
    },
    returnRoutes: host => ({ bounces: `smtp://${host}:${inbound.port}` }),
    async close() {
      await Promise.all([inbound.close(), carriers.close()])
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
    forward: (notification, reply) => queueForward(pool, notification, reply),
    onLastNote: (notification, kind) => warn({ notification, kind }, 'no more of what comes back for this e-mail is kept'),
  })
  return openInbound({
    ...config.inbound,
    maxBytes: MAX_RETURN_BYTES,
    verp,
    onMessage: async (recipients, raw) => {
      const report = await readReport(raw, composer.toText)
      const original = { sha256: await digest(raw), size: raw.length }
      for (const address of recipients) await takeReturn(address, report, original)
    },
  })
}
