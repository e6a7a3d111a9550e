export interface ServerMark {
  /** PostgreSQL's system identifier; '0': the service does not tell. */
  server: string
  /** The database's number on its server. */
  database: number
  /** Begins again with a promotion or a recovery; 0: the service does not tell. */
  timeline: number
}

/**
 * What a node remembers outside the database, compared with it. exact: the node stopped, and the database ends where it did; contained: it has all that
 * the memory has, and more; missing: it lacks some of that; copied: the memory itself was copied with its folder; none: there is no memory.
 */
export type Memory = 'exact' | 'contained' | 'missing' | 'copied' | 'none'

export type CopyCause = 'backup' | 'server' | 'timeline' | 'behind' | 'folder'

/**
 * same: the living one; moved: the living one, on another server or timeline; ask others: another node may remember more, so that this
 * node waits before it decides alone.
 */
export type CopyVerdict = 'same' | 'moved' | 'ask others' | { cause: CopyCause }

/**
 * Whether the database that answers is the living one, or a copy of it that was restored or promoted:
 * docs/adr/0043-an-old-copy-sends-nothing.md.
 */
export function judgeCopy(recorded: ServerMark, current: ServerMark, memory: Memory, othersHadTime: boolean): CopyVerdict {
  if (memory === 'missing') return { cause: 'behind' }
  if (memory === 'copied') return { cause: 'folder' }
  const isOtherServer = differs(recorded.server, current.server, '0') || recorded.database !== current.database
  // A dump is of one moment, and the old server may have gone on: only a memory that ends where the dump does speaks against that.
  if (isOtherServer)
    return memory === 'exact' ? 'moved' : memory === 'contained' || othersHadTime ? { cause: 'server' } : 'ask others'
  const isOtherTimeline = differs(recorded.timeline, current.timeline, 0)
  if (memory === 'none') {
    if (!othersHadTime) return 'ask others'
    return isOtherTimeline ? { cause: 'timeline' } : 'same'
  }
  return isOtherTimeline ? 'moved' : 'same'
}

const differs = <T>(recorded: T, current: T, unknown: T): boolean =>
  recorded !== unknown && current !== unknown && recorded !== current
