import { hash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { nodeTools } from '../../src/evidence/node-tools.js'
import {
  EMPTY_ROOT,
  GrowingTree,
  leafHash,
  nodeHash,
  type PlannedProof,
  planConsistency,
  planInclusion,
  type Subtree,
} from '../../src/evidence/tree.js'
import { isIncluded } from '../../src/evidence/verify/merkle.js'
import fc from '../support/generated.js'
import { verifyConsistency } from './consistency.js'

const isAt = (leaf: Buffer, place: number, size: number, path: readonly Buffer[], root: Buffer): Promise<boolean> =>
  isIncluded({ leaf, place, size, path, root }, nodeTools)

/** The definitions of RFC 6962, word for word, to compare with. */
const sha256 = (...parts: Uint8Array[]): Buffer => hash('sha256', Buffer.concat(parts), 'buffer')

function naiveRoot(leaves: readonly Buffer[]): Buffer {
  if (leaves.length === 0) return sha256()
  if (leaves.length === 1) return sha256(Buffer.of(0), leaves[0]!)
  const k = split(leaves.length)
  return sha256(Buffer.of(1), naiveRoot(leaves.slice(0, k)), naiveRoot(leaves.slice(k)))
}

function naivePath(m: number, leaves: readonly Buffer[]): Buffer[] {
  if (leaves.length === 1) return []
  const k = split(leaves.length)
  return m < k
    ? [...naivePath(m, leaves.slice(0, k)), naiveRoot(leaves.slice(k))]
    : [...naivePath(m - k, leaves.slice(k)), naiveRoot(leaves.slice(0, k))]
}

function naiveConsistency(m: number, leaves: readonly Buffer[], whole = true): Buffer[] {
  if (m === leaves.length) return whole ? [] : [naiveRoot(leaves)]
  const k = split(leaves.length)
  return m <= k
    ? [...naiveConsistency(m, leaves.slice(0, k), whole), naiveRoot(leaves.slice(k))]
    : [...naiveConsistency(m - k, leaves.slice(k), false), naiveRoot(leaves.slice(0, k))]
}

function split(n: number): number {
  let k = 1
  while (k * 2 < n) k *= 2
  return k
}

const leavesOf = (count: number): Buffer[] => Array.from({ length: count }, (_, index) => Buffer.from(`leaf ${index}`))

function grow(leaves: readonly Buffer[]) {
  const tree = new GrowingTree()
  const kept = new Map<string, Buffer>()
  for (const [index, leaf] of leaves.entries()) {
    kept.set(`0/${index}`, leafHash(leaf))
    tree.append(leaf, ({ height, place }, found) => kept.set(`${height}/${place}`, found))
  }
  const hashOf = ({ height, place }: Subtree): Buffer => kept.get(`${height}/${place}`)!
  return { tree, build: (proof: PlannedProof): Buffer[] => proof.build(hashOf) }
}

const hex = (hashes: readonly Buffer[]): string[] => hashes.map(value => value.toString('hex'))

describe('the test vectors of Certificate Transparency', () => {
  const leaves = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f'].map(text =>
    Buffer.from(text, 'hex'),
  )

  test('roots', () => {
    expect(EMPTY_ROOT.toString('hex')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
    expect(
      leaves.map((_, index) =>
        grow(leaves.slice(0, index + 1))
          .tree.root()
          .toString('hex'),
      ),
    ).toEqual([
      '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
      'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
      'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
      'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
      '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
      '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
      'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
      '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
    ])
  })

  test('proofs', () => {
    const { build } = grow(leaves)
    expect(hex(build(planInclusion(0, 8)))).toEqual([
      '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
      '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
      '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
    ])
    expect(hex(build(planConsistency(6, 8)))).toEqual([
      '0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a',
      'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
      'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    ])
    expect(hex(build(planConsistency(2, 5)))).toEqual([
      '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
      'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
    ])
  })
})

test('roots and proofs of all sizes are those of the definitions of the RFC, and verify', async () => {
  const leaves = leavesOf(35)
  const { build } = grow(leaves)
  for (let size = 1; size <= leaves.length; size++) {
    const now = leaves.slice(0, size)
    const root = naiveRoot(now)
    expect(grow(now).tree.root()).toEqual(root)
    for (let leaf = 0; leaf < size; leaf++) {
      const path = build(planInclusion(leaf, size))
      expect(path).toEqual(naivePath(leaf, now))
      expect(await isAt(leaves[leaf]!, leaf, size, path, root)).toBe(true)
    }
    for (let older = 1; older <= size; older++) {
      const proof = build(planConsistency(older, size))
      expect(proof).toEqual(naiveConsistency(older, now))
      expect(verifyConsistency(older, naiveRoot(leaves.slice(0, older)), size, root, proof)).toBe(true)
    }
  }
})

test('a proof that is changed in any way does not verify', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 2, max: 300 }),
      fc.nat(),
      fc.nat(),
      fc.constantFrom('bit', 'shorter', 'longer', 'leaf', 'size', 'root', 'order'),
      async (size, at, bit, damage) => {
        const leaves = leavesOf(size)
        const { tree, build } = grow(leaves)
        const leaf = at % size
        const flip = (bytes: Buffer): Buffer => {
          const copy = Buffer.from(bytes)
          const place = bit % copy.length
          copy[place] = copy[place]! ^ (1 << (bit % 8))
          return copy
        }
        const path = build(planInclusion(leaf, size))
        const root = tree.root()
        const own = leaves[leaf]!
        const step = bit % path.length
        const verdict = {
          bit: () => isAt(own, leaf, size, path.with(step, flip(path[step]!)), root),
          shorter: () => isAt(own, leaf, size, path.slice(1), root),
          longer: () => isAt(own, leaf, size, [...path, leafHash(own)], root),
          leaf: () => isAt(own, (leaf + 1 + (bit % (size - 1))) % size, size, path, root),
          size: async () => (await isAt(own, leaf, leaf, path, root)) || isAt(own, leaf, size * 4, path, root),
          root: () => isAt(own, leaf, size, path, flip(root)),
          order: async () => path.length > 1 && isAt(own, leaf, size, path.toReversed(), root),
        }
        expect(await verdict[damage]()).toBe(false)

        const older = 1 + (at % (size - 1))
        const olderRoot = naiveRoot(leaves.slice(0, older))
        const proof = build(planConsistency(older, size))
        const place = bit % proof.length
        expect(verifyConsistency(older, olderRoot, size, root, proof)).toBe(true)
        expect(verifyConsistency(older, olderRoot, size, root, proof.with(place, flip(proof[place]!)))).toBe(false)
        expect(verifyConsistency(older, flip(olderRoot), size, root, proof)).toBe(false)
        expect(verifyConsistency(older, olderRoot, size, flip(root), proof)).toBe(false)
        expect(verifyConsistency(older, olderRoot, size, root, proof.slice(1))).toBe(false)
        expect(verifyConsistency(size, root, older, olderRoot, proof)).toBe(false)
      },
    ),
    { numRuns: 100 },
  )
})

test('a tree goes on from its complete parts', () => {
  const leaves = leavesOf(1_000)
  const first = grow(leaves.slice(0, 619)).tree
  const second = new GrowingTree(first.size, first.peaks)
  for (const leaf of leaves.slice(619)) second.append(leaf)
  expect(second.root()).toEqual(naiveRoot(leaves))
  expect(second.size).toBe(1_000)
  expect(() => new GrowingTree(3, [EMPTY_ROOT])).toThrow(/complete parts/)
  expect(nodeHash(leafHash(leaves[0]!), leafHash(leaves[1]!))).toEqual(grow(leaves.slice(0, 2)).tree.root())
})
