import { execute, type Pool, type Queryable, queryValue, queryValues, run, transaction } from '../../store/postgres.js'

/** A letter's place in a lot, and the progress of the lot. The lot is locked while its letters change and while it begins. */
export interface StoredPlace {
  reference: string
  lot: number
  object: number
  begun: boolean
  uploaded: boolean
  /** null: not begun. */
  upload: StoredUpload | null
}

/** The file of a lot. `part` is its name until the upload is complete. */
export interface StoredUpload {
  part: string
  size: number
  sha256: string
}

/** The post's name for a letter. */
export interface LotName {
  name: string
  notification: string
  ordinal: number
}

/** Opens a lot for the letters that are in no lot that has begun. Returns the places of all letters. */
export function openLot(
  pool: Pool,
  carrier: string,
  references: readonly string[],
): Promise<{ lot: number; places: StoredPlace[] }> {
  return transaction(pool, async db => {
    await deletePlaces(db, references, 'waiting')
    await leaveOtherCarriers(db, carrier, references)
    const lot = (await queryValue<number>(db, 'insert into letter_lot (carrier) values ($1) returning lot', [carrier]))!
    await run(
      db,
      // Sorted, so that two transactions with the same letters cannot deadlock; the first place stays.
      `insert into letter_lot_object (reference, lot, object)
       select r.reference, $1, r.object from unnest($2::text[]) with ordinality as r(reference, object)
       order by r.reference on conflict (reference) do nothing`,
      [lot, references],
    )
    return { lot, places: await findPlaces(db, carrier, references) }
  })
}

export async function findPlaces(db: Queryable, carrier: string, references: readonly string[]): Promise<StoredPlace[]> {
  const { rows } = await run<Omit<StoredPlace, 'upload'> & { part: string | null; size: number; sha256: string }>(
    db,
    `select o.reference, o.lot, o.object, l.begun_at is not null as begun, l.uploaded_at is not null as uploaded,
       l.part, l.size, encode(l.sha256, 'hex') as sha256
     from letter_lot_object o join letter_lot l on l.lot = o.lot where l.carrier = $1 and o.reference = any($2::text[])`,
    [carrier, references],
  )
  return rows.map(({ part, size, sha256, ...place }) => ({ ...place, upload: part === null ? null : { part, size, sha256 } }))
}

/** Takes letters out of lots that have not begun. Returns the places of the others. */
export function leaveLots(pool: Pool, carrier: string, references: readonly string[]): Promise<StoredPlace[]> {
  return transaction(pool, async db => {
    await deletePlaces(db, references, 'waiting')
    return findPlaces(db, carrier, references)
  })
}

/**
 * A letter that is sent by this carrier now is one that no other carrier has, or that an operator wants to be sent again: its
 * place in a lot of another carrier says nothing of this carrier.
 */
const leaveOtherCarriers = (db: Queryable, carrier: string, references: readonly string[]): Promise<void> =>
  execute(
    db,
    `delete from letter_lot_object o using letter_lot l
     where o.reference = any($2::text[]) and l.lot = o.lot and l.carrier <> $1`,
    [carrier, references],
  )

/** For an operator: takes a letter with unknown outcome out of its lot. A retry takes it also out of a lot that has begun. */
export function abandonPlace(pool: Pool, notification: string, isRetry: boolean): Promise<void> {
  return transaction(pool, async db => {
    const references = await queryValues<string>(
      db,
      `select reference from delivery
       where notification_id = $1 and channel = 'letter' and state in ('uncertain', 'unresolved') and reference is not null for update`,
      [notification],
    )
    await deletePlaces(db, references, isRetry ? 'not uploaded' : 'waiting')
  })
}

async function deletePlaces(db: Queryable, references: readonly string[], from: 'waiting' | 'not uploaded'): Promise<void> {
  const locked = await queryValues<number>(
    db,
    `select lot from letter_lot where lot in (select lot from letter_lot_object where reference = any($1::text[]))
     order by lot for update`,
    [references],
  )
  await run(
    db,
    // Only of the locked lots: a letter may have moved to a lot that is beginning now.
    `delete from letter_lot_object o using letter_lot l
     where o.reference = any($1::text[]) and o.lot = any($2::bigint[]) and l.lot = o.lot
       and l.uploaded_at is null and (l.begun_at is null or $3)`,
    [references, locked, from === 'not uploaded'],
  )
}

/**
 * Commits the start of an upload and the names of Correios for the letters, so that reports find them even if this process dies.
 * False: the lot must not be uploaded, because its letters have changed.
 */
export function beginLot(
  pool: Pool,
  carrier: string,
  lot: number,
  { part, size, sha256 }: StoredUpload,
  names: readonly LotName[],
): Promise<boolean> {
  return transaction(pool, async db => {
    const begun = await queryValue<boolean>(db, 'select begun_at is not null from letter_lot where lot = $1 for update', [lot])
    const placed = await queryValue<number>(db, 'select count(*) from letter_lot_object where lot = $1', [lot])
    if (begun !== false || placed !== names.length) return false
    await run(db, `update letter_lot set begun_at = now(), part = $2, size = $3, sha256 = decode($4, 'hex') where lot = $1`, [
      lot,
      part,
      size,
      sha256,
    ])
    await run(
      db,
      `insert into carrier_reference (carrier, reference, notification_id, channel, ordinal, part, parts)
       select $1, n.name, n.notification, 'letter', n.ordinal, 1, 1
       from jsonb_to_recordset($2::jsonb) as n(name text, notification uuid, ordinal smallint) on conflict do nothing`,
      [carrier, JSON.stringify(names)],
    )
    return true
  })
}

export const markUploaded = (db: Queryable, lot: number): Promise<void> =>
  execute(db, 'update letter_lot set uploaded_at = coalesce(uploaded_at, now()) where lot = $1', [lot])

/** Takes the letters out of a lot that was not and will not be uploaded. */
export const dissolveLot = (db: Queryable, lot: number): Promise<void> =>
  execute(db, `delete from letter_lot_object o using letter_lot l where l.lot = $1 and o.lot = l.lot and l.uploaded_at is null`, [
    lot,
  ])

/** No lot has a lower number from now on. */
export function startLotsAt(pool: Pool, first: number): Promise<void> {
  return transaction(pool, async db => {
    // No number is taken meanwhile: the sequence must not go back behind a number in use.
    await run(db, 'lock table letter_lot in share row exclusive mode')
    await run(
      db,
      `select setval('letter_lot_lot_seq', $1::bigint - 1) from letter_lot_lot_seq
       where case when is_called then last_value + 1 else last_value end < $1::bigint`,
      [first],
    )
  })
}

/** Seconds since this moment number the lots after a restoration; they stay within nine digits until 2057. */
const RESTORED_SINCE = '2026-01-01T00:00:00Z'
const RESTORED_SKIP = 100_000

/**
 * The database is an older copy: lots were uploaded since under numbers that it does not know, and the returns of those lots must not be
 * recorded for other letters. The time makes a second restoration of the same copy skip the numbers used after the first one.
 */
export async function skipRestoredLots(db: Queryable): Promise<void> {
  await run(db, 'lock table letter_lot in share row exclusive mode')
  await run(
    db,
    `select setval('letter_lot_lot_seq', greatest(last_value + $1::bigint, extract(epoch from now() - $2::timestamptz)::bigint))
     from letter_lot_lot_seq`,
    [RESTORED_SKIP, RESTORED_SINCE],
  )
}
