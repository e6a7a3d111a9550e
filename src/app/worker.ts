import { wireEmail } from '../channels/email/delivery.js'
import { openKeyring } from '../channels/email/dkim/open-keyring.js'
import { createSigner } from '../channels/email/dkim/signer.js'
import { createComposer } from '../channels/email/message/composer.js'
import { openInbound } from '../channels/email/reports/inbound.js'
import { readReport } from '../channels/email/reports/reports.js'
import { createReturns } from '../channels/email/reports/returns.js'
import { type MailResolver, systemResolver } from '../channels/email/resolver.js'
import type { Verp } from '../channels/email/verp.js'
import { wireLetter } from '../channels/letter/delivery.js'
import { wireSms } from '../channels/sms/delivery.js'
import { askOpenCalls } from '../channels/voice/call-lookups.js'
import { wireCallLookups, wireRecordings, wireVoice } from '../channels/voice/delivery.js'
import { endRecordings, fetchRecordings } from '../channels/voice/recordings.js'
import { wireWhatsapp } from '../channels/whatsapp/delivery.js'
import { OperatorError } from '../domain/errors.js'
import type { Keys } from '../domain/keys.js'
import { isLoopbackHost } from '../domain/target-address.js'
import type { LaneOptions } from '../engine/deliver/lane-options.js'
import { createRecorder, LEASE_MS, startLanes } from '../engine/deliver/worker.js'
import { createShortLinks } from '../engine/recipient/short-links.js'
import {
  type CarrierEventParts,
  takeCarrierEvents,
  takeEarlyReports,
  takeIncompleteReplies,
} from '../engine/record/carrier-events.js'
import { findStandingStill } from '../engine/upkeep/alarm.js'
import { type Chore, runChores } from '../engine/upkeep/chores.js'
import { Wake } from '../runtime/wake.js'
import { deleteUnusedBlobs } from '../store/blobs.js'
import { deleteStaleReferences } from '../store/carrier-references.js'
import { listenDue } from '../store/due-signal.js'
import { deleteStaleReports } from '../store/early-reports.js'
import { countNotes } from '../store/event-log.js'
import { deleteExpiredKeys } from '../store/idempotency.js'
import { ensureMonths } from '../store/migrate.js'
import type { Pool } from '../store/postgres.js'
import { readQueue } from '../store/queue.js'
import { deleteStaleWindows } from '../store/rate-windows.js'
import { deleteStaleGuesses } from '../store/recipient/guesses.js'
import { deleteLostLinks } from '../store/recipient/links.js'
import { deleteLostCounts } from '../store/recipient/visit-counts.js'
import { suppress } from '../store/suppressions.js'
import { countUnaccounted } from '../store/unaccounted.js'
import { openDirectory, tellUnmatched } from './api.js'
import type { Config } from './config.js'
import { type LaneParts, openLanes } from './lanes.js'
import type { Log } from './log.js'
import { startDeliverer, type WebhookWorkerParts, webhookChores } from './webhooks.js'

