import { EMPTY_ROOT, HASH_BYTES, nodeHash } from '../../src/evidence/tree.js'

/** RFC 9162, section 2.1.4.2: whether the tree of `size` leaves begins with the leaves of the older one. */
export function verifyConsistency(
  older: number,
  olderRoot: Uint8Array,
  size: number,
  root: Uint8Array,
  proof: readonly Uint8Array[],
): boolean {
  if (!Number.isSafeInteger(older) || !Number.isSafeInteger(size) || older < 0 || older > size) return false
  if (proof.some(step => step.length !== HASH_BYTES)) return false
  if (older === size) return proof.length === 0 && isSame(olderRoot, root)
  if (older === 0) return proof.length === 0 && isSame(olderRoot, EMPTY_ROOT)
  // A complete older tree is itself the first step of the proof.
  const steps = isPowerOfTwo(older) ? [olderRoot, ...proof] : proof
  const [first, ...rest] = steps
  if (first === undefined) return false
  let [place, last] = [older - 1, size - 1]
  while (place % 2 === 1) [place, last] = [half(place), half(last)]
  let [oldResult, newResult] = [first, first]
  for (const step of rest) {
    if (last === 0) return false
    if (place % 2 === 1 || place === last) {
      oldResult = nodeHash(step, oldResult)
      newResult = nodeHash(step, newResult)
      while (place % 2 === 0 && place !== 0) [place, last] = [half(place), half(last)]
    } else {
      newResult = nodeHash(newResult, step)
    }
    ;[place, last] = [half(place), half(last)]
  }
  return last === 0 && isSame(oldResult, olderRoot) && isSame(newResult, root)
}

const half = (number: number): number => Math.floor(number / 2)
const isSame = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0
const isPowerOfTwo = (number: number): boolean => Number.isInteger(Math.log2(number))
