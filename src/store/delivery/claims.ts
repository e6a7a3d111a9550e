import type { Mode } from '../../domain/access/token.js'
import { type AccountSettings, completeSettings, type StoredSettings } from '../../domain/account.js'
import type { Channel } from '../../domain/channel.js'
import { LOWEST_ID } from '../../domain/id.js'
import type { JsonObject } from '../../domain/notification.js'
import { type IdMonths, nameWithin, recentMonthsOfIds, withinMonths } from '../months.js'
import { type Queryable, queryRows, queryValue, run } from '../postgres.js'
import { BEGINNING, frontOf } from '../queue-front.js'
import { heldBy, isHeld, UNSURE } from './holds.js'

/** One delivery that a worker holds, with everything that is needed to send it. */
export interface Claim {
  notification: string
  channel: Channel
  mode: Mode
  /** The id of the claim: only under this id is the delivery held. */
  owner: string
  account: string
  accountName: string
  settings: AccountSettings
  ordinal: number
  attempt: number
  /** How many of the attempts went to another carrier in place of one that failed. */
  failovers: number
  /** The carriers that were tried in this round, this one included, by their rank. */
  tried: number[]
  /** The same at every attempt, so that a carrier or a recipient can recognise a repetition. */
  reference: string
  recipient: string | null
  recipientName: string
  subject: string
  /** null where the channel does not send the content, or the content is large: then it is read when it is needed. */
  content: string | null
  contentSize: number
  protected: boolean
  /** How many attempts of this message ended with an unknown outcome. */
  unknownCount: number
  /** Its carrier may have the message already: no other carrier may take it. */
  bound: boolean
  /** The account must not send to this recipient on this channel, in this mode. */
  suppressed: boolean
  /** A part of what it would be sent with was erased at the end of its term. */
  incomplete?: boolean
  request: JsonObject
  template: ClaimedTemplate | null
  attachments: { name: string; sha256: string; size: number }[]
  acceptedAt: Date
  /** Whether the delivery belongs to a batch. */
  bulk?: boolean
  /** The parts that this carrier has already, of an attempt whose other parts were lost. */
  taken?: { parts: readonly number[]; total: number } | null
}

/** The version of the acceptance. `editedAt`: when the template was last changed, because its name and metadata have no versions. */
export type ClaimedTemplate = { id: string; version: number; editedAt: string }

/** `delivery`: its name in the query. */
export const claimedTemplate = (delivery: string): string => `case when ${delivery}.template_id is not null then
  jsonb_build_object('id', ${delivery}.template_id, 'version', ${delivery}.template_version,
    'editedAt', (select t.updated_at from template t where t.id = ${delivery}.template_id)) end as template`

/** `hasWork`: there is some, perhaps for others alone. Without a notification where nothing was claimed. */
type ClaimRow = Omit<Claim, 'settings'> & { settings: StoredSettings; hasWork: boolean }

export interface ClaimQuestion {
  channel: Channel
  mode: Mode
  /** The carrier's identity. */
  carrier: string
  /** The carrier's place among those of its channel, the preferred one being 0. */
  rank: number
  /** The id of this claim alone. */
  owner: string
  limit: number
  /** How many of them may be of batches; without it, all. */
  bulkLimit?: number
  leaseMs: number
  /** Only deliveries that became due from then on are read (findFront); without it, all that are due. */
  from?: Date
  /** The claim brings the notification's content, unless it is large. */
  withContent?: boolean
  /** Only notifications of these months are read (readOpenMonths); null: of all months. */
  months?: IdMonths | null
  /** The account that was served last: its successors come first (lastServed). */
  after?: string
}

/** A claim that fills less than this share of its places took few. */
const FEW = 1 / 4

/** Whether a claim had places for many more than it took, so that it left nothing that it could have taken. */
export const tookFew = ({ limit, bulkLimit = limit }: Pick<ClaimQuestion, 'limit' | 'bulkLimit'>, count: number): boolean =>
  count < (bulkLimit === 0 ? limit : Math.min(limit, bulkLimit)) * FEW

/** How often a claim is repeated where other workers were taking all that it had looked at. */
const CONTESTED_ROUNDS = 3

/**
 * Takes due deliveries for a worker: the attempt, its carrier and its reference are committed before anything is sent.
 * Accounts take turns, so that an account with many deliveries delays only itself, and single sends go before batches. Rows that another
 * worker is taking, and those that a person holds back, are skipped.
 */
