import type { Json } from '../domain/canonical-json.js'
import { type Pool, type Queryable, run, transaction } from './postgres.js'

/** Which letter is in which lot, settled before a lot is made. */
export interface LotLetter {
  reference: string
  line: Json
  sha256: string
}

export interface LotAssignment {
  reference: string
  lot: number
  object: number
  uploaded: boolean
}

/** Gives the letters that have no place yet the next ones of a new lot, and tells where all of them are. */
export function assignLots(pool: Pool, carrier: string, letters: readonly LotLetter[]): Promise<LotAssignment[]> {
  const references = letters.map(({ reference }) => reference)
  return transaction(pool, async db => {
    const known = new Set((await findPlaces(db, references)).map(({ reference }) => reference))
    const fresh = letters.filter(({ reference }) => !known.has(reference))
    if (fresh.length > 0) {
      const { rows } = await run<{ lot: number }>(db, 'insert into letter_lot (carrier) values ($1) returning lot', [carrier])
      await insertObjects(db, rows[0]!.lot, fresh)
    }
    return findPlaces(db, references)
  })
}

async function findPlaces(db: Queryable, references: readonly string[]): Promise<LotAssignment[]> {
  const { rows } = await run<LotAssignment>(
    db,
    `select o.reference, o.lot, o.object, l.uploaded_at is not null as uploaded
     from letter_lot_object o join letter_lot l on l.lot = o.lot where o.reference = any($1::text[])`,
    [references],
  )
  return rows
}

/** A letter that somebody else placed meanwhile keeps that place. */
async function insertObjects(db: Queryable, lot: number, letters: readonly LotLetter[]): Promise<void> {
  await run(
    db,
    `insert into letter_lot_object (reference, lot, object, line, sha256)
     select r.reference, $1, r.object, r.line, decode(r.sha256, 'hex')
     from jsonb_to_recordset($2::jsonb) as r(reference text, object int, line jsonb, sha256 text)
     order by r.reference on conflict (reference) do nothing`,
    [lot, JSON.stringify(letters.map((letter, index) => ({ ...letter, object: index + 1 })))],
  )
}

export interface StoredLotObject {
  object: number
  line: Json
  pdf: Buffer
}

/** The letters of a lot with their PDFs; those of a lot that is with the post are no longer kept here. */
export async function readLot(db: Queryable, lot: number): Promise<StoredLotObject[]> {
  const { rows } = await run<StoredLotObject>(
    db,
    `select o.object, o.line, b.bytes as pdf from letter_lot_object o join blob b on b.sha256 = o.sha256
     where o.lot = $1 and o.line is not null order by o.object`,
    [lot],
  )
  return rows
}

export async function markUploaded(db: Queryable, lot: number): Promise<void> {
  await run(
    db,
    `with sent as (update letter_lot set uploaded_at = coalesce(uploaded_at, now()) where lot = $1)
     update letter_lot_object set line = null where lot = $1`,
    [lot],
  )
}
