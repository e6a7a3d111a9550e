import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { scopedProvider } from '../channels/carrier-name.js'
import { loadContracts } from '../channels/registry.js'
import { OperatorError, Refusal } from '../domain/errors.js'
import type { Keys } from '../domain/keys.js'
import { type AcceptStore, createAccept } from '../engine/accept/accept.js'
import { Budgets } from '../engine/access/budgets.js'
import { Directory } from '../engine/access/directory.js'
import { createRecipient, type RecipientLimits } from '../engine/recipient/recipient.js'
import { type CarrierEventParts, takeCarrierEvents } from '../engine/record/carrier-events.js'
import { finalize } from '../engine/record/record.js'
import { createRecorder } from '../engine/record/recorder.js'
import { createTemplate, editTemplate, requireTemplate } from '../engine/templates.js'
import { createSendReader } from '../http/gw/send-reader.js'
import { createContentCleaner } from '../http/recipient/content-cleaner.js'
import { buildServer } from '../http/server.js'
import { GroupCommit } from '../runtime/group-commit.js'
import { throttle } from '../runtime/wake.js'
import { findSequence, updateSequence } from '../store/accounts.js'
import { isRegistered } from '../store/address-ranges.js'
import { storeBlobs } from '../store/blobs.js'
import { type FoundStatus, findComing, findNotification, findStatuses, type StatusQuestion } from '../store/deliveries.js'
import { signalDue } from '../store/due-signal.js'
import { findKeyUse } from '../store/idempotency.js'
import { readRevision } from '../store/installation.js'
import { findWritten, insertAcceptances } from '../store/notifications.js'
import { isRowFault, isUniqueViolation, type Pool } from '../store/postgres.js'
import { readQueue } from '../store/queue.js'
import { leaseBudget } from '../store/rate-windows.js'
import { listTemplates, resolveTemplates } from '../store/templates.js'
import { findGrant } from '../store/tokens.js'
import { countUnaccounted } from '../store/unaccounted.js'
import { readWebhookDepth } from '../store/webhook/endpoints.js'
import { documentUrls, openChannels } from './channels.js'
import type { Config } from './config.js'
import type { Log } from './log.js'
import { webhookFormat, webhookRoutes } from './webhooks.js'

/** Builds and wires everything; the only place that knows all parts. */

export async function openDirectory(pool: Pool): Promise<Directory> {
  const directory = new Directory({
    readRevision: () => readRevision(pool),
    findGrant: jti => findGrant(pool, jti),
    isRegistered: address => isRegistered(pool, address),
  })
  await directory.open()
  return directory
}

export const acceptStore = (pool: Pool): AcceptStore => ({
  insertAcceptances: group => insertAcceptances(pool, group),
  findWritten: ids => findWritten(pool, ids),
  storeBlobs: attachments => storeBlobs(pool, attachments),
  resolveTemplates: (account, named) => resolveTemplates(pool, account, named),
  findKeyUse: (account, key) => findKeyUse(pool, account, key),
  isRowFault,
  isUniqueViolation,
})

/** Group commit: measured with bench/accept.ts on two cores; more than two groups at once only compete for the same log. */
export const ACCEPT_LIMITS = { maxGroup: 256, parallelGroups: 2, maxWaiting: 4_096, retryForMs: 5_000 }
/** Workers are told of new work at most this often, not once per send. */
const SIGNAL_EVERY_MS = 50
const LOOKUP_LIMITS = { maxItems: 256, maxWeight: 256, parallel: 2, maxWaiting: 4_096 }
const BODY_BUDGET = { budgetBytes: 160 * 1_048_576, maxWaitMs: 10_000 }

export interface Api {
  app: FastifyInstance
  /** The address it listens on, once it does. */
  listen(): Promise<string>
  close(): Promise<void>
}

export interface ApiParts {
  config: Config
  keys: Keys
  pool: Pool
  log: Log
  acceptLimits?: typeof ACCEPT_LIMITS
  store?: AcceptStore
  findStatus?: (question: StatusQuestion) => Promise<FoundStatus | null>
  recipientLimits?: Partial<RecipientLimits>
}