export async function claimDeliveries(db: Queryable, question: ClaimQuestion): Promise<Claim[]> {
  for (let round = 0; round < CONTESTED_ROUNDS; round++) {
    const rows = await claimOnce(db, question)
    const claims = toClaims(rows)
    if (claims.length > 0 || !rows[0]!.hasWork) return claims
  }
  return []
}

/** The condition for all deliveries that a lane may take now or later. */
const queuedFor = (carrier: string, months: IdMonths | null): string =>
  `state = 'queued' and channel = $1 and mode = $2 and (bound_carrier is null or bound_carrier = ${carrier}) and ${withinMonths(months, 'notification_id')}`

function claimOnce(db: Queryable, question: ClaimQuestion): Promise<ClaimRow[]> {
  const { months = null } = question
  const due = `${queuedFor('$6', months)} and due_at <= now() and due_at >= $11::timestamptz`
  // `place`: how many accounts that may be served come before. One that is held back takes nobody's place.
  const next = (list: string): string => {
    const place = `place + case when ${isHeld(`${list}.account_id`)} then 0 else 1 end`
    return `${place} from ${list} where account_id is not null and ${place} < least($3::int, 100)`
  }
  return claim(db, question, 'claim-deliveries', {
    taken: `
      senders as (
        (select account_id, 0 as place from delivery where ${due} and account_id > $9 and not ${isHeld('null')} order by account_id limit 1)
        union all
        select (select account_id from delivery where ${due} and account_id > senders.account_id order by account_id limit 1), ${next('senders')}
      ), first_senders as (
        -- Only where those after it leave places.
        (select account_id, 0 as place from delivery where ${due} and account_id <= $9 and not ${isHeld('null')}
          and (select count(*) from senders where account_id is not null and not ${isHeld('senders.account_id')}) < least($3::int, 100)
        order by account_id limit 1)
        union all
        select (select account_id from delivery where ${due} and account_id > first_senders.account_id and account_id <= $9 order by account_id limit 1), ${next('first_senders')}
      ), chosen as materialized (
        -- As many accounts as can be served, beginning after the one that was served last. Each account costs an index look-up.
        select account_id from (select 1 as round, * from senders union all select 2, * from first_senders) s
        where account_id is not null and not ${isHeld('s.account_id')} order by round, place limit least($3::int, 100)
      ), turns as (
        -- Four times an equal share is looked at for each account: enough to fill what others leave, and not the whole queue.
        select s.account_id, p.bulk, row_number() over (partition by s.account_id order by p.bulk) as turn
        from chosen s cross join lateral (
          select bulk from delivery where ${due} and account_id = s.account_id
          order by bulk, due_at limit least($3::int, 4 * (1 + $3::int / (select count(*) from chosen)))
        ) p
      ), allowed as (
        select * from (select *, row_number() over (partition by bulk order by turn, random()) as place from turns) t
        where not bulk or place <= $10::int
      ), quotas as materialized (
        select account_id, count(*) as quota from (select account_id from allowed order by turn, bulk, random() limit $3::int) t group by account_id
      ), taken as (
        -- Locked while they are chosen: if they were chosen first and locked later, all workers would choose the same rows.
        select t.notification_id from quotas q cross join lateral (
          select notification_id from delivery where ${due} and account_id = q.account_id order by bulk, due_at limit q.quota for update skip locked
        ) t
      )`,
    set: 'tried = array[$7::smallint]',
    work: 'quotas',
    values: [question.after ?? LOWEST_ID, question.bulkLimit ?? question.limit, question.from ?? BEGINNING],
  })
}

/**
 * The time from which on a lane's claims have to look: what is queued for it, due or not, is due then or later, and so is all that
 * will be. Two look-ups for each account with something in the queue.
 */
export async function findFront(
  db: Queryable,
  { channel, mode, carrier, months = null }: Pick<ClaimQuestion, 'channel' | 'mode' | 'carrier' | 'months'>,
  from: Date | null,
): Promise<Date> {
  const queued = `${queuedFor('$3', months)} and due_at >= $4::timestamptz`
  const front = await queryValue<Date>(db, {
    name: nameWithin(months, 'find-front'),
    text: `
      with recursive senders as (
        (select account_id from delivery where ${queued} order by account_id limit 1)
        union all
        select next.account_id from senders cross join lateral (
          select account_id from delivery where ${queued} and account_id > senders.account_id order by account_id limit 1
        ) next
      )
      select ${frontOf('min(first.due_at)')}
      from senders cross join (values (false), (true)) as kind(bulk) cross join lateral (
        select due_at from delivery where ${queued} and account_id = senders.account_id and bulk = kind.bulk order by due_at limit 1
      ) first`,
    values: [channel, mode, carrier, from ?? BEGINNING],
  })
  return front!
}

