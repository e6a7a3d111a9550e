import { execute, type Pool, type Queryable, run, transaction } from '../../store/postgres.js'

/** Which letter is in which lot, and how far a lot is. Whoever changes who is in a lot, or begins it, holds the lot's lock. */
export interface StoredPlace {
  reference: string
  lot: number
  object: number
  begun: boolean
  uploaded: boolean
  /** null: not begun. */
  upload: StoredUpload | null
}

/** The file of a lot: what it holds, and its name until it gets the one that the post reads. */
export interface StoredUpload {
  part: string
  size: number
  sha256: string
}

/** What the post calls a letter, and which one that is. */
export interface LotName {
  name: string
  notification: string
  ordinal: number
}

/** A new lot for those of the letters that are not with the post, nor on their way; tells where all of them are. */
export function openLot(
  pool: Pool,
  provider: string,
  references: readonly string[],
): Promise<{ lot: number; places: StoredPlace[] }> {
  return transaction(pool, async db => {
    await deletePlaces(db, references, 'waiting')
    const { rows } = await run<{ lot: number }>(db, 'insert into letter_lot (provider) values ($1) returning lot', [provider])
    const { lot } = rows[0]!
    await run(
      db,
      // Sorted, so that two who place the same letters do not wait for each other; the first one's place stays.
      `insert into letter_lot_object (reference, lot, object)
       select r.reference, $1, r.object from unnest($2::text[]) with ordinality as r(reference, object)
       order by r.reference on conflict (reference) do nothing`,
      [lot, references],
    )
    return { lot, places: await findPlaces(db, references) }
  })
}

export async function findPlaces(db: Queryable, references: readonly string[]): Promise<StoredPlace[]> {
  const { rows } = await run<Omit<StoredPlace, 'upload'> & { part: string | null; size: number; sha256: string }>(
    db,
    `select o.reference, o.lot, o.object, l.begun_at is not null as begun, l.uploaded_at is not null as uploaded,
       l.part, l.size, encode(l.sha256, 'hex') as sha256
     from letter_lot_object o join letter_lot l on l.lot = o.lot where o.reference = any($1::text[])`,
    [references],
  )
  return rows.map(({ part, size, sha256, ...place }) => ({ ...place, upload: part === null ? null : { part, size, sha256 } }))
}

/** Takes letters out of lots that are not on their way. Returns those that have a place nevertheless. */
export function leaveLots(pool: Pool, references: readonly string[]): Promise<StoredPlace[]> {
  return transaction(pool, async db => {
    await deletePlaces(db, references, 'waiting')
    return findPlaces(db, references)
  })
}

/**
 * For a person who looked: takes a letter in doubt out of its lot. `begun`: also where the lot was on its way, so that the letter
 * can go with another one.
 */
export function abandonPlace(pool: Pool, notification: string, begun: boolean): Promise<void> {
  return transaction(pool, async db => {
    const { rows } = await run<{ reference: string }>(
      db,
      `select reference from delivery
       where notification_id = $1 and channel = 'letter' and state in ('uncertain', 'unresolved') and reference is not null for update`,
      [notification],
    )
    await deletePlaces(
      db,
      rows.map(row => row.reference),
      begun ? 'not uploaded' : 'waiting',
    )
  })
}

async function deletePlaces(db: Queryable, references: readonly string[], from: 'waiting' | 'not uploaded'): Promise<void> {
  const locked = await run<{ lot: number }>(
    db,
    `select lot from letter_lot where lot in (select lot from letter_lot_object where reference = any($1::text[]))
     order by lot for update`,
    [references],
  )
  await run(
    db,
    // Of the locked lots alone: one that a letter moved to meanwhile may be leaving just now.
    `delete from letter_lot_object o using letter_lot l
     where o.reference = any($1::text[]) and o.lot = any($2::bigint[]) and l.lot = o.lot
       and l.uploaded_at is null and (l.begun_at is null or $3)`,
    [references, locked.rows.map(({ lot }) => lot), from === 'not uploaded'],
  )
}

/**
 * Commits that a lot is about to leave, and what the post will call its letters: what it tells of them finds them also where
 * nobody lives to say that it left. false: it must not leave, since its letters are no longer these.
 */
export function beginLot(
  pool: Pool,
  provider: string,
  lot: number,
  { part, size, sha256 }: StoredUpload,
  names: readonly LotName[],
): Promise<boolean> {
  return transaction(pool, async db => {
    const { rows } = await run<{ begun: boolean }>(
      db,
      'select begun_at is not null as begun from letter_lot where lot = $1 for update',
      [lot],
    )
    const placed = await run<{ count: number }>(db, 'select count(*) from letter_lot_object where lot = $1', [lot])
    if (rows[0]?.begun !== false || placed.rows[0]!.count !== names.length) return false
    await run(db, `update letter_lot set begun_at = now(), part = $2, size = $3, sha256 = decode($4, 'hex') where lot = $1`, [
      lot,
      part,
      size,
      sha256,
    ])
    await run(
      db,
      `insert into carrier_reference (provider, reference, notification_id, channel, ordinal, part, parts)
       select $1, n.name, n.notification, 'letter', n.ordinal, 1, 1
       from jsonb_to_recordset($2::jsonb) as n(name text, notification uuid, ordinal smallint) on conflict do nothing`,
      [provider, JSON.stringify(names)],
    )
    return true
  })
}

export const markUploaded = (db: Queryable, lot: number): Promise<void> =>
  execute(db, 'update letter_lot set uploaded_at = coalesce(uploaded_at, now()) where lot = $1', [lot])

/** Of a lot that never left, nor ever will: its letters can go with others. */
export const dissolveLot = (db: Queryable, lot: number): Promise<void> =>
  execute(db, `delete from letter_lot_object o using letter_lot l where l.lot = $1 and o.lot = l.lot and l.uploaded_at is null`, [
    lot,
  ])

/** No lot has a lower number from now on. */
export function startLotsAt(pool: Pool, first: number): Promise<void> {
  return transaction(pool, async db => {
    // Nobody takes a number meanwhile: it must not go back behind one that is taken.
    await run(db, 'lock table letter_lot in share row exclusive mode')
    await run(
      db,
      `select setval('letter_lot_lot_seq', $1::bigint - 1) from letter_lot_lot_seq
       where case when is_called then last_value + 1 else last_value end < $1::bigint`,
      [first],
    )
  })
}
