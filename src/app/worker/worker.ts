import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { blobUses, loadContracts } from '../../channels/registry.js'
import { createTemplateRunner } from '../../channels/template-runner.js'
import type { Keys } from '../../domain/access/keys.js'
import type { Channel } from '../../domain/channel.js'
import type { Queue } from '../../domain/queue.js'
import { MINUTE_MS, SECOND_MS } from '../../domain/units.js'
import { createContentPacker } from '../../engine/deliver/content-packer.js'
import type { LaneOptions } from '../../engine/deliver/lane-options.js'
import { startLanes } from '../../engine/deliver/worker.js'
import { createShortLinks } from '../../engine/recipient/short-links.js'
import { type CarrierEventParts, eventContext } from '../../engine/record/carrier-events.js'
import { createRecorder } from '../../engine/record/recorder.js'
import { takeIncompleteReplies } from '../../engine/record/replies.js'
import { takeEarlyReports } from '../../engine/record/reports.js'
import { engineTiming } from '../../engine/timing.js'
import { Wakes } from '../../runtime/wake.js'
import { listenDue } from '../../store/delivery/due-signal.js'
import { dropBlobs } from '../../store/files/blobs.js'
import { openPool, type Pool, serversOf } from '../../store/postgres.js'
import { Servers } from '../../store/servers.js'
import { warnOfEvents } from '../carrier-events.js'
import { documentUrls, openPreviews } from '../channels.js'
import type { Config } from '../config.js'
import { reportTo } from '../database/database.js'
import { DatabaseWatch } from '../database/database-watch.js'
import { openDirectory } from '../directory.js'
import { openDiskGuard } from '../disk.js'
import type { Log } from '../log.js'
import { openTracing } from '../tracing.js'
import { webhookFormat } from '../webhook-rules.js'
import { bulkChores } from './bulk.js'
import { openChannelLanes } from './channel-lanes.js'
import { openEvidenceLog } from './evidence-log.js'
import type { LaneParts, LaneTiming } from './lanes.js'
import { openMonthsReader } from './open-months-reader.js'
import { connectSimulator } from './simulator-link.js'
import { startUpkeep } from './upkeep.js'
import { startDeliverer, type WebhookWorkerParts, webhookChores } from './webhooks.js'
import { workerReports } from './worker-reports.js'

export interface WorkerParts {
  config: Config
  keys: Keys
  pool: Pool
  /** For the connections that listen, and that renew and reap leases. */
  databaseUrl: string
  log: Log
  /** Where this node remembers how far the database has come; null: only while it runs. */
  memoryFile?: string | null
  /** Shorter times for tests. */
  timing?: LaneTiming
  leaseMs?: number
  trace?: LaneOptions<unknown>['trace']
  webhooks?: Pick<WebhookWorkerParts, 'timing' | 'trace'>
  /** Replacements for parts of single channels, in tests and benchmarks. */
  channelOptions?: Readonly<Record<Channel, object>>
}

/** One connection renews leases, the other takes over expired ones. */
const LEASE_CONNECTIONS = 2

/** What Unix calls nice: the processor goes to the API and the database first, and a third of its time to workers that want it too. */
const NICENESS = 5

/** Lets the answers to requests go before the work of this process, where both want the processor. */
export function yieldToAnswers(): void {
  try {
    for (const thread of ownThreads()) setPriority(thread, NICENESS)
    // Linux shares the processors among sessions first, and looks at priorities only within each.
    if (leadsSession()) writeFileSync('/proc/self/autogroup', String(NICENESS))
  } catch {
    // Some systems do not allow it. Then all processes are equal.
  }
}

/**
 * On Linux each thread has a priority of its own, which those that it starts inherit; the engine started some before this program ran.
 * They compile and collect garbage: a sixth of a worker's time after its start.
 */
const ownThreads = (): number[] => (process.platform === 'linux' ? readdirSync('/proc/self/task').map(Number) : [process.pid])

/** A child of the supervisor has a session of its own. A worker that was started by hand shares that of the shell, which keeps its priority. */
function leadsSession(): boolean {
  if (process.platform !== 'linux') return false
  // After the name of the program, which may hold anything: state, parent, group, session.
  const stat = readFileSync('/proc/self/stat', 'latin1')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[3]) === process.pid
}

/**
 * Lets the thread that allocates collect its own short-lived objects. By default every processor helps, and the helpers spend more time on
 * looking for work than they take off: with them a worker at full speed takes 7 % more processor time for an e-mail. The option is read at
 * every collection, so it may be set after the start.
 */
export function collectGarbageInOneThread(): void {
  setFlagsFromString('--no-parallel-scavenge')
}

