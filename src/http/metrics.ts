import type { FastifyInstance } from 'fastify'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Channel } from '../domain/channel.js'
import { Refusal } from '../domain/errors.js'
import { isSameSecret } from '../domain/secret.js'
import type { Accept } from '../engine/accept/accept.js'
import { findOverdue } from '../engine/upkeep/alarm.js'
import { listHolds, scopeOfHold } from '../store/delivery/holds.js'
import { type QueueDepth, readOldestTried, readQueueDepth } from '../store/delivery/queue-depth.js'
import { listTargets } from '../store/evidence/checkpoint-targets.js'
import { readLogLag } from '../store/evidence/log-head.js'
import { countUnaccounted } from '../store/notification/unaccounted.js'
import type { Pool } from '../store/postgres.js'
import { readWebhookDepth, type WebhookDepth } from '../store/webhook/endpoints.js'
import { addCarrierMetrics } from './carrier-metrics.js'
import { atMostEvery, inBackground } from './metrics-reads.js'

/** The count reads two days of notifications. */
const RECOUNT_EVERY_MS = 15 * 60_000

export interface MetricsOptions {
  pool: Pool
  groups: Accept['groups']
  /** Who reads them must show it as a Bearer token; null: there is no such route. */
  token: string | null
  channels: readonly Channel[]
  version: string
  /** The disk of the data folder: what is free (null: there is no such folder), and with how little nothing is accepted. */
  disk: { readFree(): Promise<number | null>; minFreeBytes: number }
}

/**
 * The metrics for Prometheus at /metrics: of this process, and of the whole installation (queues, carriers, workers), which every node
 * shows alike.
 */
