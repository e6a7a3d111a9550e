import type { FastifyInstance } from 'fastify'
import { Histogram, Registry } from 'prom-client'
import { isSameSecret } from '../../domain/access/secret.js'
import type { Channel } from '../../domain/channel.js'
import { Refusal } from '../../domain/errors.js'
import { addCarrierMetrics } from './carrier-metrics.js'
import { addEvidenceMetrics, type EvidenceMetricsOptions } from './evidence-metrics.js'
import { addProcessMetrics, type ProcessMetricsOptions } from './process-metrics.js'
import { addQueueMetrics } from './queue-metrics.js'

export interface MetricsOptions extends ProcessMetricsOptions, EvidenceMetricsOptions {
  /** Who reads them must show it as a Bearer token; null: there is no such route. */
  token: string | null
  channels: readonly Channel[]
}

/**
 * The metrics for Prometheus at /metrics: of this process, and of the whole installation (queues, carriers, workers), which every node
 * shows alike.
 */
export function addMetrics(app: FastifyInstance, { token, channels, ...options }: MetricsOptions): void {
  const { pool, version } = options
  const registry = new Registry()
  addRequestMetric(app, registry)
  // First: the metrics are read in this order, and the queries of the others wait for a connection for a moment themselves.
  addProcessMetrics(registry, options)
  addCarrierMetrics(registry, pool, version)
  addQueueMetrics(registry, pool, channels)
  addEvidenceMetrics(registry, options)
  if (token === null) return
  app.get('/metrics', async (request, reply) => {
    if (!isSameSecret(request.headers.authorization ?? '', `Bearer ${token}`)) throw new Refusal('unauthorized')
    return reply.type(registry.contentType).send(await registry.metrics())
  })
}

function addRequestMetric(app: FastifyInstance, registry: Registry): void {
  const requests = new Histogram({
    name: 'carteiro_http_request_seconds',
    help: 'Time to answer, by route and status.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  })
  app.addHook('onResponse', (request, reply, done) => {
    requests.observe(
      { method: request.method, route: request.routeOptions.url ?? 'unknown', status: reply.statusCode },
      reply.elapsedTime / 1000,
    )
    done()
  })
}
