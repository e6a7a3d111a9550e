import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import type { KeptFor } from '../../channels/channel-config.js'
import { channels as channelNames, loadContracts } from '../../channels/registry.js'
import { createTemplateRunner } from '../../channels/template-runner.js'
import type { Keys } from '../../domain/access/keys.js'
import type { Channel } from '../../domain/channel.js'
import { OperatorError, Refusal } from '../../domain/errors.js'
import { MIB } from '../../domain/units.js'
import { type AcceptStore, createAccept } from '../../engine/accept/accept.js'
import { unitCounter } from '../../engine/accept/count-units.js'
import { createReadiness } from '../../engine/accept/readiness.js'
import { Budgets } from '../../engine/access/budgets.js'
import { loadBulkFields } from '../../engine/bulk/fields.js'
import { createRecipient, type RecipientLimits } from '../../engine/recipient/recipient.js'
import { type CarrierEventParts, takeCarrierEvents } from '../../engine/record/carrier-events.js'
import { createRecorder } from '../../engine/record/recorder.js'
import { ARRIVAL_MS, arrivalMs } from '../../http/arrivals.js'
import { createSendReader } from '../../http/gw/send-reader.js'
import { createContentCleaner } from '../../http/recipient/content-cleaner.js'
import { buildServer } from '../../http/server.js'
import { uploadTurns } from '../../http/uploads.js'
import { readFreeBytes } from '../../runtime/disk.js'
import { GroupCommit } from '../../runtime/group-commit.js'
import { leaseBudget } from '../../store/accounts/rate-windows.js'
import { type FoundStatus, findNotification, findStatuses, type StatusQuestion } from '../../store/delivery/deliveries.js'
import { createDueSignal } from '../../store/delivery/due-signal.js'
import { readDossier } from '../../store/evidence/dossier.js'
import { findPending } from '../../store/migrate.js'
import { readTimeline } from '../../store/notification/event-log.js'
import { rehearseAcceptances } from '../../store/notification/notifications.js'
import type { Pool } from '../../store/postgres.js'
import { replayTurns } from '../../webhooks/replay.js'
import { ACCEPT_LIMITS, acceptStore } from '../accept-store.js'
import { warnOfEvents } from '../carrier-events.js'
import { documentUrls, openChannels } from '../channels.js'
import type { Config } from '../config.js'
import { openConsoleReads } from '../database/replica.js'
import { openDirectory } from '../directory.js'
import { openDiskGuard } from '../disk.js'
import type { Log } from '../log.js'
import { openTracing } from '../tracing.js'
import { readVersion } from '../version.js'
import { targetRules, webhookFormat } from '../webhook-rules.js'
import { openConsoleCarriers } from './console-carriers.js'
import { openEvidence, openVerification } from './evidence-api.js'

const LOOKUP_LIMITS = { maxItems: 256, parallel: 2, maxWaiting: 4_096 }
/** Slower than a phone with a bad connection. */
const SLOWEST_SENDER = { bytesPerSecond: 8_192, graceMs: 10_000 }
const BODY_BUDGETS = {
  accounts: { bytes: 160 * MIB, share: 80 * MIB, waiting: 256, maxWaitMs: 10_000, slowest: SLOWEST_SENDER },
  strangers: { bytes: 16 * MIB, share: 4 * MIB, waiting: 32, maxWaitMs: 10_000, slowest: SLOWEST_SENDER },
}
/** An idle connection takes some 20 KiB. */
const CONNECTIONS_PER_ADDRESS = 1_024

export interface ApiParts {
  config: Config
  keys: Keys
  pool: Pool
  log: Log
  acceptLimits?: typeof ACCEPT_LIMITS
  store?: AcceptStore
  findStatus?: (question: StatusQuestion) => Promise<FoundStatus | null>
  recipientLimits?: Partial<RecipientLimits>
  /** Replacements for parts of channels, in tests. */
  channelOptions?: Readonly<Record<Channel, object>>
  /** The free space of the disk, in tests. */
  readFreeBytes?: () => Promise<number | null>
  /** How long a stop waits for requests that are still arriving and answers that are still being read, in tests. */
  stopMs?: number
  /** Replacements for parts of the console, in tests. */
  console?: { folder?: string; everyMs?: number; aliveEveryMs?: number }
}

