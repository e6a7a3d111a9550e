import { Gauge, type Registry } from 'prom-client'
import type { Channel } from '../../domain/channel.js'
import { findOverdue } from '../../engine/upkeep/alarm.js'
import { listHolds, scopeOfHold } from '../../store/delivery/holds.js'
import { countGivenUp, type QueueDepth, readOldestLate, readQueueDepth } from '../../store/delivery/queue-depth.js'
import type { Pool } from '../../store/postgres.js'
import { readWebhookDepth, type WebhookDepth } from '../../store/webhook/endpoints.js'
import { addGauge } from './gauge.js'
import { cacheRead } from './reads.js'

/** What waits in the database, and what is held back: the same on every node. */
export function addQueueMetrics(registry: Registry, pool: Pool, channels: readonly Channel[]): void {
  const queue = cacheRead(() => readQueueDepth(pool, channels))
  addWebhookMetrics(registry, pool)
  addHoldMetrics(registry, pool)
  addDepthMetrics(registry, queue)
  addGivenUpMetric(registry, pool, channels)
  addAgeMetric(registry, pool, channels, queue)
}

function addWebhookMetrics(registry: Registry, pool: Pool): void {
  const webhooks = cacheRead(() => readWebhookDepth(pool))
  const addWebhookGauge = (name: string, help: string, member: keyof WebhookDepth) =>
    addGauge(registry, `webhooks_${name}`, help, async () => (await webhooks())?.[member])
  addWebhookGauge('queued', 'Webhook messages that wait at endpoints that are on.', 'queued')
  addWebhookGauge('oldest_seconds', 'How long the oldest of them waits.', 'oldestSeconds')
  addWebhookGauge('suspended', 'Endpoints switched off by failures or by 410.', 'suspended')
}

function addHoldMetrics(registry: Registry, pool: Pool): void {
  const holds = cacheRead(() => listHolds(pool))
  new Gauge({
    name: 'carteiro_hold_seconds',
    help: 'How long people have held sending back, by what is held: the installation, or a channel, a carrier or an account. A label that is empty means any.',
    labelNames: ['scope', 'channel', 'carrier', 'account'],
    registers: [registry],
    async collect() {
      this.reset()
      for (const hold of (await holds()) ?? []) {
        const { channel, carrier, accountName, since } = hold
        const labels = { channel: channel ?? '', carrier: carrier ?? '', account: accountName ?? '' }
        this.set({ scope: scopeOfHold(hold), ...labels }, (Date.now() - since.getTime()) / 1_000)
      }
    },
  })
}

type ReadQueue = () => Promise<QueueDepth[] | null>

function addDepthMetrics(registry: Registry, queue: ReadQueue): void {
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
      registers: [registry],
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
}

function addGivenUpMetric(registry: Registry, pool: Pool, channels: readonly Channel[]): void {
  const givenUp = cacheRead(() => countGivenUp(pool, channels))
  new Gauge({
    name: 'carteiro_deliveries_given_up',
    help: 'Deliveries that gave up within the last hour, and that nobody has retried since.',
    labelNames: ['channel', 'mode'],
    registers: [registry],
    async collect() {
      this.reset()
      for (const { channel, mode, count } of (await givenUp()) ?? []) this.set({ channel, mode }, count)
    },
  })
}

function addAgeMetric(registry: Registry, pool: Pool, channels: readonly Channel[], queue: ReadQueue): void {
  const late = cacheRead(() => readOldestLate(pool, channels))
  new Gauge({
    name: 'carteiro_deliveries_age_seconds',
    help: 'Since when the oldest delivery that is due, was tried or was put back, and is not finished, has been accepted. Retries do not reset it.',
    labelNames: ['channel', 'mode'],
    registers: [registry],
    async collect() {
      this.reset()
      const [depths, ages] = [await queue(), await late()]
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
}
