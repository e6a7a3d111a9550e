import { identifyCarrier } from '../channels/carrier-name.js'
import type { ChannelDelivery, ChannelModule } from '../channels/channel.js'
import { channelModules, loadContracts } from '../channels/registry.js'
import { createTemplateRunner } from '../channels/template-runner.js'
import type { Channel } from '../domain/channel.js'
import type { Keys } from '../domain/keys.js'
import type { Lane } from '../engine/deliver/lane.js'
import type { LaneOptions } from '../engine/deliver/lane-options.js'
import { startLanes } from '../engine/deliver/worker.js'
import { createShortLinks } from '../engine/recipient/short-links.js'
import { type CarrierEventParts, eventContext } from '../engine/record/carrier-events.js'
import { createRecorder } from '../engine/record/recorder.js'
import { takeIncompleteReplies } from '../engine/record/replies.js'
import { takeEarlyReports } from '../engine/record/reports.js'
import { engineTiming } from '../engine/timing.js'
import { findOverdue } from '../engine/upkeep/alarm.js'
import { type Chore, runChores } from '../runtime/chores.js'
import { Wake } from '../runtime/wake.js'
import { deleteStaleWindows } from '../store/accounts/rate-windows.js'
import { deleteStaleReports } from '../store/carrier/early-reports.js'
import { deleteStaleReferences } from '../store/carrier/references.js'
import { listenDue } from '../store/delivery/due-signal.js'
import { readQueue } from '../store/delivery/queue.js'
import { ensureMonths } from '../store/migrate.js'
import { deleteUnusedBlobs, dropBlobs } from '../store/notification/blobs.js'
import { deleteExpiredKeys } from '../store/notification/notifications.js'
import { countUnaccounted } from '../store/notification/unaccounted.js'
import { openPool, type Pool } from '../store/postgres.js'
import { deleteStaleGuesses } from '../store/recipient/guesses.js'
import { deleteLostLinks } from '../store/recipient/links.js'
import { deleteLostCounts } from '../store/recipient/visit-counts.js'
import { openDirectory, warnOfEvents } from './api.js'
import { documentUrls, loadProviders } from './channels.js'
import type { Config } from './config.js'
import { type ChannelWiring, type LaneParts, type LaneTiming, openLanes } from './lanes.js'
import type { Log } from './log.js'
import { connectSimulator } from './simulator-link.js'
import { startDeliverer, type WebhookWorkerParts, webhookChores, webhookFormat } from './webhooks.js'

