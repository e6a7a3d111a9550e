import { type Pool, type Queryable, run, transaction } from '../../store/postgres.js'

/** The place of a letter in a lot, and the state of the lot. The letters of a lot change, and a lot begins, only under its lock. */
export interface StoredPlace {
  reference: string
  lot: number
  object: number
  begun: boolean
  uploaded: boolean
  /** null: not begun. */
  upload: StoredUpload | null
}

/** The file of a lot. */
interface StoredUpload {
  /** Its name until it is renamed to the one that Correios reads. */
  part: string
  size: number
  sha256: string
}

/** Opens a lot for the letters that are not in a begun or uploaded one. Returns the places of all of them. */
export function openLot(pool: Pool, provider: string, references: readonly string[]) {
  return transaction(pool, async db => {
    await deletePlaces(db, references, 'waiting')
    const { rows } = await run<{ lot: number }>(db, 'insert into letter_lot (provider) values ($1) returning lot', [provider])
    const { lot } = rows[0]!
    await run(
      db,
      // Sorted, so that two workers that place the same letters do not deadlock; the first one's place stays.
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

/** Removes letters from lots that are not begun. Returns the places of the others. */
export function leaveLots(pool: Pool, references: readonly string[]): Promise<StoredPlace[]> {
  return transaction(pool, async db => {
    await deletePlaces(db, references, 'waiting')
    return findPlaces(db, references)
  })
}

/**
 * Removes a letter of unknown outcome from its lot after an operator's decision. `begun`: also from a begun lot, so that the letter
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
    const references = rows.map(row => row.reference)
    await deletePlaces(db, references, begun ? 'not uploaded' : 'waiting')
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
    // From the locked lots only: a letter may have moved in the meantime to a lot that is being uploaded.
    `delete from letter_lot_object o using letter_lot l
     where o.reference = any($1::text[]) and o.lot = any($2::bigint[]) and l.lot = o.lot
       and l.uploaded_at is null and (l.begun_at is null or $3)`,
    [references, locked.rows.map(({ lot }) => lot), from === 'not uploaded'],
  )
}

/**
 * Commits that the upload of a lot begins, and the Correios' references of its letters: a report finds its letter even if the
 * worker dies before it records the upload. false: the lot must not be uploaded, because its letters have changed.
 */
export function beginLot(
  pool: Pool,
  provider: string,
  lot: number,
  { part, size, sha256 }: StoredUpload,
  names: readonly { name: string; notification: string; ordinal: number }[],
): Promise<boolean> {
  return transaction(pool, async db => {
    const lock = 'select begun_at is not null as begun from letter_lot where lot = $1 for update'
    const { rows } = await run<{ begun: boolean }>(db, lock, [lot])
    const placed = await run<{ count: number }>(db, 'select count(*) from letter_lot_object where lot = $1', [lot])
    if (rows[0]?.begun !== false || placed.rows[0]!.count !== names.length) return false
    const begin = `update letter_lot set begun_at = now(), part = $2, size = $3, sha256 = decode($4, 'hex') where lot = $1`
    await run(db, begin, [lot, part, size, sha256])
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

export async function markUploaded(db: Queryable, lot: number): Promise<void> {
  await run(db, 'update letter_lot set uploaded_at = coalesce(uploaded_at, now()) where lot = $1', [lot])
}

/** Releases the letters of a lot that was not uploaded and never will be. */
export async function dissolveLot(db: Queryable, lot: number): Promise<void> {
  const release =
    'delete from letter_lot_object o using letter_lot l where l.lot = $1 and o.lot = l.lot and l.uploaded_at is null'
  await run(db, release, [lot])
}

/** No lot gets a lower number from now on. */
export function startLotsAt(pool: Pool, first: number): Promise<void> {
  return transaction(pool, async db => {
    // The lock keeps other workers from taking a number meanwhile: the sequence must not go back behind a taken one.
    await run(db, 'lock table letter_lot in share row exclusive mode')
    await run(
      db,
      `select setval('letter_lot_lot_seq', $1::bigint - 1) from letter_lot_lot_seq
       where case when is_called then last_value + 1 else last_value end < $1::bigint`,
      [first],
    )
  })
}
