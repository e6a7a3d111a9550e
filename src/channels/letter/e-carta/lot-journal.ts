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
import type { LotJournal, LotPlace } from './lots.js'

/** The journal of e-Carta's lots in the database. `carrier`: the carrier of the references that Correios gives to letters. */
export function createLotJournal(pool: Pool, carrier: string): LotJournal {
  return {
    async open(references) {
      const { lot, places } = await openLot(pool, carrier, references)
      return { lot, places: byReference(places) }
    },
    begin: (lot, upload, letters) =>
      beginLot(
        pool,
        carrier,
        lot,
        upload,
        letters.map(({ reference, object }) => ({ name: objectName(lot, object), ...readReference(reference) })),
      ),
    uploaded: lot => markUploaded(pool, lot),
    withdraw: async references => byReference(await leaveLots(pool, references)),
    find: async reference => (await findPlaces(pool, [reference]))[0] ?? null,
    dissolve: lot => dissolveLot(pool, lot),
    startAt: first => startLotsAt(pool, first),
  }
}

const byReference = (places: readonly StoredPlace[]): Map<string, LotPlace> =>
  new Map(places.map(place => [place.reference, place]))

/** A reference consists of notification, channel and ordinal. */
function readReference(reference: string): { notification: string; ordinal: number } {
  const [notification, , ordinal] = reference.split('.')
  return { notification: notification!, ordinal: Number(ordinal) }
}
