import { type AccountSettings, completeSettings, type StoredSettings } from '../../domain/account.js'
import type { Channel } from '../../domain/channel.js'
import type { DeliveryState, Failure } from '../../domain/delivery/status.js'
import type { StoredValidation } from '../../domain/notification.js'
import type { LinkTarget } from '../../domain/recipient/link.js'
import { readBlob } from '../files/read.js'
import { nameWithin, recentMonthsOfIds, withinMonths } from '../months.js'
import { matchesRow, type Queryable, queryRow, run } from '../postgres.js'

export interface ListedFile {
  ordinal: number
  name: string
  size: number
  sha256: string
}

/** The delivery behind a link, as a recipient's page shows it. The content and the files are read separately. */
export interface VisitedDelivery {
  target: LinkTarget
  accountName: string
  settings: AccountSettings
  /** SHA-256 of the account's logo. */
  logo: string | null
  subject: string
  recipientName: string
  recipient: string | null
  /** Whole: its answer is erased with the content, and without content there is no visit. */
  validation: StoredValidation | null
  acceptedAt: Date
  state: DeliveryState
  sentAt: Date | null
  linkOpenedAt: Date | null
  /** The confirmation of the receipt: on this channel or, if there is none, the first one on another channel. */
  confirmedAt: Date | null
  confirmedBy: Channel | null
  failure: Failure | null
  files: ListedFile[]
}

/**
 * Reads the deliveries of many visits with one query; null: there is no such delivery or its data was erased. offset 0: each is looked up by
 * its key, also where the server has no statistics.
 */
export async function findVisitedDeliveries(db: Queryable, targets: readonly LinkTarget[]): Promise<(VisitedDelivery | null)[]> {
  const ids = targets.map(target => target.notification)
  const months = recentMonthsOfIds(ids)
  const { rows } = await run<Omit<VisitedDelivery, 'target' | 'settings'> & { place: number; settings: StoredSettings }>(db, {
    name: nameWithin(months, 'find-visited'),
    text: `select t.place, a.name as "accountName", a.settings, encode(a.logo, 'hex') as logo, n.subject,
             n.recipient_name as "recipientName", d.recipient, n.validation, n.accepted_at as "acceptedAt", d.state, d.sent_at as "sentAt",
             d.link_opened_at as "linkOpenedAt", c.confirmed_at as "confirmedAt", c.channel as "confirmedBy", d.failure,
             coalesce((select jsonb_agg(jsonb_build_object('ordinal', f.ordinal, 'name', f.name, 'size', f.size, 'sha256', encode(f.sha256, 'hex'))
               order by f.ordinal) from attachment f where f.notification_id = t.notification_id and ${withinMonths(months, 'f.notification_id')}), '[]') as files
           from unnest($1::uuid[], $2::text[]) with ordinality as t(notification_id, channel, place)
           cross join lateral (select * from notification where id = t.notification_id and ${withinMonths(months, 'id')} offset 0) n
           cross join lateral (select * from delivery where notification_id = t.notification_id and channel = t.channel
             and ${withinMonths(months, 'notification_id')} offset 0) d
           join account a on a.id = n.account_id
           left join lateral (select o.channel, o.confirmed_at from delivery o
                              where o.notification_id = t.notification_id and ${withinMonths(months, 'o.notification_id')} and o.confirmed_at is not null
                              order by o.channel <> t.channel, o.confirmed_at limit 1) c on true
           where n.subject is not null and n.recipient_name is not null and n.content is not null`,
    values: [ids, targets.map(target => target.channel)],
  })
  const found: (VisitedDelivery | null)[] = targets.map(() => null)
  for (const { place, settings, ...row } of rows) {
    found[place - 1] = { ...row, target: targets[place - 1]!, settings: completeSettings(settings) }
  }
  return found
}

/** Whether the account of a notification has registered an address. */
export const isSendersAddress = (db: Queryable, notification: string, address: string): Promise<boolean> =>
  matchesRow(db, {
    name: 'is-senders-address',
    text: `select from notification n join address_range r on r.account_id = n.account_id
           where n.id = $1 and r.range >>= $2::inet limit 1`,
    values: [notification, address],
  })

export async function readFile(
  db: Queryable,
  notification: string,
  ordinal: number,
): Promise<{ name: string; bytes: Buffer } | null> {
  const file = await queryRow<{ name: string; sha256: string }>(db, {
    name: 'find-file',
    text: "select name, encode(sha256, 'hex') as sha256 from attachment where notification_id = $1 and ordinal = $2",
    values: [notification, ordinal],
  })
  const bytes = file && (await readBlob(db, file.sha256))
  return bytes && { name: file.name, bytes }
}

export interface Confirmation {
  seq: number
  at: Date
  hash: string
}

/** The event of the recipient's confirmation. */
export const findConfirmation = (db: Queryable, target: LinkTarget): Promise<Confirmation | null> =>
  queryRow(db, {
    name: 'find-confirmation',
    text: `select seq, at, encode(hash, 'hex') as hash from event
           where notification_id = $1 and type = 'confirmed' and data->>'channel' = $2 order by seq limit 1`,
    values: [target.notification, target.channel],
  })
