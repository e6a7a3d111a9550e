import { completeSettings, type StoredSettings } from '../../domain/account.js'
import type { Claim } from '../../store/claims.js'
import { type Queryable, run } from '../../store/postgres.js'

/** What the script of a call depends on. */
export type Call = Pick<Claim, 'template' | 'request' | 'accountName' | 'settings' | 'protected'>

/** Other notifications with a call to this number that a carrier of this provider is making or may have made. */
export async function findRivalCalls(
  db: Queryable,
  { notification, to, provider }: { notification: string; to: string; provider: string },
): Promise<string[]> {
  // Each state has an index of its own.
  const inState = (state: string): string =>
    `select notification_id as id from delivery
     where state = '${state}' and channel = 'voice' and recipient = $2 and split_part(carrier, ':', 1) = $3
       and notification_id <> $1`
  const states = ['sending', 'uncertain', 'unresolved']
  const { rows } = await run<{ id: string }>(db, states.map(inState).join(' union all '), [notification, to, provider])
  return rows.map(row => row.id)
}

export async function findCall(db: Queryable, notification: string): Promise<Call | null> {
  const { rows } = await run<Omit<Call, 'settings'> & { settings: StoredSettings }>(
    db,
    `select case when d.template_id is not null then jsonb_build_object('id', d.template_id, 'version', d.template_version) end as template,
       d.request, a.name as "accountName", a.settings, n.validation is not null as protected
     from delivery d join notification n on n.id = d.notification_id join account a on a.id = d.account_id
     where d.notification_id = $1 and d.channel = 'voice'`,
    [notification],
  )
  const row = rows[0]
  return row === undefined ? null : { ...row, settings: completeSettings(row.settings) }
}
