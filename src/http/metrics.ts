import type { FastifyInstance } from 'fastify'
import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { Refusal } from '../domain/errors.js'
import { isSameSecret } from '../domain/secret.js'
import type { Accept } from '../engine/accept/accept.js'
import { findOverdue } from '../engine/upkeep/alarm.js'
import { type QueueDepth, readQueue } from '../store/delivery/queue.js'
import { countUnaccounted } from '../store/notification/unaccounted.js'
import type { Pool } from '../store/postgres.js'
import { readWebhookDepth, type WebhookDepth } from '../store/webhook/endpoints.js'

/** However often the metrics are read, the database is queried at most this often. */
const ASK_EVERY_MS = 5_000
/** The count reads two days of notifications. */
const RECOUNT_EVERY_MS = 15 * 60_000

export interface MetricsOptions {
  pool: Pool
  groups: Accept['groups']
  /** Who reads them must show it as a Bearer token; null: there is no such route. */
  token: string | null
}

/** The metrics for Prometheus at /metrics. The queues are those of the whole installation, on every node. */
export function addMetrics(app: FastifyInstance, { pool, groups, token }: MetricsOptions): void {
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
  addGauge('accept_groups_total', 'Groups committed.', () => groups.groups)
  addGauge('accepted_total', 'Notifications committed.', () => groups.items)
  addGauge('database_connections', 'Open database connections.', () => pool.totalCount)
  addGauge('database_waiting', 'Queries that wait for a connection.', () => pool.waitingCount)

  const webhooks = atMostEvery(ASK_EVERY_MS, () => readWebhookDepth(pool))
  const addWebhookGauge = (name: string, help: string, member: keyof WebhookDepth) =>
    addGauge(`webhooks_${name}`, help, async () => (await webhooks())?.[member])
  addWebhookGauge('queued', 'Webhook messages that wait at endpoints that are on.', 'queued')
  addWebhookGauge('oldest_seconds', 'How long the oldest of them waits.', 'oldestSeconds')
  addWebhookGauge('suspended', 'Endpoints switched off by failures or by 410.', 'suspended')

  addGauge(
    'notifications_unaccounted',
    'Alarm: notifications of the last two days that lack a delivery, or have one that is over without a word of how.',
    inBackground(RECOUNT_EVERY_MS, () => countUnaccounted(pool)),
  )

  const queue = atMostEvery(ASK_EVERY_MS, () => readQueue(pool))
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

/** null while the database is unavailable: the figures of the process are shown then, and no old figures. */
function atMostEvery<T>(ms: number, read: () => Promise<T>): () => Promise<T | null> {
  let asked = Number.NEGATIVE_INFINITY
  let answer: Promise<T | null> = Promise.resolve(null)
  return () => {
    if (performance.now() - asked > ms) {
      asked = performance.now()
      answer = read().catch(() => null)
    }
    return answer
  }
}

/** For a read that takes longer than a reader of the metrics waits: the latest value, null before the first and after a failure. */
function inBackground<T>(ms: number, read: () => Promise<T>): () => T | null {
  let asked = Number.NEGATIVE_INFINITY
  let latest: T | null = null
  return () => {
    if (performance.now() - asked > ms) {
      asked = performance.now()
      read().then(
        value => {
          latest = value
        },
        () => {
          latest = null
          asked = Number.NEGATIVE_INFINITY
        },
      )
    }
    return latest
  }
}
