import type { FastifyInstance } from 'fastify'
import { channelModules, channels, moduleOf } from '../../../channels/registry.js'
import type { Clock } from '../../../domain/clock.js'
import { monthOf } from '../../../domain/month.js'
import { brazilianIso, readDay } from '../../../domain/text/dates.js'
import { DAY_MS, HOUR_MS } from '../../../domain/units.js'
import { readUsage } from '../../../store/accounts/costs.js'
import { readHealth } from '../../../store/carrier/health.js'
import { type DeliveryCount, readCounts } from '../../../store/console/counts.js'
import { MOST_COUNTED, readWaiting, readWebhookHealth } from '../../../store/console/overview.js'
import type { Pool } from '../../../store/postgres.js'
import type { ReadList } from '../../../store/replica.js'
import { everyone, route, scopeOf } from '../route.js'
import { readHolds } from './holds.js'
import { type Overview, type OverviewQuery, overviewQuery, overviewSchema } from './overview-schema.js'

/** Whole hours, or whole days of Brasília: what the bars of the chart and the links to the lists are about. */
function spanOf(period: OverviewQuery['period'], nowMs: number): { from: Date; to: Date; unit: 'hour' | 'day' } {
  const nextHour = (Math.floor(nowMs / HOUR_MS) + 1) * HOUR_MS
  if (period !== '7d' && period !== '30d') return { from: new Date(nextHour - DAY_MS), to: new Date(nextHour), unit: 'hour' }
  const today = readDay(brazilianIso(new Date(nowMs)).slice(0, 10))!
  const days = period === '7d' ? 7 : 30
  return { from: new Date(today.end.getTime() - days * DAY_MS), to: today.end, unit: 'day' }
}

interface OverviewOptions {
  pool: Pool
  readList: ReadList
  clock: Clock
}

/** GET /console/api/overview: counts of deliveries by status, the queue, and the health of carriers and webhooks. */
export function addOverview(app: FastifyInstance, { pool, readList, clock }: OverviewOptions): void {
  app.get<{ Querystring: OverviewQuery }>(
    '/console/api/overview',
    route(everyone, { querystring: overviewQuery, response: { 200: overviewSchema } }),
    async (request): Promise<Overview> => {
      const scope = await scopeOf(pool, request)
      const { accounts, mode } = scope
      const span = spanOf(request.query.period, clock())
      const month = monthOf(new Date(clock()))
      const [[counts, waiting, webhooks, usage], carriers, holds] = await Promise.all([
        readList(db =>
          Promise.all([
            readCounts(db, { ...scope, ...span }),
            readWaiting(db, accounts, mode, channels),
            readWebhookHealth(db, accounts, mode),
            readUsage(db, accounts, mode, month.from, month.to),
          ]),
        ),
        // From the primary: the table is unlogged, so a replica does not have it.
        request.operator.role === 'sender' ? null : readHealth(pool, mode),
        readHolds(pool, accounts),
      ])
      return {
        from: span.from.toISOString(),
        to: span.to.toISOString(),
        unit: span.unit,
        series: counts.map(({ at, channel, ...row }) => ({ at: at.toISOString(), channel: moduleOf(channel).wire, ...row })),
        totals: channelModules.map(({ channel, wire }) => ({ channel: wire, ...totalOf(counts, channel) })),
        holds,
        waiting: waiting.map(({ channel, state, count, oldest }) => ({
          channel: moduleOf(channel).wire,
          state,
          count,
          more: count >= MOST_COUNTED,
          oldest: oldest?.toISOString() ?? null,
        })),
        carriers:
          carriers?.map(({ channel, mode: _, seenAt, ...carrier }) => ({
            ...carrier,
            channel: moduleOf(channel).wire,
            seenAt: seenAt.toISOString(),
          })) ?? null,
        usage: usage.map(({ channel, ...row }) => {
          const { wire, cost } = moduleOf(channel)
          return { ...row, channel: wire, unit: row.units === 1 ? cost.one : cost.many }
        }),
        webhooks: { ...webhooks, oldest: webhooks.oldest?.toISOString() ?? null },
      }
    },
  )
}

function totalOf(counts: readonly DeliveryCount[], channel: string) {
  const total = { accepted: 0, sent: 0, delivered: 0, read: 0, failed: 0 }
  for (const row of counts.filter(row => row.channel === channel)) {
    for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += row[name]
  }
  return total
}