/**
 * Takes deliveries that another carrier failed to take and that this carrier was not tried for in this round, due or not, single sends
 * before batches; and due deliveries that only this carrier may take, because it may have the message already.
 */
export async function claimFailovers(db: Queryable, question: ClaimQuestion): Promise<Claim[]> {
  const queued = `state = 'queued' and channel = $1 and mode = $2 and ${withinMonths(question.months ?? null, 'notification_id')}`
  const others = (bulk: boolean, limit: string): string => `
        select notification_id from delivery where ${queued} and bulk = ${bulk} and bound_carrier is null and tried is not null
          and $7::smallint <> all(tried) and not ${isHeld('account_id')}
        order by due_at limit ${limit} for update skip locked`
  const rows = await claim(db, question, 'claim-failovers', {
    taken: `
      own as (
        select notification_id from delivery where ${queued} and bound_carrier = $6 and due_at <= now() and not ${isHeld('account_id')}
        order by due_at limit $3 for update skip locked
      ), single as (${others(false, '$3')}
      ), batches as (${others(true, '$9::int')}
      ), taken as (
        select notification_id from own union all select notification_id from single union all select notification_id from batches limit $3
      )`,
    set: `tried = case when bound_carrier is null then tried || $7::smallint else array[$7::smallint] end,
          failovers = failovers + (bound_carrier is null)::int`,
    work: 'claimed',
    values: [question.bulkLimit ?? question.limit],
  })
  return toClaims(rows)
}

/** The attempts of a delivery with those by this carrier at its latest message, each once. */
export const attemptedBy = (carrier: string): string =>
  `case when ordinal || ' ' || ${carrier}::text = any(attempted) then attempted else array_append(attempted, ordinal || ' ' || ${carrier}::text) end`

/** The account from which the next claim goes on: accounts take turns in the order of their ids, and begin again after the last. */
export function lastServed(claims: readonly Pick<Claim, 'account'>[], after = LOWEST_ID): string {
  const accounts = claims.map(({ account }) => account).sort()
  return accounts.findLast(account => account <= after) ?? accounts.at(-1) ?? after
}

/** `taken`: the expressions that lock the rows; `values`: theirs, from $9 on. `work`: the expression that has a row if there is work, even if other workers take it. */
function claim(
  db: Queryable,
  question: ClaimQuestion,
  name: string,
  { taken, set, work, values = [] }: { taken: string; set: string; work: string; values?: unknown[] },
): Promise<ClaimRow[]> {
  const { channel, mode, limit, owner, leaseMs, carrier, rank, withContent = false, months = null } = question
  return queryRows(db, {
    // The months are constants of the text, so they are part of the name: a new month means one more plan on each connection.
    name: nameWithin(months, name),
    // A claim of many must not bring many large contents into memory at once. The reference is the text of domain/delivery/reference.ts.
    text: `
      with recursive ${heldBy('$1', '$6')}, ${taken}, claimed as (
        update delivery d set state = 'sending', lease_owner = $4, lease_until = now() + $5 * interval '1 millisecond', attempt = attempt + 1,
          carrier = $6, attempted = ${attemptedBy('$6')},
          reference = d.notification_id || '.' || d.channel || '.' || d.ordinal, ${set}
        where d.notification_id = any(array(select notification_id from taken)) and d.channel = $1 and ${withinMonths(months, 'd.notification_id')}
        returning d.*
      )
      select q."hasWork", c.notification_id as notification, c.channel, c.mode, c.lease_owner as owner, c.account_id as account, a.name as "accountName", a.settings,
        c.ordinal, c.attempt, c.failovers, c.tried, c.reference, c.recipient, n.recipient_name as "recipientName", n.subject,
        case when $8::boolean and octet_length(n.content) <= 65536 then n.content end as content,
        coalesce(octet_length(n.content), 0) as "contentSize", n.validation is not null as protected, c.unknown_count as "unknownCount",
        c.bound_carrier is not null as bound, n.incomplete_since is not null as incomplete,
        exists (select from suppression s where s.account_id = c.account_id and s.mode = c.mode and s.channel = c.channel and s.recipient = lower(c.recipient)) as suppressed,
        c.request, ${claimedTemplate('c')},
        coalesce((select jsonb_agg(jsonb_build_object('name', f.name, 'sha256', encode(f.sha256, 'hex'), 'size', f.size) order by f.ordinal)
          from attachment f where f.notification_id = c.notification_id and ${withinMonths(months, 'f.notification_id')}), '[]') as attachments,
        n.accepted_at as "acceptedAt", c.bulk, case when c.taken ->> 'by' = c.carrier then c.taken end as taken
      from (select exists (select from ${work}) as "hasWork") q
      left join (
        claimed c
        -- By a look-up for each: a join may read all accounts or the whole month, and its plan is kept while both grow.
        cross join lateral (select * from account where id = c.account_id limit 1) a
        cross join lateral (select * from notification where id = c.notification_id and ${withinMonths(months, 'id')} limit 1) n
      ) on true`,
    values: [channel, mode, limit, owner, leaseMs, carrier, rank, withContent, ...values],
  })
}