/** The worker: lanes to the carriers, the listener for what comes back, and upkeep. */
export interface WorkerParts {
  config: Config
  keys: Keys
  pool: Pool
  /** For the connection that listens. */
  databaseUrl: string
  log: Log
  leaseMs?: number
  trace?: LaneOptions<unknown>['trace']
  /** Instead of the system's name servers. */
  resolver?: MailResolver
  webhooks?: Pick<WebhookWorkerParts, 'pace' | 'trace'>
  /** How old the DKIM keys may be that are signed with. */
  dkimRefreshMs?: number
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const SIMULATOR_PATIENCE_MS = 10 * SECOND
/** Some servers return the whole original. */
const MAX_RETURN_BYTES = 40 * 1_048_576

export async function startWorker(options: WorkerParts): Promise<{ close(): Promise<void> }> {
  const { config, keys, pool, databaseUrl, log, leaseMs = LEASE_MS, trace, resolver = systemResolver(), webhooks } = options
  const { dkimRefreshMs = 30 * SECOND } = options
  const directory = await openDirectory(pool)
  const wake = new Wake()
  const onError = (err: unknown, what: string): void => log.warn({ err }, `worker: ${what}`)
  const deliverer = startDeliverer({ config, keys, pool, clock: directory.clock, log, leaseMs, onError, ...webhooks })
  const recorder = createRecorder(pool, directory.clock, wake, deliverer)
  const verp: Verp = { domain: config.email.bounceDomain, key: keys.bounce }
  const keyring = await openKeyring({ config, keys, pool, onError })
  const signer = createSigner({ find: domain => keyring.find(domain) })
  const composer = createComposer()
  const takeReturn = createReturns({
    clock: directory.clock,
    record: recorder.record,
    suppress: (notification, reason) => suppress(pool, { notification, channel: 'email', reason }),
    countNotes: (notification, source) => countNotes(pool, notification, source),
    onLastNote: (notification, kind) => log.warn({ notification, kind }, 'no more of what comes back for this e-mail is kept'),
  })
  const inbound = await openInbound({
    ...config.email.inbound,
    maxBytes: MAX_RETURN_BYTES,
    verp,
    onMessage: async (recipients, raw) => {
      const report = await readReport(raw, composer.toText)
      for (const { notification } of recipients) await takeReturn(notification, report)
    },
  })
  const register = (url: string): Promise<void> =>
    registerReturns(url, {
      bounces: `smtp://${isHere(url) ? '127.0.0.1' : new URL(config.publicUrl).hostname}:${inbound.port}`,
      site: config.publicUrl,
      callbacks: `${callbackBase(config, url)}/callbacks/simulator`,
      secret: keys.simulator.toString('hex'),
    })
  const simulatorUrl = await findSimulator(config, register, log)
  const events: CarrierEventParts = { pool, clock: directory.clock, recorder, onUnmatched: tellUnmatched(log) }
  const parts: LaneParts = {
    pool,
    clock: directory.clock,
    recorder,
    simulatorUrl,
    hasCarriers: config.hasCarriers,
    leaseMs,
    trace,
    takeCarrierEvents: (source, items) => takeCarrierEvents(source, items, events),
    onError,
  }
  const onUnreadable = (err: unknown): void => log.warn({ err }, 'an SMS carrier said something that cannot be read')
  const shortLink = createShortLinks(pool, keys.link)
  const letters = wireLetter({ config, keys, pool, onError })
  const opened = {
    EMAIL_URL: await openLanes(wireEmail({ config, keys, pool, verp, signer, composer, resolver }), parts),
    SMS_URL: await openLanes(wireSms({ config, shortLink, onUnreadable }), parts),
    WHATSAPP_URL: await openLanes(wireWhatsapp({ config, pool, shortLink }), parts),
    VOICE_URL: await openLanes(wireVoice({ config, pool }), parts),
    LETTER_URL: await openLanes(letters.wiring, parts),
  }
  for (const [setting, lanes] of Object.entries(opened)) {
    if (!lanes.flat().some(lane => lane.mode === 'live'))
      log.warn({ setting }, 'a channel has no carrier: what is sent by it waits in the queue until one is set')
  }
  const lanes = Object.values(opened).flat()
  const tracking = await letters.chores({ recorder, clock: directory.clock, simulatorUrl })
  const recorders = await wireRecordings(config, simulatorUrl)
  const callCarriers = await wireCallLookups(config, pool, simulatorUrl)
  const running = startLanes({ pool, clock: directory.clock, wake, recorder, lanes, leaseMs, onError })
  const listener = listenDue(databaseUrl, () => {
    wake.notify()
    deliverer.notify()
  })
  const upkeep = startUpkeep(pool, log, [
    // A simulator that was started again has forgotten us.
    ...(simulatorUrl === null ? [] : [{ name: 'simulator route', everyMs: 5 * SECOND, run: () => register(simulatorUrl) }]),
    { name: 'early reports', everyMs: SECOND, run: () => takeEarlyReports(events) },
    { name: 'torn answers', everyMs: MINUTE, run: () => takeIncompleteReplies(events) },
    { name: 'recordings of calls', everyMs: SECOND, run: () => fetchRecordings(recorders, events) },
    { name: 'DKIM keys', everyMs: dkimRefreshMs, run: () => keyring.refresh() },
    ...recordingTerm(config, pool),
    { name: 'ends of calls', everyMs: 5 * SECOND, run: () => askOpenCalls(callCarriers, events) },
    ...webhookChores(config, pool),
    ...tracking,
  ])
  return {
    async close() {
      // First nothing new, then what is under way, then those whom it needed.
      await running.stop()
      await inbound.close()
      await deliverer.stop()
      await Promise.all([listener.close(), upkeep.stop(), signer.close(), composer.close(), letters.close()])
      directory.close()
    },
  }
}

/** Where carriers are real, live messages must not wait for a simulator that is away. */
async function findSimulator(
  { simulator, simulatorUrl, hasCarriers }: Config,
  register: (url: string) => Promise<void>,
  log: Log,
): Promise<string | null> {
  if (!simulator || simulatorUrl === null) return null
  try {
    await register(simulatorUrl)
    return simulatorUrl
  } catch (err) {
    if (!hasCarriers) throw err
    log.error(
      { err, simulatorUrl },
      'the simulator does not answer: messages of test tokens wait until this worker is started again',
    )
    return null
  }
}

const isHere = (url: string): boolean => isLoopbackHost(new URL(url).hostname)

/** A simulator on this machine calls nobody beyond it: where the public address lies elsewhere, our own port stands in. */
function callbackBase({ publicUrl, port }: Config, simulatorUrl: string): string {
  return isHere(publicUrl) || !isHere(simulatorUrl) ? publicUrl : `http://127.0.0.1:${port}`
}

/** Tells the simulator where its reports go, and whose pages its people may open. */
async function registerReturns(
  simulatorUrl: string,
  routes: { bounces: string; site: string; callbacks: string; secret: string },
): Promise<void> {
  const response = await fetch(`${simulatorUrl}/simulator/routes`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(routes),
    signal: AbortSignal.timeout(SIMULATOR_PATIENCE_MS),
  })
  if (!response.ok)
    throw new OperatorError(`O simulador em ${simulatorUrl} não aceitou o endereço de retorno (${response.status}).`)
}