/** The worker: lanes to the carriers, the listener for what comes back, and upkeep. */
export interface WorkerParts {
  config: Config
  keys: Keys
  pool: Pool
  /** For the connections that listen, and that renew and reap leases. */
  databaseUrl: string
  log: Log
  /** Shorter times for tests. */
  timing?: LaneTiming
  leaseMs?: number
  trace?: LaneOptions<unknown>['trace']
  webhooks?: Pick<WebhookWorkerParts, 'timing' | 'trace'>
  /** Replacements for parts of single channels, in tests and benchmarks. */
  channelOptions?: Readonly<Record<Channel, object>>
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
/** One renews leases, one takes up those that ran out. */
const LEASE_CONNECTIONS = 2
/** The uses of blobs that channels keep in tables of their own. */
const BLOB_USES = channelModules.flatMap(({ blobUses = [] }) => blobUses)

export async function startWorker(options: WorkerParts): Promise<{ close(): Promise<void> }> {
  const { config, keys, pool, databaseUrl, log, leaseMs = engineTiming.leaseMs, trace, channelOptions = {}, webhooks } = options
  const timing = { ...engineTiming, ...options.timing, leaseMs }
  const directory = await openDirectory(pool)
  const wake = new Wake()
  const onError = (err: unknown, what: string): void => log.warn({ err }, `worker: ${what}`)
  const format = webhookFormat(
    await loadContracts(),
    documentUrls(() => config.publicUrl, keys),
  )
  const deliverer = startDeliverer({ config, format, keys, pool, clock: directory.clock, log, leaseMs, onError, ...webhooks })
  const recorder = createRecorder(pool, directory.clock, wake, deliverer, timing)
  const events: CarrierEventParts = { pool, clock: directory.clock, recorder, ...warnOfEvents(log) }
  // Where carriers are real, live messages must not wait for a simulator that is unreachable.
  const simulator = await connectSimulator(config, keys, log)
  const templates = createTemplateRunner()
  const context = {
    ...eventContext(events),
    publicUrl: config.publicUrl,
    keys,
    templates,
    hasCarriers: config.hasCarriers,
    simulatorUrl: simulator?.url ?? null,
    simulatorAddress: async (name: string) => (await simulator?.findAddress(name)) ?? null,
    shortLink: createShortLinks(pool, keys.link),
    dropBlobs: (hashes: readonly string[]) => dropBlobs(pool, BLOB_USES, hashes),
    onError,
    warn: (details: object, message: string) => log.warn(details, message),
  }
  const parts: LaneParts = { ...context, recorder, leaseMs, timing, trace }
  const opened: { module: ChannelModule; delivery: ChannelDelivery<unknown>; lanes: Lane<unknown>[][] }[] = []
  for (const module of channelModules) {
    const { channel, sendsContent = false } = module
    const own = config.channels[channel]!
    const runtime = await module.runtime()
    const delivery = await runtime.openDelivery({ ...context, config: own, options: channelOptions[channel] ?? {} })
    const providerOf = await loadProviders(module)
    const wiring: ChannelWiring<unknown> = {
      ...delivery,
      channel,
      carriers: own.carriers,
      sendsContent,
      concurrency: url => providerOf(url).concurrency(url),
      identify: url => identifyCarrier(providerOf(url), url),
      provider: (url, world) => providerOf(url).create(delivery.partsOf(providerOf(url).name, world)),
    }
    const lanes = await openLanes(wiring, parts)
    opened.push({ module, delivery, lanes })
    if (!lanes.flat().some(lane => lane.mode === 'live'))
      log.warn({ channel }, 'a channel has no carrier: what is sent by it waits in the queue until one is set')
  }
  const lanes = opened.flatMap(channel => channel.lanes)
  await simulator?.register(host => Object.assign({}, ...opened.map(({ delivery }) => delivery.returnRoutes?.(host))))
  const leases = openPool({
    url: databaseUrl,
    size: LEASE_CONNECTIONS,
    onError: err => onError(err, 'an idle database connection broke'),
  })
  const running = startLanes({ pool, leases, clock: directory.clock, wake, recorder, lanes, timing, onError })
  const listener = listenDue(databaseUrl, () => {
    wake.notify()
    deliverer.notify()
  })
  const upkeep = startUpkeep(pool, log, [
    ...(simulator === null ? [] : [{ name: 'simulator route', everyMs: 5 * SECOND, run: () => simulator.renew() }]),
    { name: 'early reports', everyMs: timing.pollMs, run: () => takeEarlyReports(events, timing) },
    { name: 'incomplete replies', everyMs: MINUTE, run: () => takeIncompleteReplies(events) },
    ...opened.flatMap(({ delivery }) => delivery.chores ?? []),
    ...webhookChores(config, pool),
  ])
  return {
    async close() {
      // First nothing new is claimed, then the attempts under way end, then the parts close that the attempts needed.
      await running.stop()
      await deliverer.stop()
      await Promise.all([listener.close(), upkeep.stop(), templates.close(), ...opened.map(({ delivery }) => delivery.close?.())])
      await leases.end()
      directory.close()
    },
  }
}

function startUpkeep(pool: Pool, log: Log, more: readonly Chore[]): { stop(): Promise<void> } {
  const chores: Chore[] = [
    { name: 'partitions', everyMs: 6 * HOUR, run: () => ensureMonths(pool) },
    { name: 'idempotency keys', everyMs: HOUR, run: () => deleteExpiredKeys(pool) },
    { name: 'rate windows', everyMs: HOUR, run: () => deleteStaleWindows(pool) },
    { name: 'carriers’ references', everyMs: HOUR, run: () => deleteStaleReferences(pool) },
    { name: 'unmatched reports', everyMs: HOUR, run: () => deleteStaleReports(pool) },
    { name: 'guesses at links', everyMs: HOUR, run: () => deleteStaleGuesses(pool) },
    { name: 'unused attachments', everyMs: 6 * HOUR, run: signal => deleteUnusedBlobs(pool, BLOB_USES, signal) },
    { name: 'links of months that are gone', everyMs: 6 * HOUR, run: () => deleteLostLinks(pool) },
    { name: 'visits of months that are gone', everyMs: 6 * HOUR, run: () => deleteLostCounts(pool) },
    { name: 'overdue deliveries', everyMs: MINUTE, run: () => alarmOverdue(pool, log) },
    { name: 'unaccounted notifications', everyMs: HOUR, run: () => alarmUnaccounted(pool, log) },
    ...more,
  ]
  const stop = new AbortController()
  const running = runChores(chores, stop.signal, (chore, err) =>
    log.warn({ chore, err }, 'a chore failed and will be tried again'),
  )
  return {
    async stop() {
      stop.abort()
      await running
    },
  }
}

/** Accepted deliveries must be finished or in progress: overdue or missing deliveries are errors in the log. */
async function alarmOverdue(pool: Pool, log: Log): Promise<void> {
  for (const depth of findOverdue(await readQueue(pool))) log.error(depth, 'deliveries are overdue')
}

async function alarmUnaccounted(pool: Pool, log: Log): Promise<void> {
  const count = await countUnaccounted(pool)
  if (count > 0) log.error({ count }, 'notifications with missing or inconsistent deliveries')
}
