import type { Channel } from '../../domain/channel.js'
import type { Scope } from '../../domain/scope.js'
import { execute, filterBy, matchesRow, type Queryable, queryRows } from '../postgres.js'

/**
 * Why an account must not send to a recipient on a channel, in one mode. Recipients are stored and compared in lower case, because a capital
 * letter must not undo an opt-out and servers do not distinguish Maria@ from maria@.
 */
export type SuppressionReason = 'hard bounce' | 'complaint' | 'stranger' | 'opt-out' | 'operator'

/** Suppresses the recipient of a delivery, in the delivery's own mode. */
export const suppress = (
  db: Queryable,
  entry: { notification: string; channel: Channel; reason: SuppressionReason },
): Promise<void> =>
  execute(db, {
    name: 'suppress',
    text: `insert into suppression (account_id, mode, channel, recipient, reason, notification_id)
           select account_id, mode, channel, lower(recipient), $3, notification_id from delivery
           where notification_id = $1 and channel = $2 and recipient is not null
           on conflict do nothing`,
    values: [entry.notification, entry.channel, entry.reason],
  })

export interface Contact extends Scope {
  channel: Channel
  recipient: string
}

/** False: it was there already, with any reason. */
export const addSuppression = (db: Queryable, contact: Contact, reason: SuppressionReason): Promise<boolean> =>
  matchesRow(
    db,
    `insert into suppression (account_id, mode, channel, recipient, reason) values ($1, $2, $3, lower($4), $5) on conflict do nothing`,
    [contact.account, contact.mode, contact.channel, contact.recipient, reason],
  )

/** false: there was none. */
export const removeSuppression = (db: Queryable, contact: Contact): Promise<boolean> =>
  matchesRow(db, 'delete from suppression where account_id = $1 and mode = $2 and channel = $3 and recipient = lower($4)', [
    contact.account,
    contact.mode,
    contact.channel,
    contact.recipient,
  ])

export interface Suppression {
  channel: Channel
  recipient: string
  reason: SuppressionReason
  /** The notification that caused it; null: an operator did. */
  notification: string | null
  createdAt: Date
}

/** The latest first. `recipients`: the forms of one contact. */
export const listSuppressions = (
  db: Queryable,
  question: Scope & { channel: Channel | null; recipients: string[] | null; limit: number },
): Promise<Suppression[]> =>
  queryRows(
    db,
    `select channel, recipient, reason, notification_id as notification, created_at as "createdAt" from suppression
     where account_id = $1 and mode = $2 and ${filterBy('$3::text', question.channel, 'channel = $3')}
       and ${filterBy('$4::text[]', question.recipients, 'recipient = any(select lower(form) from unnest($4::text[]) form)')}
     order by created_at desc, channel, recipient limit $5`,
    [question.account, question.mode, question.channel, question.recipients, question.limit],
  )