const recordingTerm = ({ voice: { recordingDays: days } }: Config, pool: Pool): Chore[] =>
  days === null ? [] : [{ name: 'recordings whose term is over', everyMs: HOUR, run: () => endRecordings(pool, days) }]

function startUpkeep(pool: Pool, log: Log, more: readonly Chore[]): { stop(): Promise<void> } {
  const chores: Chore[] = [
    { name: 'partitions', everyMs: 6 * HOUR, run: () => ensureMonths(pool) },
    { name: 'idempotency keys', everyMs: HOUR, run: () => deleteExpiredKeys(pool) },
    { name: 'rate windows', everyMs: HOUR, run: () => deleteStaleWindows(pool) },
    { name: 'carriers’ references', everyMs: HOUR, run: () => deleteStaleReferences(pool) },
    { name: 'reports of what is not ours', everyMs: HOUR, run: () => deleteStaleReports(pool) },
    { name: 'guesses at links', everyMs: HOUR, run: () => deleteStaleGuesses(pool) },
    { name: 'unused attachments', everyMs: 6 * HOUR, run: signal => deleteUnusedBlobs(pool, signal) },
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

/** What was accepted must be finished, or on its way: anything that stands still, or that left no trace, is told aloud. */
async function alarmOverdue(pool: Pool, log: Log): Promise<void> {
  for (const depth of findStandingStill(await readQueue(pool))) log.error(depth, 'deliveries stand still')
}

async function alarmUnaccounted(pool: Pool, log: Log): Promise<void> {
  const count = await countUnaccounted(pool)
  if (count > 0) log.error({ count }, 'notifications whose deliveries do not add up')
}
