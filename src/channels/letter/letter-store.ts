import type { Mode } from '../../domain/access/token.js'
import type { Json } from '../../domain/evidence/canonical-json.js'
import { noteLateData } from '../../store/ageing.js'
import { type FoundStatus, STATUS_COLUMNS } from '../../store/delivery/deliveries.js'
import { readBlob } from '../../store/files/read.js'
import { execute, type Pool, type Queryable, queryRow, queryRows, queryValue, transaction } from '../../store/postgres.js'
import type { PersonalFile } from '../channel.js'

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

export async function findLetter(db: Queryable, { notification, ordinal }: LetterKey): Promise<StoredLetter | null> {
  const row = await queryRow<Omit<StoredLetter, 'pdf'>>(
    db,
    `select encode(sha256, 'hex') as sha256, pages, sheet from letter where notification_id = $1 and ordinal = $2`,
    [notification, ordinal],
  )
  const pdf = row && (await readBlob(db, row.sha256))
  return row && pdf && { ...row, pdf }
}

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
export const insertLetterReceipt = (pool: Pool, notification: string, { type, bytes }: ReceiptImage): Promise<void> =>
  transaction(pool, async db => {
    await noteLateData(db, 'letters', [notification])
    await execute(
      db,
      'insert into letter_receipt (notification_id, type, bytes) values ($1, $2, $3) on conflict (notification_id) do nothing',
      [notification, type, Buffer.from(bytes)],
    )
  })

/** Finds type, digest and size of the receipt's image that is stored. */
export const findReceiptDigest = (
  db: Queryable,
  notification: string,
): Promise<{ type: ReceiptImage['type']; sha256: string; size: number } | null> =>
  queryRow(
    db,
    `select type, encode(sha256(bytes), 'hex') as sha256, octet_length(bytes) as size from letter_receipt where notification_id = $1`,
    [notification],
  )

/** The letters as they were printed, and the signed receipt. */
export async function listLetterFiles(db: Queryable, notification: string): Promise<PersonalFile[]> {
  const letters = await queryRows<{ ordinal: number; sha256: string }>(
    db,
    `select l.ordinal, encode(l.sha256, 'hex') as sha256 from letter l
     where l.notification_id = $1 and exists (select from blob b where b.sha256 = l.sha256) order by l.ordinal`,
    [notification],
  )
  const receipt = await findReceiptDigest(db, notification)
  return [
    ...letters.map(({ ordinal, sha256 }) => ({
      name: `carta-${ordinal}.pdf`,
      sha256,
      read: (reader: Queryable) => readBlob(reader, sha256),
    })),
    ...(receipt === null
      ? []
      : [{ name: `aviso-de-recebimento.${receipt.type}`, sha256: receipt.sha256, read: readReceipt(notification) }]),
  ]
}

const readReceipt =
  (notification: string) =>
  (db: Queryable): Promise<Uint8Array | null> =>
    queryValue<Buffer>(db, 'select bytes from letter_receipt where notification_id = $1', [notification])

export interface LetterHistory {
  status: FoundStatus
  mode: Mode
  image: ReceiptImage | null
  events: { at: Date; type: string; source: string; data: Record<string, Json> | null }[]
}

/** null: there is no such letter. */
export async function findLetterHistory(db: Queryable, notification: string): Promise<LetterHistory | null> {
  const row = await queryRow<FoundStatus & { mode: Mode; imageType: 'png' | 'jpg' | null; bytes: Buffer | null }>(
    db,
    `select ${STATUS_COLUMNS}, d.mode, r.type as "imageType", r.bytes
     from delivery d left join letter_receipt r on r.notification_id = d.notification_id
     where d.notification_id = $1 and d.channel = 'letter'`,
    [notification],
  )
  if (row === null) return null
  const events = await queryRows<LetterHistory['events'][number]>(
    db,
    `select at, type, source, data from event where notification_id = $1 and data->>'channel' = 'letter' order by seq limit 200`,
    [notification],
  )
  const { mode, imageType, bytes, ...status } = row
  return { status, mode, image: imageType === null ? null : { type: imageType, bytes: bytes! }, events }
}

/** A registered letter on its way. */
export interface TrackedLetter {
  notification: string
  code: string
  /** SHA-256 of the history that was recorded last; null: none was. */
  seen: string | null
}

/** The letters that one post knows. A simulated carrier makes its tracking codes up: to the real post they are other people's letters. */
export interface TrackedLetters {
  simulated: boolean
  modes: readonly Mode[]
}

/** The post keeps an object's history for half a year. */
export const TRACKED_DAYS = 180

/** Takes the letters that are due for tracking, and plans when they are due again. */
export const claimTracked = (
  db: Queryable,
  { simulated, modes }: TrackedLetters,
  everyMs: number,
  limit: number,
): Promise<TrackedLetter[]> =>
  queryRows(db, {
    name: 'take-tracked-letters',
    text: `with due as (
       select d.notification_id, d.tracking_code
       from delivery d left join letter_tracking t on t.notification_id = d.notification_id
       where d.channel = 'letter' and d.tracking_code is not null and d.delivered_at is null and d.failure is null
         and d.mode = any($1::text[]) and (d.carrier like 'simulator/%') = $4
         and (d.sent_at is null or d.sent_at > now() - interval '${TRACKED_DAYS} days')
         and (t.due_at is null or t.due_at <= now())
       order by t.due_at nulls first limit $3
     ), planned as (
       insert into letter_tracking as t (notification_id, due_at)
       select notification_id, now() + $2 * interval '1 millisecond' from due order by notification_id
       -- Another node may have taken the letter meanwhile.
       on conflict (notification_id) do update set due_at = excluded.due_at where t.due_at <= now()
       returning t.notification_id, t.seen
     )
     select p.notification_id as notification, due.tracking_code as code, encode(p.seen, 'hex') as seen
     from planned p join due on due.notification_id = p.notification_id`,
    values: [modes, everyMs, limit, simulated],
  })

export const saveSeen = (db: Queryable, notification: string, seen: string): Promise<void> =>
  execute(db, "update letter_tracking set seen = decode($2, 'hex') where notification_id = $1", [notification, seen])
