import { type AccountSettings, completeSettings, type StoredSettings } from '../../domain/account.js'
import type { JsonObject } from '../../domain/notification.js'
import { type Queryable, run } from '../../store/postgres.js'

/** What has to be known of a call to say what it is about. */
export interface Call {
  channel: 'voice'
  template: { id: string; version: number } | null
  request: JsonObject
  accountName: string
  settings: AccountSettings
  protected: boolean
}

interface CallRow {
  template_id: string | null
  template_version: number | null
  request: JsonObject
  account_name: string
  settings: StoredSettings
  protected: boolean
}

/** Notifications other than this one whose call to a number a carrier of this provider is making, or may have made. */
export async function findRivalCalls(
  db: Queryable,
  { notification, to, provider }: { notification: string; to: string; provider: string },
): Promise<string[]> {
  // One by one: each state has an index of its own.
  const inState = (state: string): string =>
    `select notification_id as id from delivery
     where state = '${state}' and channel = 'voice' and recipient = $2 and split_part(carrier, ':', 1) = $3
       and notification_id <> $1`
  const states = ['sending', 'uncertain', 'unresolved']
  const { rows } = await run<{ id: string }>(db, states.map(inState).join(' union all '), [notification, to, provider])
  return rows.map(row => row.id)
}

export async function findCall(db: Queryable, notification: string): Promise<Call | null> {
  const { rows } = await run<CallRow>(
    db,
    `select d.template_id, d.template_version, d.request, a.name as account_name, a.settings, n.validation is not null as protected
     from delivery d join notification n on n.id = d.notification_id join account a on a.id = d.account_id
     where d.notification_id = $1 and d.channel = 'voice'`,
    [notification],
  )
  const row = rows[0]
  if (row === undefined) return null
  return {
    channel: 'voice',
    template: row.template_id === null ? null : { id: row.template_id, version: row.template_version! },
    request: row.request,
    accountName: row.account_name,
    settings: completeSettings(row.settings),
    protected: row.protected,
  }
}