export function addMetrics(app: FastifyInstance, { pool, groups, token, channels, version, disk }: MetricsOptions): void {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  const requests = new Histogram({
    name: 'carteiro_http_request_seconds',
    help: 'Time to answer, by route and status.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  })
  const addGauge = (name: string, help: string, read: () => number | null | undefined | Promise<number | null | undefined>) =>
    new Gauge({
      name: `carteiro_${name}`,
      help,
      registers,
      async collect() {
        this.set((await read()) ?? Number.NaN)
      },
    })
  addGauge('accept_waiting', 'Accepted requests that wait for the next group.', () => groups.waiting)
  const addCounter = (name: string, help: string, read: () => number) =>
    new Counter({
      name: `carteiro_${name}`,
      help,
      registers,
      collect() {
        this.reset()
        this.inc(read())
      },
    })
  addCounter('accept_groups_total', 'Groups committed.', () => groups.groups)
  addCounter('accepted_total', 'Notifications committed.', () => groups.items)
  new Gauge({
    name: 'carteiro_build_info',
    help: 'Always 1: its labels tell what runs.',
    labelNames: ['version', 'node'],
    registers,
  }).set({ version, node: process.version }, 1)
  addGauge('disk_free_bytes', 'Free space where the data folder is.', () => disk.readFree().catch(() => null))
  addGauge(
    'disk_min_free_bytes',
    'With less free space nothing is accepted; 0: the disk is not watched.',
    () => disk.minFreeBytes,
  )
  addCarrierMetrics(registry, pool, version)
  addGauge('database_connections', 'Open database connections.', () => pool.totalCount)
  addGauge('database_waiting', 'Queries that wait for a connection.', () => pool.waitingCount)

  const webhooks = atMostEvery(() => readWebhookDepth(pool))
  const addWebhookGauge = (name: string, help: string, member: keyof WebhookDepth) =>
    addGauge(`webhooks_${name}`, help, async () => (await webhooks())?.[member])
  addWebhookGauge('queued', 'Webhook messages that wait at endpoints that are on.', 'queued')
  addWebhookGauge('oldest_seconds', 'How long the oldest of them waits.', 'oldestSeconds')
  addWebhookGauge('suspended', 'Endpoints switched off by failures or by 410.', 'suspended')

  const log = atMostEvery(() => readLogLag(pool))
  addGauge('log_size', 'Events in the log.', async () => (await log())?.size)
  addGauge(
    'log_lag_seconds',
    'Since when the oldest event that is not in the log has waited.',
    async () => (await log())?.lagSeconds,
  )
  addGauge('checkpoint_age_seconds', 'Age of the newest checkpoint.', async () => (await log())?.checkpointSeconds)
  const targets = atMostEvery(() => listTargets(pool))
  new Gauge({
    name: 'carteiro_checkpoint_failures',
    help: 'Failures in a row of bringing checkpoints to a target: an archive, a witness, a time-stamp authority.',
    labelNames: ['target'],
    registers,
    async collect() {
      this.reset()
      for (const { target, failures } of (await targets()) ?? []) this.set({ target }, failures)
    },
  })

  addGauge(
    'notifications_unaccounted',
    'Alarm: notifications of the last two days that lack a delivery, or have one that is over without a word of how.',
    inBackground(RECOUNT_EVERY_MS, () => countUnaccounted(pool)),
  )

  const holds = atMostEvery(() => listHolds(pool))
  new Gauge({
    name: 'carteiro_hold_seconds',
    help: 'How long people have held sending back, by what is held: the installation, or a channel, a carrier or an account. A label that is empty means any.',
    labelNames: ['scope', 'channel', 'carrier', 'account'],
    registers,
    async collect() {
      this.reset()
      for (const hold of (await holds()) ?? []) {
        const { channel, carrier, accountName, since } = hold
        const labels = { channel: channel ?? '', carrier: carrier ?? '', account: accountName ?? '' }
        this.set({ scope: scopeOfHold(hold), ...labels }, (Date.now() - since.getTime()) / 1_000)
      }
    },
  })

  const queue = atMostEvery(() => readQueueDepth(pool, channels))
  const addQueueGauge = (
    name: string,
    help: string,
    member: 'count' | 'oldestSeconds',
    pick = (depths: QueueDepth[]) => depths,
  ) =>
    new Gauge({
      name: `carteiro_${name}`,
      help,
      labelNames: ['channel', 'mode', 'state'],
      registers,
      async collect() {
        this.reset()
        for (const depth of pick((await queue()) ?? [])) {
          this.set({ channel: depth.channel, mode: depth.mode, state: depth.state }, depth[member])
        }
      },
    })
  addQueueGauge('deliveries', 'Deliveries that are not finished.', 'count')
  addQueueGauge('deliveries_oldest_seconds', 'Since when the oldest of them has been due.', 'oldestSeconds')
  addQueueGauge('deliveries_standing_still', 'Alarm: deliveries that should move and do not.', 'count', findOverdue)

  const tried = atMostEvery(() => readOldestTried(pool, channels))
  new Gauge({
    name: 'carteiro_deliveries_age_seconds',
    help: 'Since when the oldest delivery that is due or was tried, and is not finished, has been accepted. Retries do not reset it.',
    labelNames: ['channel', 'mode'],
    registers,
    async collect() {
      this.reset()
      const [depths, ages] = [await queue(), await tried()]
      if (depths === null || ages === null) return
      const found = new Map(channels.flatMap(channel => (['live', 'test'] as const).map(mode => [`${channel} ${mode}`, 0])))
      const fresh = depths
        .filter(({ state }) => state === 'queued' || state === 'sending')
        .map(({ channel, mode, oldestSeconds }) => ({ channel, mode, seconds: oldestSeconds }))
      for (const { channel, mode, seconds } of [...fresh, ...ages]) {
        const key = `${channel} ${mode}`
        found.set(key, Math.max(found.get(key) ?? 0, seconds))
      }
      for (const [key, seconds] of found) {
        const [channel, mode] = key.split(' ') as [string, string]
        this.set({ channel, mode }, seconds)
      }
    },
  })

  app.addHook('onResponse', (request, reply, done) => {
    requests.observe(
      { method: request.method, route: request.routeOptions.url ?? 'unknown', status: reply.statusCode },
      reply.elapsedTime / 1000,
    )
    done()
  })
  if (token === null) return
  app.get('/metrics', async (request, reply) => {
    if (!isSameSecret(request.headers.authorization ?? '', `Bearer ${token}`)) throw new Refusal('unauthorized')
    return reply.type(registry.contentType).send(await registry.metrics())
  })
}
