import { readFileSync } from 'node:fs'
import { createSigner, type Signer } from './channels/email/dkim.js'
import { openInbound } from './channels/email/inbound.js'
import { mxProvider } from './channels/email/mx.js'
import { readReport } from './channels/email/reports.js'
import { type MailResolver, simulatedResolver, systemResolver } from './channels/email/resolver.js'
import { smtpProvider } from './channels/email/smtp.js'
import { textFromHtml } from './channels/email/text.js'
import { validateRecipient } from './channels/email/validation.js'
import { type Verp, verpAddress } from './channels/email/verp.js'
import type { EmailMessage, Provider } from './channels/provider.js'
import { openDirectory } from './compose.js'
import { startDeliverer, type WebhookWorkerParts, webhookChores } from './compose-webhooks.js'
import type { Config } from './config.js'
import { OperatorError } from './domain/errors.js'
import type { Keys } from './domain/keys.js'
import type { Mode } from './domain/token.js'
import type { Directory } from './engine/directory.js'
import { createEmailPreparation } from './engine/email.js'
import { Lane, type LaneOptions } from './engine/lane.js'
import { takeReturn } from './engine/returns.js'
import { type Chore, runChores } from './engine/upkeep.js'
import { Wake } from './engine/wake.js'
import { createRecorder, LEASE_MS, type Recorder, startLanes } from './engine/worker.js'
import type { Log } from './log.js'
import { deleteUnusedBlobs, readBlobs } from './store/blobs.js'
import { claimDeliveries, readQueue } from './store/claims.js'
import { listenDue } from './store/due-signal.js'
import { deleteExpiredKeys } from './store/idempotency.js'
import { ensureMonths } from './store/migrate.js'
import type { Pool } from './store/postgres.js'
import { deleteStaleWindows } from './store/rate-windows.js'
import { suppress } from './store/suppressions.js'

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
  webhooks?: Pick<WebhookWorkerParts, 'pace' | 'trace'>
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
/** A day of tries: most troubles end within minutes, some within hours. */
const RETRY_DELAYS_MS = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, ...Array<number>(22).fill(HOUR)]
/** The simulated world runs faster. */
const SIMULATED_RETRY_DELAYS_MS = [200, 500, SECOND, 2 * SECOND, 5 * SECOND, ...Array<number>(20).fill(10 * SECOND)]
/** Twice the connections: the next message is ready when a connection is. */
const EMAILS_AT_ONCE = 40
const CONNECTIONS = 20
/** Some servers return the whole original. */
const MAX_RETURN_BYTES = 40 * 1_048_576
/** What waits longer than this although it could go is worth waking somebody. */
const OVERDUE_SECONDS = 15 * 60

export async function startWorker(options: WorkerParts): Promise<{ close(): Promise<void> }> {
  const { config, keys, pool, databaseUrl, log, leaseMs = LEASE_MS, trace, webhooks } = options
  const directory = await openDirectory(pool)
  const wake = new Wake()
  const onError = (err: unknown, what: string): void => log.warn({ err }, `worker: ${what}`)
  const deliverer = startDeliverer({ config, keys, pool, clock: directory.clock, log, leaseMs, onError, ...webhooks })
  const recorder = createRecorder(pool, directory.clock, wake, deliverer)
  const verp: Verp = { domain: config.email.bounceDomain, key: keys.bounce }
  const signer = openSigner(config)
  const inbound = await openInbound({
    ...config.email.inbound,
    maxBytes: MAX_RETURN_BYTES,
    verp,
    onMessage: async (recipients, raw) => {
      const report = await readReport(raw)
      const suppressed = (notification: string, reason: 'hard bounce' | 'complaint') =>
        suppress(pool, { notification, channel: 'email', reason })
      for (const { notification } of recipients) {
        await takeReturn(notification, report, { clock: directory.clock, record: recorder.record, suppress: suppressed })
      }
    },
  })
  const simulatorUrl = config.simulator ? config.simulatorUrl : null
  const register = (): Promise<void> =>
    simulatorUrl === null
      ? Promise.resolve()
      : registerReturns(simulatorUrl, `smtp://127.0.0.1:${inbound.port}`, config.publicUrl)
  await register()
  const lanes = await openEmailLanes({
    config,
    keys,
    pool,
    recorder,
    directory,
    verp,
    signer,
    simulatorUrl,
    leaseMs,
    trace,
    onError,
  })
  if (lanes.length === 0) log.warn('no e-mail carrier: set EMAIL_URL, or SIMULATOR_URL for a simulator that runs elsewhere')
  const running = startLanes({ pool, clock: directory.clock, wake, recorder, lanes, leaseMs, onError })
  const listener = listenDue(databaseUrl, () => {
    wake.notify()
    deliverer.notify()
  })
  const upkeep = startUpkeep(pool, log, register, webhookChores(config, pool))
  return {
    async close() {
      // First nothing new, then what is under way, then those whom it needed.
      await running.stop()
      await inbound.close()
      await deliverer.stop()
      await Promise.all([listener.close(), upkeep.stop(), signer?.close()])
      directory.close()
    },
  }
}

