import { type ObjectStore, ObjectStoreFault } from './object-store.js'

/** What can be away by itself: a full disk takes nothing, and is still read. */
type Access = 'put' | 'read' | 'delete' | 'list'

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
  const back = (access: Access): void => {
    const since = lostAt.get(access)
    if (lostAt.delete(access)) onBack(Math.round(now() - since!), access)
  }
  const lost = (access: Access, error: unknown): void => {
    if (!(error instanceof ObjectStoreFault) || lostAt.has(access)) return
    lostAt.set(access, now())
    onLost(error, access)
  }
  const watched = async <T>(access: Access, work: Promise<T>): Promise<T> => {
    try {
      const result = await work
      back(access)
      return result
    } catch (error) {
      lost(access, error)
      throw error
    }
  }
  async function* list(folder: string): ReturnType<ObjectStore['list']> {
    try {
      yield* store.list(folder)
      back('list')
    } catch (error) {
      lost('list', error)
      throw error
    }
  }
  return {
    name: store.name,
    put: (...asked) => watched('put', store.put(...asked)),
    read: (...asked) => watched('read', store.read(...asked)),
    delete: (...asked) => watched('delete', store.delete(...asked)),
    list,
    listFolders: () => watched('list', store.listFolders()),
  }
}
