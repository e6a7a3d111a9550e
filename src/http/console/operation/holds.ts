import { moduleOf } from '../../../channels/registry.js'
import { listHolds } from '../../../store/delivery/holds.js'
import type { Pool } from '../../../store/postgres.js'
import type { Holds } from './holds-schema.js'

/** What concerns these accounts, the oldest first. */
export async function readHolds(pool: Pool, accounts: readonly string[]): Promise<Holds> {
  const holds = (await listHolds(pool)).filter(({ account }) => account === null || accounts.includes(account))
  return holds.map(({ channel, carrier, accountName, reason, since }) => ({
    channel: channel === null ? null : moduleOf(channel).wire,
    carrier,
    account: accountName,
    reason,
    since: since.toISOString(),
  }))
}
