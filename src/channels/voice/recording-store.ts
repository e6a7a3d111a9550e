import { readBlob } from '../../store/files/read.js'
import { execute, type Queryable, queryRow, queryRows, queryValues, run } from '../../store/postgres.js'
import type { KeptRecording, PersonalFile } from '../channel.js'

/** The recording of a call, from the carrier's report to the blob that holds it. */
export interface Recording {
  carrier: string
  name: string
  notification: string
  ordinal: number
  seconds: number | null
}

/** A recording that is reported twice is one recording. */
export async function wantRecording(db: Queryable, recording: Recording): Promise<void> {
  const { carrier, name, notification, ordinal, seconds } = recording
  await run(
    db,
    `insert into recording (carrier, name, notification_id, ordinal, seconds) values ($1, $2, $3, $4, $5)
     on conflict (carrier, name) do nothing`,
    [carrier, name, notification, ordinal, seconds],
  )
}

export type WantedRecording = Recording & { attempt: number }

/** Takes the recordings that are due. They are due again after `againMs`, in case this node dies. */
export const takeWantedRecordings = (
  db: Queryable,
  carriers: readonly string[],
  limit: number,
  againMs: number,
): Promise<WantedRecording[]> =>
  queryRows(db, {
    name: 'take-wanted-recordings',
    text: `update recording r set attempt = r.attempt + 1, due_at = now() + $3 * interval '1 millisecond'
     where (r.carrier, r.name) in (
       select carrier, name from recording where state = 'wanted' and due_at <= now() and carrier = any($1::text[])
       order by due_at limit $2 for update skip locked
     )
     returning r.carrier, r.name, r.notification_id as notification, r.ordinal, r.seconds, r.attempt`,
    values: [carriers, limit, againMs],
  })

export const putOffRecording = (db: Queryable, { carrier, name }: Recording, delayMs: number): Promise<void> =>
  execute(
    db,
    `update recording set due_at = now() + $3 * interval '1 millisecond' where carrier = $1 and name = $2 and state = 'wanted'`,
    [carrier, name, delayMs],
  )

/** Ends the search once. null: the carrier has no recording. */
export const settleRecording = (db: Queryable, { carrier, name }: Recording, sha256: string | null): Promise<void> =>
  execute(db, "update recording set state = $3, sha256 = $4 where carrier = $1 and name = $2 and state = 'wanted'", [
    carrier,
    name,
    sha256 === null ? 'missing' : 'kept',
    sha256 === null ? null : Buffer.from(sha256, 'hex'),
  ])

/** Marks a batch of recordings older than `days` as expired. Returns the digests of their blobs. */
export const expireRecordings = (db: Queryable, days: number, limit: number): Promise<string[]> =>
  queryValues(
    db,
    `update recording r set state = 'expired'
     where (r.carrier, r.name) in (
       select carrier, name from recording k where state = 'kept' and created_at < now() - $1 * interval '1 day'
         and not exists (select from legal_hold h where h.notification_id = k.notification_id)
       order by created_at limit $2 for update skip locked
     )
     returning encode(r.sha256, 'hex') as sha256`,
    [days, limit],
  )

/** The recordings of a notification's calls that are still kept. */
export const listKeptRecordings = (db: Queryable, notification: string): Promise<KeptRecording[]> =>
  queryRows(
    db,
    `select distinct on (r.ordinal, r.sha256) r.ordinal, encode(r.sha256, 'hex') as sha256, b.size
     from recording r join blob b on b.sha256 = r.sha256
     where r.notification_id = $1 and r.state = 'kept' order by r.ordinal, r.sha256`,
    [notification],
  )

export const listRecordingFiles = async (db: Queryable, notification: string): Promise<PersonalFile[]> =>
  (await listKeptRecordings(db, notification)).map(({ ordinal, sha256 }) => ({
    name: `gravacao-${ordinal}-${sha256.slice(0, 8)}.wav`,
    sha256,
    read: reader => readBlob(reader, sha256),
  }))

/** The recording in a call's status; null: there is none; expired: it was deleted. */
export async function findRecording(
  db: Queryable,
  notification: string,
): Promise<{ size: number; sha256: string } | 'expired' | null> {
  const row = await queryRow<{ size: number | null; sha256: string; expired: boolean }>(
    db,
    `select b.size, encode(d.recording, 'hex') as sha256,
       exists (select from recording r where r.notification_id = $1 and r.sha256 = d.recording and r.state = 'expired') as expired
     from delivery d left join blob b on b.sha256 = d.recording
     where d.notification_id = $1 and d.channel = 'voice' and d.recording is not null`,
    [notification],
  )
  // The blob may still be stored for another use.
  if (row?.expired) return 'expired'
  return row === null || row.size === null ? null : { size: row.size, sha256: row.sha256 }
}
