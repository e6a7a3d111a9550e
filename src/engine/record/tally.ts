import type { DeliveryStatus } from '../../domain/delivery/status.js'
import { HOUR_MS } from '../../domain/units.js'
import type { StoredDelivery } from '../../store/delivery/locked-deliveries.js'
import type { Tally } from '../../store/delivery/records.js'

type Counts = Pick<Tally, 'sent' | 'delivered' | 'read' | 'failed'>

const countsOf = ({ sentAt, deliveredAt, readAt, failure }: DeliveryStatus): Counts => ({
  sent: Number(sentAt !== null),
  delivered: Number(deliveredAt !== null),
  read: Number(readAt !== null),
  failed: Number(failure !== null),
})

/** What changes of these deliveries, each with its status before, add to the counts of the overview, and take from them: a failure may be undone. One row per hour, scope and channel. */
export function tally(changes: ReadonlyMap<StoredDelivery, DeliveryStatus>): Tally[] {
  const tallies = new Map<string, Tally>()
  for (const [{ account, mode, status }, before] of changes) {
    const [was, is] = [countsOf(before), countsOf(status)]
    const hour = new Date(Math.floor(status.acceptedAt.getTime() / HOUR_MS) * HOUR_MS)
    const { channel } = status
    const key = `${hour.getTime()} ${account} ${mode} ${channel}`
    const sum = tallies.get(key) ?? { mode, hour, account, channel, sent: 0, delivered: 0, read: 0, failed: 0 }
    for (const name of ['sent', 'delivered', 'read', 'failed'] as const) sum[name] += is[name] - was[name]
    tallies.set(key, sum)
  }
  return [...tallies.values()].filter(({ sent, delivered, read, failed }) => (sent || delivered || read || failed) !== 0)
}
