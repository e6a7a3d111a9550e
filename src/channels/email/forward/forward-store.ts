import type { Mode } from '../../../domain/access/token.js'
import { type AccountSettings, completeSettings, type StoredSettings } from '../../../domain/account.js'
import { hideLinks } from '../../../domain/recipient/link.js'
import { storableValue } from '../../../domain/text/text.js'
import { UNSURE } from '../../../store/delivery/holds.js'
import { deleteInBatches, execute, type Queryable, queryRows } from '../../../store/postgres.js'

/** A recipient's reply on its way to the sender's mailbox, without the quoted message and without the recipient's link. */
export interface ForwardedReply {
  /** Its Message-ID. */
  id: string
  /** The address that it came from; null: it named none. */
  from: string | null
  text: string
  files: readonly string[]
}

/** Whoever knows a return address may write without end. */
const MAX_FORWARDS = 100

/** Once for each reply, and only where the account asks for it. */
export const queueForward = (db: Queryable, notification: string, { id, ...reply }: ForwardedReply): Promise<void> =>
  execute(
    db,
    `insert into email_forward (notification_id, reply_id, reply)
     select n.id, $2, $3 from notification n join account a on a.id = n.account_id
     where n.id = $1 and coalesce(a.settings ->> 'email.replies.forward', '') <> ''
       and (select count(*) from email_forward f where f.notification_id = n.id) < ${MAX_FORWARDS}
     on conflict do nothing`,
    [
      notification,
      storableValue(id).slice(0, 320),
      JSON.stringify(hideLinks(storableValue({ ...reply, files: [...reply.files] }))),
    ],
  )

export interface ClaimedForward {
  notification: string
  replyId: string
  reply: Omit<ForwardedReply, 'id'>
  attempt: number
  /** Carriers that a person holds back for this account, each an identity or a provider. */
  heldCarriers: string[]
  mode: Mode
  accountName: string
  settings: AccountSettings
  recipient: string | null
  recipientName: string | null
  subject: string | null
}

/**
 * Committed as under way before anything is sent: a reply is forwarded at most once. None of a database that may be an older copy, and none
 * that a person holds back, with all e-mails or with those of its account.
 */
async function claimForwards(db: Queryable, limit: number): Promise<ClaimedForward[]> {
  const rows = await queryRows<Omit<ClaimedForward, 'settings'> & { settings: StoredSettings }>(db, {
    name: 'claim-forwards',
    text: `with due as (
         select notification_id, reply_id from email_forward f where state = 'queued' and due_at <= now() and not exists (${UNSURE})
           and not exists (select from hold h where ${CONCERNS_EMAIL} and h.carrier is null
             and (h.account_id is null or h.account_id = (select account_id from notification n where n.id = f.notification_id)))
       order by due_at limit $1 for update skip locked
     ), claimed as (
       update email_forward f set state = 'sending', attempt = f.attempt + 1, due_at = now()
       from due where f.notification_id = due.notification_id and f.reply_id = due.reply_id
       returning f.*
     )
     select c.notification_id as notification, c.reply_id as "replyId", c.reply, c.attempt, n.mode, a.name as "accountName", a.settings,
       array(select h.carrier from hold h where ${CONCERNS_EMAIL} and h.carrier is not null
         and (h.account_id is null or h.account_id = n.account_id)) as "heldCarriers",
       d.recipient, n.recipient_name as "recipientName", n.subject
     from claimed c join notification n on n.id = c.notification_id join account a on a.id = n.account_id
     join delivery d on d.notification_id = c.notification_id and d.channel = 'email'`,
    values: [limit],
  })
  return rows.map(row => ({ ...row, settings: completeSettings(row.settings) }))
}

/** Of a hold h. */
const CONCERNS_EMAIL = "(h.channel is null or h.channel = 'email')"

type Named = Pick<ClaimedForward, 'notification' | 'replyId'>

/** The carrier is known not to have it. */
const repeatForward = (db: Queryable, { notification, replyId }: Named, delayMs: number): Promise<void> =>
  execute(
    db,
    `update email_forward set state = 'queued', due_at = now() + $3 * interval '1 millisecond'
     where notification_id = $1 and reply_id = $2 and state = 'sending'`,
    [notification, replyId, delayMs],
  )

/** As above, and the try does not count. */
const putBackForward = (db: Queryable, { notification, replyId }: Named, delayMs: number): Promise<void> =>
  execute(
    db,
    `update email_forward set state = 'queued', attempt = attempt - 1, due_at = now() + $3 * interval '1 millisecond'
     where notification_id = $1 and reply_id = $2 and state = 'sending'`,
    [notification, replyId, delayMs],
  )

const endForward = (db: Queryable, { notification, replyId }: Named, state: 'done' | 'failed' | 'unknown'): Promise<void> =>
  execute(
    db,
    `update email_forward set state = $3, reply = null where notification_id = $1 and reply_id = $2 and state = 'sending'`,
    [notification, replyId, state],
  )

/** Ends forwards of a dead worker. The carrier may have taken the message already, so a forward is not repeated. */
const endLostForwards = (db: Queryable, olderThanMs: number): Promise<Named[]> =>
  queryRows(db, {
    name: 'end-lost-forwards',
    text: `update email_forward set state = 'unknown', reply = null
           where state = 'sending' and due_at < now() - $1 * interval '1 millisecond'
           returning notification_id as notification, reply_id as "replyId"`,
    values: [olderThanMs],
  })

/** After a restore nobody knows which of them were forwarded since the copy was made. The replies themselves are events. */
export const endRestoredForwards = (db: Queryable): Promise<void> =>
  execute(db, "update email_forward set state = 'unknown', reply = null where state in ('queued', 'sending')")

/** Mail servers repeat a message for about five days. */
export const deleteOldForwards = (db: Queryable): Promise<void> =>
  deleteInBatches(
    db,
    'email_forward',
    "created_at < now() - interval '30 days' and state not in ('queued', 'sending')",
    'created_at',
  )

/** The forwarder's access to its jobs. */
export const forwardJobs = (db: Queryable) => ({
  claim: (limit: number) => claimForwards(db, limit),
  repeat: (job: Named, delayMs: number) => repeatForward(db, job, delayMs),
  putBack: (job: Named, delayMs: number) => putBackForward(db, job, delayMs),
  end: (job: Named, state: 'done' | 'failed' | 'unknown') => endForward(db, job, state),
  endLost: (olderThanMs: number) => endLostForwards(db, olderThanMs),
})

export type ForwardJobs = ReturnType<typeof forwardJobs>
