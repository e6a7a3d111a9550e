import { type Static, Type } from 'typebox'
import { count, list, moment, one, orNull, scopeQuery, text } from '../wire.js'
import { holdsSchema } from './holds-schema.js'

export const overviewQuery = Type.Object({ ...scopeQuery, period: Type.Optional(one(['24h', '7d', '30d'])) })
const counts = { accepted: count, sent: count, delivered: count, read: count, failed: count }

export const overviewSchema = Type.Object({
  from: moment,
  to: moment,
  unit: one(['hour', 'day']),
  /** One row for each span and channel in which something was accepted. */
  series: list(Type.Object({ at: moment, channel: text, ...counts })),
  totals: list(Type.Object({ channel: text, ...counts })),
  holds: holdsSchema,
  waiting: list(
    Type.Object({
      channel: text,
      state: one(['queued', 'uncertain', 'unresolved', 'dead']),
      count,
      /** The count stopped here: there are as many, or more. */
      more: Type.Boolean(),
      oldest: orNull(moment),
    }),
  ),
  /** null: not shown to senders. */
  carriers: orNull(
    list(
      Type.Object({
        channel: text,
        carrier: text,
        state: one(['open', 'paused', 'closed']),
        workers: count,
        sent: count,
        failed: count,
        seenAt: moment,
      }),
    ),
  ),
  /** The usage of this month, by channel and carrier; the cost is in reais. */
  usage: list(Type.Object({ channel: text, carrier: text, messages: count, units: count, unit: text, cost: count })),
  webhooks: Type.Object({ active: count, failing: count, suspended: count, oldest: orNull(moment) }),
})
export type OverviewQuery = Static<typeof overviewQuery>
export type Overview = Static<typeof overviewSchema>
