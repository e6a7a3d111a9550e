import { readLogHead } from '../store/evidence/log-head.js'
import type { Queryable } from '../store/postgres.js'
import { splitHashes } from './log.js'
import { buildProofs } from './log-hashes.js'
import { GrowingTree, planRoot } from './tree.js'

/** How far the log of events had come at some moment. */
export interface TreeHead {
  size: number
  /** In hexadecimal. */
  root: string
}

export async function readTreeHead(db: Queryable): Promise<TreeHead> {
  const { size, peaks } = await readLogHead(db)
  return { size, root: new GrowingTree(size, splitHashes(peaks)).root().toString('hex') }
}

/** Whether the log of this database has grown from the given one: false where it is shorter, or another one. */
export async function hasGrownFrom(db: Queryable, older: TreeHead): Promise<boolean> {
  const { size, root } = await readTreeHead(db)
  if (size < older.size) return false
  if (size === older.size) return root === older.root
  if (older.size === 0) return true
  const [[found]] = (await buildProofs(db, [planRoot(older.size)])) as [[Buffer]]
  return found.toString('hex') === older.root
}
