import { hash as digest } from 'node:crypto'

/**
 * The Merkle tree of RFC 6962 (the same in RFC 9162), without input or output. A complete sub-tree of 2^height leaves is named by its
 * height and its place among those of the same height. Numbers stay below 2^53.
 */
export interface Subtree {
  height: number
  place: number
}

/** The leaves `from` (included) to `to` (not included). */
interface LeafRange {
  from: number
  to: number
}

export const HASH_BYTES = 32
/** Where the parts of a node are put together: every event of the log passes here, and a new buffer costs as much as the hash. */
const node = Buffer.alloc(1 + 2 * HASH_BYTES, 1)

const sha256 = (bytes: Uint8Array): Buffer => digest('sha256', bytes, 'buffer')

/** The root of a tree without leaves. */
export const EMPTY_ROOT: Buffer = sha256(Buffer.alloc(0))

export const leafHash = (leaf: Uint8Array): Buffer => sha256(Buffer.concat([Buffer.of(0), leaf]))

export function nodeHash(left: Uint8Array, right: Uint8Array): Buffer {
  node.set(left, 1)
  node.set(right, 1 + HASH_BYTES)
  return sha256(node)
}

/** The largest power of two below a number of leaves, where RFC 6962 splits them. */
function splitOf(leaves: number): number {
  let power = 1
  while (power * 2 < leaves) power *= 2
  return power
}

/**
 * A tree that only grows: it keeps the roots of its complete sub-trees, the largest first, one for each bit of its size. That is all that
 * appending and the root need.
 */
export class GrowingTree {
  #size: number
  readonly #peaks: Buffer[]

  constructor(size = 0, peaks: readonly Buffer[] = []) {
    if (peaks.length !== countBits(size)) throw new Error(`a tree of ${size} leaves has ${countBits(size)} complete parts`)
    this.#size = size
    this.#peaks = [...peaks]
  }

  get size(): number {
    return this.#size
  }

  get peaks(): readonly Buffer[] {
    return this.#peaks
  }

  /** `onSubtree` is told of every complete sub-tree that the leaf finishes, the leaf itself left out. */
  append(leaf: Uint8Array, onSubtree?: (subtree: Subtree, hash: Buffer) => void): void {
    let hash = leafHash(leaf)
    let place = this.#size
    for (let height = 1; place % 2 === 1; height++) {
      hash = nodeHash(this.#peaks.pop()!, hash)
      place = (place - 1) / 2
      onSubtree?.({ height, place }, hash)
    }
    this.#peaks.push(hash)
    this.#size++
  }

  root(): Buffer {
    return foldPeaks(this.#peaks)
  }
}

const foldPeaks = (peaks: readonly Buffer[]): Buffer =>
  peaks.length === 0 ? EMPTY_ROOT : peaks.reduceRight((right, left) => nodeHash(left, right))

function countBits(size: number): number {
  let count = 0
  for (let rest = size; rest > 0; rest = Math.floor(rest / 2)) count += rest % 2
  return count
}

/** The complete sub-trees of a range, from left to right. The range begins where a sub-tree at least as large as itself may begin. */
function subtreesOf({ from, to }: LeafRange): Subtree[] {
  const subtrees: Subtree[] = []
  for (let start = from; start < to; ) {
    let [height, length] = [0, 1]
    for (; length * 2 <= to - start; length *= 2) height++
    subtrees.push({ height, place: start / length })
    start += length
  }
  return subtrees
}

/** PATH(leaf, size) of RFC 6962, section 2.1.1: the ranges whose hashes are the path, from the leaf to the root. */
function inclusionRanges(leaf: number, size: number): LeafRange[] {
  if (leaf >= size) throw new Error(`leaf ${leaf} is not in a tree of ${size}`)
  const ranges: LeafRange[] = []
  let [from, to] = [0, size]
  while (to - from > 1) {
    const middle = from + splitOf(to - from)
    if (leaf < middle) {
      ranges.push({ from: middle, to })
      to = middle
    } else {
      ranges.push({ from, to: middle })
      from = middle
    }
  }
  return ranges.reverse()
}

/** PROOF(older, size) of RFC 6962, section 2.1.2, as ranges. */
function consistencyRanges(older: number, size: number): LeafRange[] {
  if (older > size) throw new Error(`a tree of ${size} leaves is not one of ${older} that grew`)
  if (older === 0 || older === size) return []
  const ranges: LeafRange[] = []
  let [from, to] = [0, size]
  let isWhole = true
  while (to > older) {
    const middle = from + splitOf(to - from)
    if (older <= middle) {
      ranges.push({ from: middle, to })
      to = middle
    } else {
      ranges.push({ from, to: middle })
      from = middle
      isWhole = false
    }
  }
  if (!isWhole) ranges.push({ from, to })
  return ranges.reverse()
}

/** A proof, once the hashes of the complete sub-trees that it needs are at hand: they are read at once, for several proofs. */
export interface PlannedProof {
  readonly needs: readonly Subtree[]
  build(hashOf: (subtree: Subtree) => Buffer): Buffer[]
}

function plan(ranges: readonly LeafRange[]): PlannedProof {
  const parts = ranges.map(subtreesOf)
  return { needs: parts.flat(), build: hashOf => parts.map(subtrees => foldPeaks(subtrees.map(hashOf))) }
}

/** The root of the first leaves, as the only hash of the proof. */
export const planRoot = (size: number): PlannedProof => plan([{ from: 0, to: size }])
export const planInclusion = (leaf: number, size: number): PlannedProof => plan(inclusionRanges(leaf, size))
export const planConsistency = (older: number, size: number): PlannedProof => plan(consistencyRanges(older, size))