/** Starts the worker: lanes to the carriers, the listener for reports and replies that come back, and upkeep. */
export async function startWorker(options: WorkerParts): Promise<{ close(): Promise<void> }> {
  const {
    config,
    keys,
    pool,
    databaseUrl,
    log,
    leaseMs = engineTiming.leaseMs,
    trace,
    channelOptions = {},
    webhooks,
    memoryFile = null,
  } = options
  const timing = { ...engineTiming, ...options.timing, leaseMs }
  const endSignsOfLife = giveSignsOfLife(config, reportTo(log, 'worker: the sign of life'))
  const directory = await openDirectory(pool)
  const wakes = new Wakes<Queue>()
  const servers = serversOf(pool) ?? new Servers(databaseUrl)
  const onError = (err: unknown, what: string): void => reportTo(log, `worker: ${what}`)(err)
  const format = webhookFormat(
    await loadContracts(),
    documentUrls(() => config.publicUrl, keys),
  )
  const deliverer = startDeliverer({ config, format, keys, pool, clock: directory.clock, log, leaseMs, onError, ...webhooks })
  const recorder = createRecorder(pool, directory.clock, wakes, deliverer, timing)
  const events: CarrierEventParts = { pool, clock: directory.clock, recorder, ...warnOfEvents(log) }
  // Where carriers are real, live messages must not wait for a simulator that is unreachable.
  const simulator = await connectSimulator(config, keys, log)
  const templates = createTemplateRunner()
  const previews = await openPreviews(config, { keys, pool, clock: directory.clock, templates })
  const context = {
    ...eventContext(events),
    publicUrl: config.publicUrl,
    keys,
    templates,
    hasCarriers: config.hasCarriers,
    simulatorUrl: simulator?.url ?? null,
    simulatorAddress: async (name: string) => (await simulator?.findAddress(name)) ?? null,
    shortLink: createShortLinks(pool, keys.link),
    async dropBlobs(hashes: readonly string[]) {
      const left = await dropBlobs(pool, blobUses, hashes)
      if (left > 0) log.warn({ left }, 'files outside of the database could not be deleted yet')
    },
    onError,
    warn: (details: object, message: string) => log.warn(details, message),
  }
  const months = await openMonthsReader(pool, error => onError(error, 'the open months'))
  const tracing = openTracing(config, 'worker', log)
  const packer = createContentPacker()
  const onFailed: LaneParts['onFailed'] = attempt => log.warn(attempt, 'an attempt failed')
  const parts: LaneParts = {
    ...context,
    openMonths: months.current,
    askedForAll: () => wakes.rounds,
    recorder,
    pack: packer.pack,
    leaseMs,
    timing,
    trace,
    onFailed,
    traceAttempt: tracing?.attempt,
  }
  const opened = await openChannelLanes(config, context, parts, channelOptions)
  const lanes = opened.flatMap(channel => channel.lanes)
  const reports = workerReports(pool, lanes.flat())
  await simulator?.register(host => Object.assign({}, ...opened.map(({ delivery }) => delivery.returnRoutes?.(host))))
  const leases = openPool({
    url: databaseUrl,
    servers,
    size: LEASE_CONNECTIONS,
    onError: err => onError(err, 'an idle database connection broke'),
  })
  // Before anything is claimed: the database may be an older copy.
  const watch = new DatabaseWatch({
    pool,
    clock: directory.clock,
    log,
    memoryFile,
    isEmbedded: existsSync(join(config.dataFolder, 'postgres', 'postmaster.pid')),
    archives: config.checkpoints.exports.flatMap(target => (target.kind === 'file' ? [target.path] : [])),
  })
  await watch.look()
  const running = startLanes({
    pool,
    leases,
    clock: directory.clock,
    wakes,
    recorder,
    openMonths: months.current,
    lanes,
    timing,
    onError,
    onFailed,
  })
  const listener = listenDue(servers, { queues: wakes, webhooks: deliverer })
  const evidence = await openEvidenceLog({
    config,
    keys,
    pool,
    clock: directory.clock,
    log,
    sendMail: opened.map(({ delivery }) => delivery.sendMail?.bind(delivery)).find(send => send !== undefined) ?? null,
  })
  const requireDisk = openDiskGuard(config, log)
  const upkeep = startUpkeep(pool, directory.clock, log, [
    ...(simulator === null ? [] : [{ name: 'simulator route', everyMs: 5 * SECOND_MS, run: () => simulator.renew() }]),
    { name: 'database copy check', everyMs: timing.pollMs, run: () => watch.look() },
    { name: 'open months', everyMs: MINUTE_MS, run: months.refresh },
    { name: 'early reports', everyMs: timing.pollMs, run: () => takeEarlyReports(events, timing) },
    { name: 'incomplete replies', everyMs: MINUTE_MS, oneNode: true, run: () => takeIncompleteReplies(events) },
    ...opened.flatMap(({ delivery }) => delivery.chores ?? []),
    ...webhookChores(config, pool),
    { name: 'report of this worker', everyMs: 5 * SECOND_MS, run: reports.report },
    ...(await bulkChores(
      {
        config,
        keys,
        pool,
        clock: directory.clock,
        previews,
        requireDisk,
        trace: tracing?.accepted,
        onError,
        warn: context.warn,
      },
      timing.pollMs,
    )),
    ...evidence.chores,
  ])
  return {
    async close() {
      // First nothing new is claimed, then the attempts under way end, then the parts close that the attempts needed.
      await running.stop()
      await deliverer.stop()
      const closing = [...opened.map(({ delivery }) => delivery), ...previews.values()]
      await Promise.all([
        listener.close(),
        upkeep.stop(),
        templates.close(),
        packer.close(),
        ...closing.map(part => part.close?.()),
      ])
      const isWhole = await evidence.finish().catch(error => {
        onError(error, 'the end of the log of events')
        return false
      })
      await watch.close(isWhole).catch(error => onError(error, 'the database copy check'))
      await reports.end().catch(err => onError(err, 'the last report of this worker'))
      await Promise.all([leases.end(), evidence.close(), tracing?.close()])
      directory.close()
      endSignsOfLife()
    },
  }
}

/**
 * Writes a file for a probe, which ends a process that hangs. The database may be away meanwhile, or a start hold what an older copy had to
 * send: to start again would not help. Returns what ends it.
 */
function giveSignsOfLife({ workerAliveFile: file }: Config, onError: (error: unknown) => void): () => void {
  if (file === null) return () => {}
  const write = (): void => void writeFile(file, '').catch(onError)
  write()
  const timer = setInterval(write, 10 * SECOND_MS).unref()
  return () => clearInterval(timer)
}
