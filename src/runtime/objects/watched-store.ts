import { type ObjectStore, ObjectStoreFault } from './object-store.js'

/** What can be away by itself: a full disk takes nothing, and is still read. */
type Access = 'put' | 'read' | 'delete'

/** Hears of an outage once when it begins and once when it ends, however many requests fail meanwhile. */
interface OutageEvents {
  onLost(error: unknown, access: Access): void
  onBack(downMs: number, access: Access): void
  /** Replaces the clock, in tests. */
  now?(): number
}

/** The same store, which tells of its outages. */
export function watchStore(store: ObjectStore, { onLost, onBack, now = () => performance.now() }: OutageEvents): ObjectStore {
  const lostAt = new Map<Access, number>()
  const watched = async <T>(access: Access, work: Promise<T>): Promise<T> => {
    try {
      const result = await work
      const since = lostAt.get(access)
      if (lostAt.delete(access)) onBack(Math.round(now() - since!), access)
      return result
    } catch (error) {
      if (error instanceof ObjectStoreFault && !lostAt.has(access)) {
        lostAt.set(access, now())
        onLost(error, access)
      }
      throw error
    }
  }
  return {
    name: store.name,
    put: (...asked) => watched('put', store.put(...asked)),
    read: (...asked) => watched('read', store.read(...asked)),
    delete: (...asked) => watched('delete', store.delete(...asked)),
    list: folder => store.list(folder),
    listFolders: () => store.listFolders(),
  }
}
