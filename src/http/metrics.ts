import type { FastifyInstance } from 'fastify'
import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Accept } from '../engine/accept/accept.js'
import { findStandingStill } from '../engine/upkeep/alarm.js'
import type { QueueDepth } from '../store/delivery/queue.js'
import type { Pool } from '../store/postgres.js'
import type { WebhookDepth } from '../store/webhook/endpoints.js'

/** What Prometheus reads at /metrics. */
export interface MetricSources {
  groups: Accept['groups']
  pool: Pool
  readQueue(): Promise<QueueDepth[]>
  readWebhookDepth(): Promise<WebhookDepth>
  countUnaccounted(): Promise<number>
}

/** Whoever may read the metrics may read them often: the database is asked at most this often. */
const ASK_EVERY_MS = 5_000
/** It walks two days of notifications. */
const RECOUNT_EVERY_MS = 15 * 60_000

export function addMetrics(app: FastifyInstance, sources: MetricSources): void {
  const { groups, pool, readQueue, readWebhookDepth, countUnaccounted } = sources
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const requests = new Histogram({
    name: 'carteiro_http_request_seconds',
    help: 'Time to answer, by route and status.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  })
  const gauges: [string, string, () => number][] = [
    ['carteiro_accept_waiting', 'Accepted requests that wait for the next group.', () => groups.waiting],
    ['carteiro_accept_groups_total', 'Groups committed.', () => groups.groups],
    ['carteiro_accepted_total', 'Notifications committed.', () => groups.items],
    ['carteiro_database_connections', 'Open database connections.', () => pool.totalCount],
    ['carteiro_database_waiting', 'Queries that wait for a connection.', () => pool.waitingCount],
  ]
  for (const [name, help, read] of gauges) {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read())
      },
    })
  }
  addQueueMetrics(registry, atMostEvery(ASK_EVERY_MS, readQueue))
  addWebhookMetrics(registry, atMostEvery(ASK_EVERY_MS, readWebhookDepth))
  const unaccounted = inBackground(RECOUNT_EVERY_MS, countUnaccounted)
  new Gauge({
    name: 'carteiro_notifications_unaccounted',
    help: 'Alarm: notifications of the last two days that lack a delivery, or have one that is over without a word of how.',
    registers: [registry],
    collect() {
      this.set(unaccounted() ?? Number.NaN)
    },
  })
  app.addHook('onResponse', (request, reply, done) => {
    requests.observe(
      { method: request.method, route: request.routeOptions.url ?? 'unknown', status: reply.statusCode },
      reply.elapsedTime / 1000,
    )
    done()
  })
  app.get('/metrics', async (_request, reply) => reply.type(registry.contentType).send(await registry.metrics()))
}

/** Without the database the process's own figures are still worth reading: null then, and old figures are not shown. */
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

/** For what takes longer than whoever reads the metrics would wait: what was last counted, null before and after a failure. */
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

function addWebhookMetrics(registry: Registry, read: () => Promise<WebhookDepth | null>): void {
  const gauges: [string, string, keyof WebhookDepth][] = [
    ['carteiro_webhooks_queued', 'Webhook messages that wait at endpoints that are on.', 'queued'],
    ['carteiro_webhooks_oldest_seconds', 'How long the oldest of them waits.', 'oldestSeconds'],
    ['carteiro_webhooks_suspended', 'Endpoints switched off by failures or by 410.', 'suspended'],
  ]
  for (const [name, help, member] of gauges) {
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        this.set((await read())?.[member] ?? Number.NaN)
      },
    })
  }
}

/** What is on its way in the whole installation, whichever node is asked. */
function addQueueMetrics(registry: Registry, read: () => Promise<QueueDepth[] | null>): void {
  const gauge = (
    name: string,
    help: string,
    pick: (all: QueueDepth[]) => QueueDepth[],
    value: (depth: QueueDepth) => number,
  ): void => {
    new Gauge({
      name,
      help,
      labelNames: ['channel', 'state'],
      registers: [registry],
      async collect() {
        this.reset()
        for (const depth of pick((await read()) ?? [])) this.set({ channel: depth.channel, state: depth.state }, value(depth))
      },
    })
  }
  const all = (depths: QueueDepth[]): QueueDepth[] => depths
  gauge('carteiro_deliveries', 'Deliveries that are not finished.', all, depth => depth.count)
  gauge('carteiro_deliveries_oldest_seconds', 'Since when the oldest of them has been due.', all, depth => depth.oldestSeconds)
  gauge(
    'carteiro_deliveries_standing_still',
    'Alarm: deliveries that should move and do not.',
    findStandingStill,
    depth => depth.count,
  )
}