function toClaims(rows: readonly ClaimRow[]): Claim[] {
  /** By account: most claims bring many deliveries of a few accounts. */
  const settings = new Map<string, AccountSettings>()
  const settingsOf = (row: ClaimRow): AccountSettings => {
    const known = settings.get(row.account) ?? completeSettings(row.settings)
    settings.set(row.account, known)
    return known
  }
  // The row itself becomes the claim: a copy of its many members takes longer than everything else here.
  return rows.filter(({ notification }) => notification !== null).map(row => Object.assign(row, { settings: settingsOf(row) }))
}

/** A delivery and the claim that holds it. */
export interface Lease {
  notification: string
  owner: string
}

/**
 * Prolongs the leases of the deliveries that a worker still holds. Returns those that were prolonged; a lease that ran out is lost. A
 * delivery that another transaction holds waits for the next renewal: to wait for it here would lose the leases of all others.
 */
export async function renewLeases(db: Queryable, held: readonly Lease[], leaseMs: number): Promise<Set<Lease>> {
  const months = recentMonthsOfIds(held.map(({ notification }) => notification))
  const { rows } = await run<Lease>(db, {
    name: nameWithin(months, 'renew-leases'),
    text: `with held as (
             select d.* from json_to_recordset($1) as lease(notification uuid, owner uuid) cross join lateral (
               select notification_id, channel from delivery
               where notification_id = lease.notification and lease_owner = lease.owner and state = 'sending' and lease_until > now()
                 and ${withinMonths(months, 'notification_id')}
               for no key update skip locked
             ) d
           )
           update delivery d set lease_until = now() + $2 * interval '1 millisecond' from held h
           where d.notification_id = h.notification_id and d.channel = h.channel
             and d.notification_id = any(array(select notification_id from held)) and ${withinMonths(months, 'd.notification_id')}
           returning d.notification_id as notification, d.lease_owner as owner`,
    values: [JSON.stringify(held.map(({ notification, owner }) => ({ notification, owner }))), leaseMs],
  })
  const kept = new Set(rows.map(nameOf))
  return new Set(held.filter(lease => kept.has(nameOf(lease))))
}

const nameOf = ({ notification, owner }: Lease): string => `${notification} ${owner}`

export interface ExpiredLease
  extends Pick<Claim, 'notification' | 'channel' | 'ordinal' | 'attempt' | 'failovers' | 'owner' | 'mode' | 'unknownCount'> {
  carrier: string
}

/**
 * Deliveries of workers that are gone: nobody renewed the lease. None while the database may be an older copy. Deliveries that another
 * transaction holds are left out: they would fill every batch.
 */
export const findExpiredLeases = (db: Queryable, limit: number, months: IdMonths | null = null): Promise<ExpiredLease[]> =>
  queryRows(db, {
    name: nameWithin(months, 'find-expired-leases'),
    text: `select notification_id as notification, channel, carrier, ordinal, attempt, failovers, lease_owner as owner, mode,
             unknown_count as "unknownCount"
           from delivery where state = 'sending' and lease_until < now() and not exists (${UNSURE})
             and ${withinMonths(months, 'notification_id')}
           order by lease_until limit $1 for no key update skip locked`,
    values: [limit],
  })
