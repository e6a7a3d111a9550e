import { completeSettings, type StoredSettings } from '../../domain/account.js'
import type { AttemptedDelivery } from '../../domain/delivery/carrier-source.js'
import { type Claim, claimedTemplate } from '../../store/delivery/claims.js'
import { type Queryable, queryRow, queryValues } from '../../store/postgres.js'

/** What the script of a call depends on. */
export type Call = Pick<Claim, 'account' | 'mode' | 'template' | 'request' | 'accountName' | 'settings' | 'protected'>

/** A call with the carriers that were asked for it. */
export type StoredCall = Call & AttemptedDelivery & { /** Whether the message was heard. */ heard: boolean }

/** Other notifications with a call by this carrier to the same number that is under way, or may have been made. */
export function findRivalCalls(
  db: Queryable,
  { notification, to, carrier }: { notification: string; to: string; carrier: string },
): Promise<string[]> {
  // One by one: each state has an index of its own.
  const inState = (state: string): string =>
    `select notification_id as id from delivery
     where state = '${state}' and channel = 'voice' and recipient = $2 and carrier = $3
       and notification_id <> $1`
  const states = ['sending', 'uncertain', 'unresolved']
  return queryValues(db, states.map(inState).join(' union all '), [notification, to, carrier])
}

export async function findCall(db: Queryable, notification: string): Promise<StoredCall | null> {
  const call = await queryRow<Omit<StoredCall, 'settings'> & { settings: StoredSettings }>(
    db,
    `select ${claimedTemplate('d')}, d.request, d.account_id as account, d.mode, a.name as "accountName", a.settings,
       n.validation is not null as protected, d.delivered_at is not null as heard, d.channel, coalesce(d.attempted, '{}') as attempted
     from delivery d join notification n on n.id = d.notification_id join account a on a.id = d.account_id
     where d.notification_id = $1 and d.channel = 'voice'`,
    [notification],
  )
  return call && { ...call, settings: completeSettings(call.settings) }
}