interface LaneParts {
  config: Config
  keys: Keys
  pool: Pool
  recorder: Recorder
  directory: Directory
  verp: Verp
  signer: Signer | null
  simulatorUrl: string | null
  leaseMs: number
  trace: LaneOptions<unknown>['trace']
  onError(error: unknown, what: string): void
}

/** One group of lanes per mode; live mail goes to the simulator only where no carrier is configured. */
async function openEmailLanes(parts: LaneParts): Promise<Lane<unknown>[][]> {
  const { config, simulatorUrl } = parts
  const simulated = simulatorUrl === null ? [] : [new URL(await readCarrier(simulatorUrl, 'email'))]
  const live = config.email.carriers.length > 0 ? config.email.carriers : simulated
  const groups: [Mode, URL[], boolean][] = [
    ['live', live, live === simulated],
    ['test', simulated, true],
  ]
  return Promise.all(
    groups
      .filter(([, urls]) => urls.length > 0)
      .map(([mode, urls, isSimulated]) => Promise.all(urls.map(url => openEmailLane(parts, mode, url, isSimulated)))),
  )
}

async function openEmailLane(parts: LaneParts, mode: Mode, url: URL, simulated: boolean): Promise<Lane<unknown>> {
  const { config, keys, pool, recorder, directory, verp, signer, simulatorUrl, leaseMs, trace, onError } = parts
  const resolver: MailResolver = simulated ? simulatedResolver(simulatorUrl!) : systemResolver()
  const provider: Provider<EmailMessage> = url.protocol === 'mx:' ? mxProvider({ resolver, signer }) : smtpProvider({ signer })
  const lane = new Lane<EmailMessage>({
    provider,
    carrier: await provider.open(withPool(url)),
    mode,
    concurrency: EMAILS_AT_ONCE,
    retryDelaysMs: simulated ? SIMULATED_RETRY_DELAYS_MS : RETRY_DELAYS_MS,
    leaseMs,
    ...(trace === undefined ? {} : { trace }),
    clock: directory.clock,
    claim: question => claimDeliveries(pool, question),
    record: recorder.record,
    prepare: createEmailPreparation({
      publicUrl: config.publicUrl,
      defaultFrom: config.email.from,
      linkKey: keys.link,
      envelopeSender: notification => verpAddress(notification, verp),
      validate: address => validateRecipient(address, { resolver }),
      readBlobs: hashes => readBlobs(pool, hashes),
      toText: textFromHtml,
    }),
    onError,
  })
  return lane as unknown as Lane<unknown>
}

/** Enough connections for the lane, unless the URL says how many the carrier likes. */
function withPool(url: URL): URL {
  const sized = new URL(url)
  if (!sized.searchParams.has('pool')) sized.searchParams.set('pool', String(CONNECTIONS))
  return sized
}

function openSigner({ email }: Config): Signer | null {
  if (email.dkim === null) return null
  const { domain, selector, keyFile } = email.dkim
  let privateKeyPem: string
  try {
    privateKeyPem = readFileSync(keyFile, 'utf8')
  } catch (cause) {
    throw new OperatorError(`Não foi possível ler a chave DKIM em ${keyFile} (DKIM_KEY_FILE).`, { cause })
  }
  return createSigner({ domain, selector, privateKeyPem })
}

async function readCarrier(simulatorUrl: string, channel: string): Promise<string> {
  const response = await fetch(`${simulatorUrl}/simulator/carriers`)
  return ((await response.json()) as Record<string, string>)[channel]!
}

/** Tells the simulator where its reports go, and whose pages its people may open. */
async function registerReturns(simulatorUrl: string, bounces: string, site: string): Promise<void> {
  const response = await fetch(`${simulatorUrl}/simulator/routes`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ bounces, site }),
  })
  if (!response.ok)
    throw new OperatorError(`O simulador em ${simulatorUrl} não aceitou o endereço de retorno (${response.status}).`)
}

function startUpkeep(pool: Pool, log: Log, register: () => Promise<void>, more: Chore[]): { stop(): Promise<void> } {
  const chores: Chore[] = [
    { name: 'partitions', everyMs: 6 * HOUR, run: () => ensureMonths(pool) },
    { name: 'idempotency keys', everyMs: HOUR, run: () => deleteExpiredKeys(pool) },
    { name: 'rate windows', everyMs: HOUR, run: () => deleteStaleWindows(pool) },
    { name: 'unused attachments', everyMs: HOUR, run: () => deleteUnusedBlobs(pool) },
    // A simulator that was started again has forgotten us.
    { name: 'simulator route', everyMs: 5 * SECOND, run: register },
    { name: 'overdue deliveries', everyMs: MINUTE, run: () => alarmOverdue(pool, log) },
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

/** What was accepted must be finished, or on its way: anything that stands still is told aloud. */
async function alarmOverdue(pool: Pool, log: Log): Promise<void> {
  for (const { channel, state, count, oldestSeconds } of await readQueue(pool)) {
    const standing = channel === 'email' && (state === 'queued' || state === 'sending') && oldestSeconds > OVERDUE_SECONDS
    if (standing) log.error({ channel, state, count, oldestSeconds }, 'deliveries stand still')
  }
}
