import { promisify } from 'node:util'
import { inflateRaw } from 'node:zlib'
import { dictionaryOf } from '../../domain/delivery/content-dictionary.js'
import { maskRanges, type PackedContent, type Range, type StoredFile } from '../../domain/delivery/sent-content.js'
import { base64Lines } from '../../domain/text/base64-lines.js'
import { digest } from '../../runtime/digest.js'
import { readBlobs } from '../files/read.js'
import { nameWithin, recentMonthsOfIds, withinMonths } from '../months.js'
import { type Queryable, queryRow, queryRows } from '../postgres.js'

/** A content as it left, of a notification. */
export interface ListedContent {
  channel: string
  /** The first of its channel is 1: an attempt that is repeated after an unknown outcome is a content of its own. */
  ordinal: number
  /** The event that says that it left; its data's `content` has the same digest. */
  seq: number
  /** The type of the sender's copy. */
  contentType: string
  extension: string
  sha256: string
  size: number
}

const LISTED = `select channel, (row_number() over (partition by channel order by seq))::int as ordinal, seq, type as "contentType", extension,
  encode(sha256, 'hex') as sha256, size`

export const listSentContent = (db: Queryable, notification: string): Promise<ListedContent[]> =>
  queryRows(db, `${LISTED} from sent_content where notification_id = $1 order by seq`, [notification])

/**
 * The sender's copy of a content: the bytes whose SHA-256 is in the chain. It has nothing that only the recipient may know. null: there is
 * no such content.
 */
export async function readSentContent(
  db: Queryable,
  notification: string,
  channel: string,
  ordinal: number,
): Promise<Buffer | null> {
  const row = await findContent(db, notification, channel, ordinal)
  if (row === null) return null
  const copy = row.message === null ? maskRanges(await rebuild(db, row), row.hidden ?? []) : await unpack(row)
  return requireDigest(copy, row.sha256)
}

/** The message itself, with what only the recipient may know. It is for a court (carteiro sent-message), and never for the sender: docs/adr/0033. */
export interface SentMessage {
  bytes: Buffer
  contentType: string
  extension: string
  /** Opens the commitment `secret` of the event; null: nothing is hidden in the sender's copy, or the copy has another form. */
  salt: Buffer | null
}

export async function readSentMessage(
  db: Queryable,
  notification: string,
  channel: string,
  ordinal: number,
): Promise<SentMessage | null> {
  const row = await findContent(db, notification, channel, ordinal)
  if (row === null) return null
  const { message, type, extension, salt, hidden } = row
  const bytes = await rebuild(db, row)
  if (message !== null) await requireDigest(bytes, message.sha256)
  else await requireDigest(maskRanges(bytes, hidden ?? []), row.sha256)
  return { bytes, contentType: message?.type ?? type, extension: message?.extension ?? extension, salt }
}

/** What the events that state the contents of these notifications say of their attempts. */
export const findStatingEvents = (
  db: Queryable,
  notifications: readonly string[],
): Promise<{ reference: string | null; attempt: number | null }[]> => {
  const months = recentMonthsOfIds(notifications)
  return queryRows(db, {
    name: nameWithin(months, 'find-stating-events'),
    text: `select e.data ->> 'reference' as reference, (e.data ->> 'attempt')::int as attempt
     from sent_content c cross join lateral (
       select data from event where notification_id = c.notification_id and seq = c.seq and ${withinMonths(months, 'notification_id')} limit 1
     ) e
     where c.notification_id = any($1::uuid[]) and ${withinMonths(months, 'c.notification_id')}`,
    values: [notifications],
  })
}

interface ContentRow {
  type: string
  extension: string
  sha256: string
  files: StoredFile[] | null
  hidden: Range[] | null
  salt: Buffer | null
  message: PackedContent['message']
  packing: PackedContent['packing']
  bytes: Buffer
}

const findContent = (db: Queryable, notification: string, channel: string, ordinal: number): Promise<ContentRow | null> =>
  queryRow(
    db,
    `select type, extension, encode(sha256, 'hex') as sha256, files, hidden, salt, message, packing, bytes
     from sent_content where notification_id = $1 and channel = $2 order by seq offset $3::int - 1 limit 1`,
    [notification, channel, Math.max(1, ordinal)],
  )

const inflate = promisify(inflateRaw)

async function unpack({ packing, bytes }: ContentRow): Promise<Buffer> {
  if (packing === 'none') return bytes
  return inflate(bytes, packing === 'deflate' ? {} : { dictionary: dictionaryOf(packing) })
}

/** The message with its files in their places. */
async function rebuild(db: Queryable, row: ContentRow): Promise<Buffer> {
  const { files } = row
  if (files === null) return unpack(row)
  const blobs = await readBlobs(db, [...new Set(files.map(file => file.sha256))])
  const inline = row.message === null ? await unpack(row) : Buffer.alloc(0)
  const pieces: Buffer[] = []
  let taken = 0
  let at = 0
  for (const file of files) {
    const blob = blobs.get(file.sha256)
    if (blob === undefined) throw new Error(`the file ${file.sha256} of a sent content is gone`)
    pieces.push(inline.subarray(taken, taken + file.at - at), encoded(blob, file.encoding))
    taken += file.at - at
    at = file.at + file.length
  }
  return Buffer.concat([...pieces, inline.subarray(taken)])
}

const encoded = (blob: Uint8Array, encoding: StoredFile['encoding']): Buffer =>
  encoding === 'base64' ? base64Lines(blob) : Buffer.from(blob.buffer, blob.byteOffset, blob.byteLength)

async function requireDigest(bytes: Buffer, stated: string): Promise<Buffer> {
  if ((await digest(bytes)) !== stated) throw new Error('a sent content does not have the digest that its event states')
  return bytes
}