export type Api = Awaited<ReturnType<typeof buildApi>>

/** Composes everything that the api runs. */
export async function buildApi({ config, keys, pool, log, ...options }: ApiParts) {
  const { acceptLimits = ACCEPT_LIMITS, store = acceptStore(pool), recipientLimits = {} } = options
  const reads = await openConsoleReads(config, pool, log)
  const directory = await openDirectory(pool)
  const { clock } = directory
  const signal = createDueSignal(pool)
  const recorder = createRecorder(pool, clock, signal.queues, signal.webhooks)
  const readFree = options.readFreeBytes ?? (() => readFreeBytes(config.dataFolder))
  const requireDisk = openDiskGuard(config, log, readFree)
  const tracing = openTracing(config, 'api', log)
  const lookups = new GroupCommit<StatusQuestion, FoundStatus | null>({
    write: questions => findStatuses(pool, questions),
    overloaded: () => new Refusal('overloaded', [], { retryAfter: 1 }),
    ...LOOKUP_LIMITS,
  })
  const reader = createSendReader(config.attachments)
  const events: CarrierEventParts = { pool, clock, recorder, ...warnOfEvents(log) }
  // With port 0 the system chooses the port, which is known only once the server listens.
  let publicUrl = config.publicUrl
  const contracts = await loadContracts()
  const documentUrl = documentUrls(() => publicUrl, keys)
  const templates = createTemplateRunner()
  const cleaner = createContentCleaner()
  const evidence = openEvidence({ config, keys, pool, clock, log, publicUrl: () => publicUrl })
  const channels = await openChannels(config, { keys, pool, clock, templates, openSigner: evidence.openSigner })
  const allowed = { simulator: config.simulator, supportEmail: config.supportEmail }
  const { accept, groups, recentTrouble } = createAccept({
    store,
    allowed,
    clock,
    pepper: keys.pepper,
    countUnits: unitCounter({ pool, clock, previews: channels.previews }),
    onAccepted: signal.queues.notify,
    requireDisk,
    trace: tracing?.accepted,
    ...acceptLimits,
  })
  if (config.signature.kind !== 'own') await evidence.openSigner()
  // Beside real carriers the simulator serves test tokens only, and the public home page does not mention it.
  const shownSimulator = config.simulator && !config.hasCarriers ? config.simulatorUrl : null
  let stopping = false
  const app = buildServer({
    log,
    pool,
    clock,
    isStopping: () => stopping,
    checkReadiness: createReadiness({
      store: {
        isStandbyLost: () => store.isStandbyLost(),
        findPending: () => findPending(pool),
        rehearse: group => rehearseAcceptances(pool, group),
      },
      clock,
      requireDisk,
      recentTrouble,
    }),
    auth: {
      key: keys.tokenVerifying,
      directory,
      budgets: new Budgets((key, limit, chunk) => leaseBudget(pool, key, limit, chunk)),
      trustedProxies: config.trustedProxies,
    },
    send: {
      accept,
      findCurrentCaller: jti => directory.findCurrentCaller(jti),
      reader,
      maxBodyBytes: config.maxBodyBytes,
      ...allowed,
    },
    bulk: {
      fields: await loadBulkFields(),
      maxBytes: config.bulk.maxBytes,
      requireDisk,
      takeTurn: uploadTurns(arrivalMs(config.bulk.maxBytes)),
    },
    status: {
      contracts,
      documentUrl,
      findStatus: options.findStatus ?? (question => lookups.submit(question)),
      findNotification: (scope, id) => findNotification(pool, scope, id),
      readTimeline: (scope, id) => readTimeline(pool, scope, id),
    },
    proofs: { readDossier: (scope, id) => readDossier(pool, scope, id), documents: evidence.documents },
    webhooks: {
      sealing: keys.sealing,
      rules: targetRules(config),
      format: webhookFormat(contracts, documentUrl),
      takeReplayTurn: replayTurns(),
    },
    recipient: {
      recipient: createRecipient({ pool, clock, keys, record: recorder.record, limits: recipientLimits }),
      cleaner,
      trustedProxies: config.trustedProxies,
      publicUrl: config.publicUrl,
      verificationOf: evidence.verificationOf,
    },
    home: { simulatorUrl: shownSimulator },
    console: {
      keys,
      readList: reads.readList,
      publicUrl: () => publicUrl,
      hasCarriers: config.hasCarriers,
      simulatorUrl: shownSimulator,
      // Shown beside real carriers too: there it holds messages of test tokens only.
      simulator: config.simulator ? config.simulatorUrl : null,
      version: readVersion(),
      previews: channels.previews,
      folder: fileURLToPath(new URL('../../../console', import.meta.url)),
      retention: retentionOf(config),
      carriers: await openConsoleCarriers(config, { keys, pool, clock, templates, options: options.channelOptions ?? {} }),
      ...options.console,
    },
    templates,
    evidence,
    verification: openVerification({ config, keys, pool, guesses: recipientLimits.guesses }),
    documents: channels.documents,
    callbacks: {
      served: channels.callbacks,
      publicUrl: () => publicUrl,
      take: (source, items) => takeCarrierEvents(source, items, events),
    },
    openApi: { publicUrl: config.publicUrl, supportEmail: config.supportEmail },
    guide: { folder: fileURLToPath(new URL('../../../guide', import.meta.url)) },
    metrics: {
      pool,
      groups,
      token: config.metricsToken,
      channels: channelNames,
      version: readVersion(),
      disk: { readFree, minFreeBytes: config.minFreeBytes },
      readSignatureEnd: evidence.openSigner.readEnd,
    },
    secure: config.publicUrl.startsWith('https:'),
    bodies: { ...BODY_BUDGETS, trustedProxies: config.trustedProxies },
    connectionsPerAddress: CONNECTIONS_PER_ADDRESS,
    stopMs: options.stopMs ?? ARRIVAL_MS,
  })
  return {
    app,
    /** Returns the address on which the server listens. */
    async listen(): Promise<string> {
      const address = await listen(app, config)
      // Without PUBLIC_URL, and on a port that the system chose.
      if (new URL(publicUrl).port === '0') publicUrl = address
      return address
    },
    async close(): Promise<void> {
      stopping = true
      await app.close()
      directory.close()
      await Promise.all([
        reader.close(),
        cleaner.close(),
        templates.close(),
        channels.close(),
        evidence.close(),
        tracing?.close(),
        reads.close(),
      ])
    },
  }
}

/** What is deleted, and when; the terms of accounts are their own. */
const retentionOf = ({ webhooks, bulk, channels }: Config): KeptFor[] => [
  { what: 'Datas, situações e hashes das notificações', setting: null, days: null },
  { what: 'Avisos entregues aos webhooks e suas tentativas', setting: 'WEBHOOK_DAYS', days: webhooks.days },
  { what: 'Dados das linhas de lotes que não saíram', setting: 'BULK_DAYS', days: bulk.days },
  ...Object.values(channels).flatMap(({ retention = [] }) => retention),
]

/** After a kill -9 of the process before this one, its port may stay in use for a moment. */
async function listen(app: FastifyInstance, { host, port }: Config): Promise<string> {
  for (let round = 0; ; round++) {
    try {
      return await app.listen({ host, port })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
      const problem = `A porta ${port} em ${host} está em uso por outro programa. Encerre-o ou defina PORT com uma porta livre.`
      if (round >= 50) throw new OperatorError(problem, { cause: error })
      await sleep(100)
    }
  }
}
