import { type HashRange, readHashes } from '../store/evidence/log-nodes.js'
import type { Queryable } from '../store/postgres.js'
import { NODE_STEP, splitHashes } from './log.js'
import { leafHash, nodeHash, type PlannedProof, type Subtree } from './tree.js'

const keyOf = ({ height, place }: Subtree): string => `${height}/${place}`

/**
 * Builds proofs from what is stored: the hashes of leaves, and of the complete sub-trees whose height is a multiple of 8. A sub-tree of
 * another height is computed from at most 128 of those. All proofs of a call share one statement.
 */
export async function buildProofs(db: Queryable, proofs: readonly PlannedProof[]): Promise<Buffer[][]> {
  const needs = [...new Map(proofs.flatMap(proof => proof.needs).map(subtree => [keyOf(subtree), subtree])).values()]
  const ranges = needs.map(rangeOf)
  const stored = needs.length === 0 ? [] : await readHashes(db, ranges)
  const hashes = new Map(needs.map((subtree, index) => [keyOf(subtree), rootOf(stored[index]!, ranges[index]!)]))
  return proofs.map(proof => proof.build(subtree => hashes.get(keyOf(subtree))!))
}

/** The stored hashes from which a sub-tree is computed. */
function rangeOf({ height, place }: Subtree): HashRange {
  const base = height - (height % NODE_STEP)
  const count = 2 ** (height - base)
  return { height: base, from: place * count, to: (place + 1) * count }
}

function rootOf(bytes: Buffer, { height, from, to }: HashRange): Buffer {
  let level = splitHashes(bytes)
  if (level.length !== to - from) throw new Error(`the log lacks hashes of height ${height} from ${from} to ${to}`)
  if (height === 0) level = level.map(leafHash)
  while (level.length > 1) level = level.flatMap((hash, index) => (index % 2 === 0 ? [nodeHash(hash, level[index + 1]!)] : []))
  return level[0]!
}
