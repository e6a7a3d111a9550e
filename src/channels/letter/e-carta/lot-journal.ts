import { expectReference } from '../../../domain/delivery/reference.js'
import type { Pool } from '../../../store/postgres.js'
import {
  beginLot,
  dissolveLot,
  findPlaces,
  leaveLots,
  markUploaded,
  openLot,
  type StoredPlace,
  startLotsAt,
} from '../lot-store.js'
import { objectName } from './files.js'

export type LotJournal = ReturnType<typeof createLotJournal>
export type LotPlace = Omit<StoredPlace, 'reference'>
export type Upload = NonNullable<StoredPlace['upload']>

/** The journal of the lots of one carrier, by its identity, in the database. */
export function createLotJournal(pool: Pool, carrier: string) {
  return {
    /** Opens a lot for the letters that are not in an uploaded or begun lot. Returns the lot of every letter. */
    async open(references: readonly string[]) {
      const { lot, places } = await openLot(pool, carrier, references)
      return { lot, places: byReference(places) }
    },
    /** Commits that the upload begins. false: the letters of the lot have changed, so it must not be uploaded. */
    begin(lot: number, upload: Upload, letters: readonly { reference: string; object: number }[]) {
      const names = letters.map(({ reference, object }) => {
        const { notification, ordinal } = expectReference(reference)
        return { name: objectName(lot, object), notification, ordinal }
      })
      return beginLot(pool, carrier, lot, upload, names)
    },
    uploaded: (lot: number) => markUploaded(pool, lot),
    /** Removes letters from lots that are not begun. Returns the letters that remain in a lot. */
    withdraw: async (references: readonly string[]) => byReference(await leaveLots(pool, carrier, references)),
    find: async (reference: string): Promise<LotPlace | null> => (await findPlaces(pool, carrier, [reference]))[0] ?? null,
    /** Releases the letters of a lot that was not uploaded and never will be. */
    dissolve: (lot: number) => dissolveLot(pool, lot),
    /** No lot gets a lower number from now on. */
    startAt: (first: number) => startLotsAt(pool, first),
  }
}

const byReference = (places: readonly StoredPlace[]): Map<string, LotPlace> =>
  new Map(places.map(place => [place.reference, place]))
