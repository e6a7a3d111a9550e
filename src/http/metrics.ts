import type { FastifyInstance } from 'fastify'
import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Accept } from '../engine/accept.js'
import type { Pool } from '../store/postgres.js'
import type { WebhookDepth } from '../store/webhook-endpoints.js'

/** What Prometheus reads at /metrics. */
export interface MetricSources {
  groups: Accept['groups']
  pool: Pool
  readWebhookDepth(): Promise<WebhookDepth>
}

export function addMetrics(app: FastifyInstance, { groups, pool, readWebhookDepth }: MetricSources): void {
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
  const webhooks: [string, string, keyof WebhookDepth][] = [
    ['carteiro_webhooks_queued', 'Webhook messages that wait at endpoints that are on.', 'queued'],
    ['carteiro_webhooks_oldest_seconds', 'How long the oldest of them waits.', 'oldestSeconds'],
    ['carteiro_webhooks_suspended', 'Endpoints switched off by failures or by 410.', 'suspended'],
  ]
  const depths = webhooks.map(([name, help, member]) => [new Gauge({ name, help, registers: [registry] }), member] as const)
  app.addHook('onResponse', (request, reply, done) => {
    requests.observe(
      { method: request.method, route: request.routeOptions.url ?? 'unknown', status: reply.statusCode },
      reply.elapsedTime / 1000,
    )
    done()
  })
  app.get('/metrics', async (_request, reply) => {
    // Without the database the process's own figures are still worth reading; old figures would not be.
    const depth = await readWebhookDepth().catch(() => null)
    for (const [gauge, member] of depths) gauge.set(depth?.[member] ?? Number.NaN)
    return reply.type(registry.contentType).send(await registry.metrics())
  })
}
