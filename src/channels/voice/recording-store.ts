import { type Queryable, run } from '../../store/postgres.js'

/** The recording of a call, from the carrier's report to the blob that holds it. */
export interface Recording {
  provider: string
  name: string
  notification: string
  ordinal: number
  seconds: number | null
}

/** A recording that is reported twice is stored once. */
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

/** Claims the recordings that are due. Each is postponed at once, so that another node takes it over after a crash. */
export async function takeWantedRecordings(
  db: Queryable,
  providers: readonly string[],
  limit: number,
  againMs: number,
): Promise<WantedRecording[]> {
  const { rows } = await run<WantedRecording>(
    db,
    `update recording r set attempt = r.attempt + 1, due_at = now() + $3 * interval '1 millisecond'
     where (r.provider, r.name) in (
       select provider, name from recording where state = 'wanted' and due_at <= now() and provider = any($1::text[])
       order by due_at limit $2 for update skip locked
     )
     returning r.provider, r.name, r.notification_id as notification, r.ordinal, r.seconds, r.attempt`,
    [providers, limit, againMs],
  )
  return rows
}

export async function putOffRecording(db: Queryable, { provider, name }: Recording, delayMs: number): Promise<void> {
  await run(
    db,
    `update recording set due_at = now() + $3 * interval '1 millisecond' where provider = $1 and name = $2 and state = 'wanted'`,
    [provider, name, delayMs],
  )
}

/** Ends the search once, with the digest of the blob; null: the carrier has no recording. */
export async function settleRecording(db: Queryable, { provider, name }: Recording, sha256: string | null): Promise<void> {
  const settle = `update recording set state = $3, sha256 = decode($4, 'hex') where provider = $1 and name = $2 and state = 'wanted'`
  await run(db, settle, [provider, name, sha256 === null ? 'missing' : 'kept', sha256])
}

/** Expires recordings that are older than this. Returns the digests of the blobs to delete. */
export async function expireRecordings(db: Queryable, days: number, limit: number): Promise<string[]> {
  const { rows } = await run<{ sha256: string }>(
    db,
    `update recording r set state = 'expired'
     where (r.provider, r.name) in (
       select provider, name from recording where state = 'kept' and created_at < now() - $1 * interval '1 day'
       order by created_at limit $2 for update skip locked
     )
     returning encode(r.sha256, 'hex') as sha256`,
    [days, limit],
  )
  return rows.map(row => row.sha256)
}

/** Reads a range of the recording that a call's status names; null: there is none; expired: it was deleted. */
export async function readRecording(
  db: Queryable,
  notification: string,
  from: number,
  length: number,
): Promise<{ size: number; bytes: Buffer } | 'expired' | null> {
  const { rows } = await run<{ size: number | null; bytes: Buffer; expired: boolean }>(
    db,
    `select b.size, substring(b.bytes from $2::int + 1 for $3::int) as bytes,
       exists (select from recording r where r.notification_id = $1 and r.sha256 = t.sha256 and r.state = 'expired') as expired
     from delivery d cross join lateral (select decode(d.tracking_code, 'hex') as sha256) t left join blob b on b.sha256 = t.sha256
     where d.notification_id = $1 and d.channel = 'voice' and d.tracking_code is not null`,
    [notification, from, length],
  )
  const row = rows[0]
  // Another notification may still use a blob with the same bytes.
  if (row?.expired) return 'expired'
  return row === undefined || row.size === null ? null : { size: row.size, bytes: row.bytes }
}
