import type { Json } from '../../domain/canonical-json.js'
import type { Mode } from '../../domain/token.js'
import { type FoundStatus, STATUS_COLUMNS } from '../../store/delivery/deliveries.js'
import { execute, type Queryable, queryRow, queryRows } from '../../store/postgres.js'

/** A letter as it was printed. */
export interface StoredLetter {
  pdf: Buffer
  sha256: string
  pages: number
  sheet: Json
}

interface LetterKey {
  notification: string
  ordinal: number
}

export const findLetter = (db: Queryable, { notification, ordinal }: LetterKey): Promise<StoredLetter | null> =>
  queryRow(
    db,
    `select b.bytes as pdf, encode(l.sha256, 'hex') as sha256, l.pages, l.sheet
     from letter l join blob b on b.sha256 = l.sha256 where l.notification_id = $1 and l.ordinal = $2`,
    [notification, ordinal],
  )

/** The first of two equal letters stays. Its PDF must be stored already. */
export const insertLetter = (
  db: Queryable,
  { notification, ordinal }: LetterKey,
  { sha256, pages, sheet }: Omit<StoredLetter, 'pdf'>,
): Promise<void> =>
  execute(
    db,
    `insert into letter (notification_id, ordinal, sha256, pages, sheet) values ($1, $2, decode($3, 'hex'), $4, $5)
     on conflict (notification_id, ordinal) do nothing`,
    [notification, ordinal, sha256, pages, JSON.stringify(sheet)],
  )

export interface ReceiptImage {
  type: 'png' | 'jpg'
  bytes: Uint8Array
}

/** The post reports the same receipt more than once; the first one stays. */
export const insertLetterReceipt = (db: Queryable, notification: string, { type, bytes }: ReceiptImage): Promise<void> =>
  execute(
    db,
    'insert into letter_receipt (notification_id, type, bytes) values ($1, $2, $3) on conflict (notification_id) do nothing',
    [notification, type, Buffer.from(bytes)],
  )

export interface LetterHistory {
  status: FoundStatus
  image: ReceiptImage | null
  events: { at: Date; type: string; data: Record<string, Json> | null }[]
}

/** null: there is no such letter. */
export async function findLetterHistory(db: Queryable, notification: string): Promise<LetterHistory | null> {
  const row = await queryRow<FoundStatus & { imageType: 'png' | 'jpg' | null; bytes: Buffer | null }>(
    db,
    `select ${STATUS_COLUMNS}, r.type as "imageType", r.bytes
     from notification n join delivery d on d.notification_id = n.id and d.channel = 'letter'
     left join letter_receipt r on r.notification_id = n.id
     where n.id = $1`,
    [notification],
  )
  if (row === null) return null
  const events = await queryRows<LetterHistory['events'][number]>(
    db,
    `select at, type, data from event where notification_id = $1 and data->>'channel' = 'letter' order by seq limit 200`,
    [notification],
  )
  const { imageType, bytes, ...status } = row
  return { status, image: imageType === null ? null : { type: imageType, bytes: bytes! }, events }
}

/** A registered letter on its way. */
export interface TrackedLetter {
  notification: string
  code: string
  /** How many tracking events of Correios were recorded. */
  seen: number
}

/** The letters that one post knows. A simulated carrier makes its tracking codes up: to the real post they are other people's letters. */
export interface TrackedLetters {
  simulated: boolean
  modes: readonly Mode[]
}

/** Takes the letters that are due for tracking, and plans when they are due again. */
export const claimTracked = (
  db: Queryable,
  { simulated, modes }: TrackedLetters,
  everyMs: number,
  limit: number,
): Promise<TrackedLetter[]> =>
  queryRows(
    db,
    `with due as (
       select d.notification_id, d.tracking_code
       from delivery d left join letter_tracking t on t.notification_id = d.notification_id
       where d.channel = 'letter' and d.tracking_code is not null and d.delivered_at is null and d.failure is null
         and d.mode = any($1::text[]) and (d.carrier like 'simulator/%') = $4
         -- The post keeps an object's history for half a year.
         and (d.sent_at is null or d.sent_at > now() - interval '180 days')
         and (t.due_at is null or t.due_at <= now())
       order by t.due_at nulls first limit $3
     ), planned as (
       insert into letter_tracking as t (notification_id, due_at)
       select notification_id, now() + $2 * interval '1 millisecond' from due order by notification_id
       on conflict (notification_id) do update set due_at = excluded.due_at
       returning t.notification_id, t.seen
     )
     select p.notification_id as notification, due.tracking_code as code, p.seen
     from planned p join due on due.notification_id = p.notification_id`,
    [modes, everyMs, limit, simulated],
  )

export const saveSeen = (db: Queryable, notification: string, seen: number): Promise<void> =>
  execute(db, 'update letter_tracking set seen = greatest(seen, $2) where notification_id = $1', [notification, seen])
