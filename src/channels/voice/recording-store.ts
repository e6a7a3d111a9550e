import { execute, type Queryable, queryRows, queryValues, run } from '../../store/postgres.js'

/** Recordings of calls, from the carrier's word that there is one to the blob that holds it. */
export interface Recording {
  provider: string
  name: string
  notification: string
  ordinal: number
  seconds: number | null
}

/** A recording that is told twice is one recording. */
export async function wantRecording(db: Queryable, recording: Recording): Promise<void> {
  const { provider, name, notification, ordinal, seconds } = recording
  await run(
    db,
    `insert into recording (provider, name, notification_id, ordinal, seconds) values ($1, $2, $3, $4, $5)
     on conflict (provider, name) do nothing`,
    [provider, name, notification, ordinal, seconds],
  )
}

export interface WantedRecording extends Recording {
  attempt: number
}

/** Those whose time has come, put off at once: another node, or this one after a crash, looks again when the time is over. */
export const takeWantedRecordings = (
  db: Queryable,
  providers: readonly string[],
  limit: number,
  againMs: number,
): Promise<WantedRecording[]> =>
  queryRows(
    db,
    `update recording r set attempt = r.attempt + 1, due_at = now() + $3 * interval '1 millisecond'
     where (r.provider, r.name) in (
       select provider, name from recording where state = 'wanted' and due_at <= now() and provider = any($1::text[])
       order by due_at limit $2 for update skip locked
     )
     returning r.provider, r.name, r.notification_id as notification, r.ordinal, r.seconds, r.attempt`,
    [providers, limit, againMs],
  )

export const putOffRecording = (db: Queryable, { provider, name }: Recording, delayMs: number): Promise<void> =>
  execute(
    db,
    `update recording set due_at = now() + $3 * interval '1 millisecond' where provider = $1 and name = $2 and state = 'wanted'`,
    [provider, name, delayMs],
  )

/** Ends the search, once: with the digest of its blob, or without because there is none to be had. */
export const settleRecording = (db: Queryable, { provider, name }: Recording, sha256: string | null): Promise<void> =>
  execute(db, "update recording set state = $3, sha256 = $4 where provider = $1 and name = $2 and state = 'wanted'", [
    provider,
    name,
    sha256 === null ? 'missing' : 'kept',
    sha256 === null ? null : Buffer.from(sha256, 'hex'),
  ])

/** Ends the term of some recordings that are older than this; the digests of those whose bytes are to go. */
export const expireRecordings = (db: Queryable, days: number, limit: number): Promise<string[]> =>
  queryValues(
    db,
    `update recording r set state = 'expired'
     where (r.provider, r.name) in (
       select provider, name from recording where state = 'kept' and created_at < now() - $1 * interval '1 day'
       order by created_at limit $2 for update skip locked
     )
     returning encode(r.sha256, 'hex') as sha256`,
    [days, limit],
  )

export interface RecordingPart {
  size: number
  bytes: Buffer
}

/** A stretch of the recording that a call's status speaks of; null: there is none; expired: there is none any more. */
export async function readRecording(
  db: Queryable,
  notification: string,
  from: number,
  length: number,
): Promise<RecordingPart | 'expired' | null> {
  const { rows } = await run<{ size: number | null; bytes: Buffer; expired: boolean }>(
    db,
    `select b.size, substring(b.bytes from $2::int + 1 for $3::int) as bytes,
       exists (select from recording r where r.notification_id = $1 and r.sha256 = t.sha256 and r.state = 'expired') as expired
     from delivery d cross join lateral (select decode(d.tracking_code, 'hex') as sha256) t left join blob b on b.sha256 = t.sha256
     where d.notification_id = $1 and d.channel = 'voice' and d.tracking_code is not null`,
    [notification, from, length],
  )
  const row = rows[0]
  // The same bytes may be here for another reason.
  if (row?.expired) return 'expired'
  return row === undefined || row.size === null ? null : { size: row.size, bytes: row.bytes }
}
