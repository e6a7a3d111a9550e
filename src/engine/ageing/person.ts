import { channelModules } from '../../channels/registry.js'
import { LOWEST_ID } from '../../domain/id.js'
import { listStoredAttachments } from '../../store/notification/attachments.js'
import { type ErasedKind, eraseData, eraseLines, eraseTraces, findOpenBatches } from '../../store/person/erase.js'
import {
  describeNotifications,
  findNotificationIds,
  type Person,
  type PersonsNotification,
  searchPage,
} from '../../store/person/find.js'
import { type Pool, type Queryable, transaction } from '../../store/postgres.js'

export interface FoundPerson {
  notifications: PersonsNotification[]
  /** Batches with lines that are still to be sent to the person. */
  batches: { id: string; name: string }[]
}

const BATCH = 200
const PAGE = 2_000

/**
 * Finds everything that the database holds of one person: docs/adr/0047-personal-data-go-and-the-proof-stays.md. `everywhere`: reads
 * every notification, and finds those that name the person in contents, variables or events alone.
 */
export async function findPerson(db: Queryable, person: Person, everywhere: boolean): Promise<FoundPerson> {
  const ids = new Set(await findNotificationIds(db, person))
  for (let after: string | null = everywhere ? LOWEST_ID : null; after !== null; ) {
    const page: Awaited<ReturnType<typeof searchPage>> = await searchPage(db, person, after, PAGE)
    for (const id of page?.found ?? []) ids.add(id)
    after = page?.last ?? null
  }
  return { notifications: await describeNotifications(db, [...ids].sort()), batches: await findOpenBatches(db, person) }
}

export interface ErasedPerson {
  erased: string[]
  /** Rows that belong to no notification: lines of batches, counts of contacts, reports that matched nothing. */
  traces: number
  /** SHA-256 of files that were used by the notifications. */
  files: string[]
}

const ALL: readonly ErasedKind[] = ['events', 'references', 'webhooks']

/** In one transaction, with `alongside`. What is held or still being delivered stays as it is. */
export const erasePerson = (
  pool: Pool,
  person: Person,
  { notifications }: FoundPerson,
  alongside: (db: Queryable, erased: ErasedPerson) => Promise<void>,
): Promise<ErasedPerson> =>
  transaction(pool, async db => {
    const ids = notifications.filter(({ isOpen, heldBecause }) => !isOpen && heldBecause === null).map(({ id }) => id)
    const result: ErasedPerson = { erased: [], traces: 0, files: [] }
    for (let from = 0; from < ids.length; from += BATCH) {
      const batch = ids.slice(from, from + BATCH)
      for (const id of batch) result.files.push(...(await listFiles(db, id)))
      result.erased.push(...(await eraseData(db, batch, ALL)))
    }
    result.traces = (await eraseTraces(db, person)) + (await eraseLines(db, person))
    await alongside(db, result)
    return result
  })

async function listFiles(db: Queryable, id: string): Promise<string[]> {
  const files = (await listStoredAttachments(db, id)).map(({ sha256 }) => sha256)
  for (const { listPersonalFiles } of channelModules)
    files.push(...((await listPersonalFiles?.(db, id)) ?? []).map(({ sha256 }) => sha256))
  return files
}
