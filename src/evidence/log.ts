import { setTimeout as sleep } from 'node:timers/promises'
import { insertCheckpoint } from '../store/evidence/checkpoints.js'
import { isLogWhole, lockLogHead, moveLogHead } from '../store/evidence/log-head.js'
import { appendLeaves } from '../store/evidence/log-leaves.js'
import { insertNodes, type LogNode } from '../store/evidence/log-nodes.js'
import type { EventPosition } from '../store/notification/event-log.js'
import { isUniqueViolation, type Pool, type Queryable, transaction } from '../store/postgres.js'
import type { LogKey } from './log-key.js'
import { checkpointText, signNote } from './note.js'
import { GrowingTree, HASH_BYTES } from './tree.js'

export interface LogParts {
  pool: Pool
  key: LogKey
  pageSize?: number
  /** Between two checkpoints while events keep coming. With the second between two polls, an event waits for less than 5 s. */
  checkpointEveryMs?: number
}

const PAGE_SIZE = 2_000
const CHECKPOINT_EVERY_MS = 1_500
/** The nodes of every eighth height of the tree are stored. */
export const NODE_STEP = 8

/** Events carry transaction ids of another server: see "Cópia e restauração" in docs/operacao.md. */
export class ForeignEvents extends Error {
  constructor() {
    super(
      'events carry transaction ids that this server has not given out: the log waits (docs/operacao.md, "Cópia e restauração")',
    )
  }
}

/**
 * Appends the events that were committed since the last call to the log and signs a checkpoint where one is due:
 * docs/adr/0031-one-log-of-all-events.md. Another node's work is not waited for.
 */
export async function extendLog(parts: LogParts, signal?: AbortSignal): Promise<void> {
  let passOver = false
  for (let more = true; more && signal?.aborted !== true; ) {
    try {
      const outcome = await transaction(parts.pool, db => extendByPage(db, parts, passOver))
      if (outcome === 'foreign events') throw new ForeignEvents()
      more = outcome === 'more'
    } catch (error) {
      // The reader began again, and the log has some of the events.
      if (passOver || !isUniqueViolation(error)) throw error
      passOver = true
    }
  }
}

const FINISH_TRIES = 10
const FINISH_EVERY_MS = 100

/**
 * For a node that stops: appends until the log has every event. false: some are missing, because other transactions are open or another node
 * is appending.
 */
export async function finishLog(parts: LogParts, tries = FINISH_TRIES): Promise<boolean> {
  for (let n = 1; ; n++) {
    await extendLog(parts)
    if (await isLogWhole(parts.pool)) return true
    if (n >= tries) return false
    await sleep(FINISH_EVERY_MS)
  }
}

type Outcome = 'more' | 'done' | 'foreign events'

async function extendByPage(db: Queryable, parts: LogParts, passOver: boolean): Promise<Outcome> {
  const { pageSize = PAGE_SIZE, checkpointEveryMs = CHECKPOINT_EVERY_MS, key } = parts
  const head = await lockLogHead(db)
  if (head === null) return 'done'
  const server = head.currentServer
  if (head.hasForeignEvents) {
    // Until they are gone, new events get ids below the position: the reader begins again then.
    if (head.position !== null) await moveLogHead(db, { ...head, position: null, server })
    return 'foreign events'
  }
  const position: EventPosition | null = head.server === server ? head.position : null
  const tree = new GrowingTree(head.size, splitHashes(head.peaks))
  const { read, hashes, last } = await appendLeaves(db, { size: head.size, position, limit: pageSize, passOver })
  if (read > 0) {
    const nodes: LogNode[] = []
    for (const hash of splitHashes(hashes)) {
      tree.append(hash, (subtree, found) => subtree.height % NODE_STEP === 0 && nodes.push({ ...subtree, hash: found }))
    }
    if (nodes.length > 0) await insertNodes(db, nodes)
    await moveLogHead(db, { size: tree.size, peaks: Buffer.concat(tree.peaks), position: last, server })
  }
  const { newest, now } = head
  const isNew = tree.size > (newest?.size ?? 0)
  const ageMs = now.getTime() - (newest?.at.getTime() ?? 0)
  const isFull = read === pageSize
  if (isNew && (ageMs >= checkpointEveryMs || ageMs < 0)) {
    // A clock that went back does not take the checkpoints with it.
    const at = newest !== null && newest.at > now ? newest.at : now
    const root = tree.root()
    await insertCheckpoint(db, {
      size: tree.size,
      root,
      note: signNote(checkpointText(key.origin, tree.size, root, at), key.origin, key.privateKey),
      at,
    })
  }
  return isFull ? 'more' : 'done'
}

/** Hashes that were written one after the other. */
export function splitHashes(bytes: Buffer): Buffer[] {
  return Array.from({ length: bytes.length / HASH_BYTES }, (_, index) =>
    bytes.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES),
  )
}