export async function buildApi({
  config,
  keys,
  pool,
  log,
  acceptLimits = ACCEPT_LIMITS,
  store = acceptStore(pool),
  findStatus,
  recipientLimits = {},
}: ApiParts): Promise<Api> {
  const directory = await openDirectory(pool)
  const signal = throttle(SIGNAL_EVERY_MS, () => signalDue(pool))
  const recorder = createRecorder(pool, directory.clock, { notify: signal })
  const { accept, groups } = createAccept({
    store,
    clock: directory.clock,
    pepper: keys.pepper,
    onAccepted: signal,
    ...acceptLimits,
  })
  const lookups = new GroupCommit<StatusQuestion, FoundStatus | null>({
    write: questions => findStatuses(pool, questions),
    isItemFault: () => false,
    weigh: () => 1,
    overloaded: () => new Refusal('overloaded', [], { retryAfter: 1 }),
    ...LOOKUP_LIMITS,
  })
  const reader = createSendReader(config.attachments)
  const events: CarrierEventParts = { pool, clock: directory.clock, recorder, onUnmatched: warnUnmatched(log) }
  // A port of the system's choice is known once we listen.
  let publicUrl = config.publicUrl
  const contracts = await loadContracts()
  const documentUrl = documentUrls(() => publicUrl, keys)
  const channels = await openChannels(config, { keys, pool, clock: directory.clock })
  const cleaner = createContentCleaner()
  const readiness = { stopping: false, checkDatabase: () => readRevision(pool).then(() => {}) }
  const app = buildServer({
    log,
    auth: {
      key: keys.tokenVerifying,
      directory,
      budgets: new Budgets((key, limit, chunk) => leaseBudget(pool, key, limit, chunk)),
      trustedProxies: config.trustedProxies,
    },
    send: { accept, reader, maxBodyBytes: config.maxBodyBytes, simulator: config.simulator, supportEmail: config.supportEmail },
    status: {
      contracts,
      documentUrl,
      findStatus: findStatus ?? (question => lookups.submit(question)),
      findNotification: (account, id) => findNotification(pool, account, id),
    },
    templates: {
      list: (account, channel) => listTemplates(pool, account, channel),
      find: (account, id, version) => requireTemplate(pool, account, id, version),
      create: (account, draft) => createTemplate(pool, account, draft, directory.clock()),
      edit: (account, id, edit) => editTemplate(pool, account, id, edit),
    },
    sequence: {
      findSequence: account => findSequence(pool, account),
      findComing: (account, id) => findComing(pool, account, id),
      saveSequence: (account, sequence) => updateSequence(pool, account, sequence),
      finalize: (account, id) => finalize(pool, directory.clock, account, id),
    },
    webhooks: webhookRoutes({
      config,
      keys,
      pool,
      clock: directory.clock,
      format: webhookFormat(contracts, documentUrl),
      isStopping: () => readiness.stopping,
    }),
    recipient: {
      recipient: createRecipient({ pool, clock: directory.clock, keys, record: recorder.record, limits: recipientLimits }),
      cleaner,
      trustedProxies: config.trustedProxies,
      publicUrl: config.publicUrl,
    },
    documents: channels.documents,
    callbacks: {
      real: channels.real,
      simulated: channels.simulated,
      publicUrl: () => publicUrl,
      take: (callback, simulated, items) => {
        const provider = scopedProvider(callback.name, simulated)
        return takeCarrierEvents({ provider, carrier: provider, channel: callback.channel }, items, events)
      },
    },
    openApi: { publicUrl: config.publicUrl, supportEmail: config.supportEmail },
    metrics: {
      groups,
      pool,
      readQueue: () => readQueue(pool),
      readWebhookDepth: () => readWebhookDepth(pool),
      countUnaccounted: () => countUnaccounted(pool),
    },
    readiness,
    bodies: BODY_BUDGET,
  })
  return {
    app,
    async listen() {
      const address = await listen(app, config)
      if (config.port === 0) publicUrl = address
      return address
    },
    async close() {
      readiness.stopping = true
      // A connection that was busy when the closing began turns idle later; clients keep such ones open for minutes.
      const sweep = setInterval(() => app.server.closeIdleConnections(), 50)
      await app.close()
      clearInterval(sweep)
      directory.close()
      await Promise.all([reader.close(), cleaner.close(), channels.close()])
    },
  }
}

/** The carrier is answered that all is well, or it would tell us again for days; what it said is worth a line. */
export const warnUnmatched =
  (log: Log): CarrierEventParts['onUnmatched'] =>
  (carrier, kind) =>
    log.warn({ carrier, kind }, 'a carrier speaks of a message that is not ours')

/** After a kill -9 of our predecessor its port may stay taken for a moment. */
async function listen(app: FastifyInstance, { host, port }: Config): Promise<string> {
  for (let round = 0; ; round++) {
    try {
      return await app.listen({ host, port })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
      if (round >= 50) {
        throw new OperatorError(
          `A porta ${port} em ${host} está em uso por outro programa. Encerre-o ou defina PORT com uma porta livre.`,
          { cause: error },
        )
      }
      await sleep(100)
    }
  }
}
