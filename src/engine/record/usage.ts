import { moduleOf } from '../../channels/registry.js'
import type { DeliveryStatus } from '../../domain/delivery/status.js'
import type { Fact } from '../../domain/delivery/transition.js'
import type { StoredDelivery } from '../../store/delivery/locked-deliveries.js'
import type { CostWrite, UsageWrite } from '../../store/delivery/records.js'

/** What a fact adds to the usage; null: nothing. A message is used once its carrier has it: until then nobody charges for it. */
export function usageOf(
  { account, mode, attempted }: StoredDelivery,
  before: DeliveryStatus,
  after: DeliveryStatus,
  { data }: Fact,
): UsageWrite | null {
  if (before.state === 'done' || after.state !== 'done' || after.failure !== null) return null
  const { channel } = after
  const carrier = attempted.at(-1)?.replace(/^\d+ /, '') ?? data.carrier
  if (carrier === undefined) return null
  const counted = data[moduleOf(channel).cost.counts ?? '']
  return { account, mode, channel, carrier, messages: 1, units: typeof counted === 'number' ? counted : 1 }
}

/** One row for each carrier of an account's channel: a row for each message took the database 30 µs more an e-mail. */
export function sumUsage(used: readonly UsageWrite[]): UsageWrite[] {
  const sums = new Map<string, UsageWrite>()
  for (const { account, mode, channel, carrier, messages, units } of used) {
    const key = `${account} ${mode} ${channel} ${carrier}`
    const sum = sums.get(key) ?? { account, mode, channel, carrier, messages: 0, units: 0 }
    sum.messages += messages
    sum.units += units
    sums.set(key, sum)
  }
  return [...sums.values()]
}

/** How many messages a delivery is charged for, or may still be. */
function messagesOf({ cancelReason, failure, sentAt, processedAt, ordinal }: DeliveryStatus): number {
  if (cancelReason !== null) return 0
  return failure !== null && sentAt === null && processedAt === null ? ordinal - 1 : ordinal
}

/** What changed deliveries give back to their month's cap, and take of it: a cancelled step costs nothing, a second call costs again. */
export const costsOf = (changes: ReadonlyMap<StoredDelivery, DeliveryStatus>): CostWrite[] =>
  Array.from(changes).flatMap(([{ account, mode, boundCost, status }, before]) => {
    const messages = boundCost === null ? 0 : messagesOf(status) - messagesOf(before)
    return messages === 0 ? [] : [{ account, mode, acceptedAt: status.acceptedAt, amount: messages * boundCost! }]
  })
