import { concat, isEqual } from './bytes.js'
import type { VerifierTools } from './tools.js'

/**
 * RFC 9162, 2.1.3.2 (hashes as in RFC 6962): whether the leaf stands at this place in the tree of this size and root. Places and sizes
 * are below 2^53, so that they are exact as numbers.
 */
export async function isIncluded(
  {
    leaf,
    place,
    size,
    path,
    root,
  }: { leaf: Uint8Array; place: number; size: number; path: readonly Uint8Array[]; root: Uint8Array },
  { sha256 }: Pick<VerifierTools, 'sha256'>,
): Promise<boolean> {
  if (place >= size) return false
  const node = (left: Uint8Array, right: Uint8Array) => sha256(concat(Uint8Array.of(1), left, right))
  let [index, last] = [place, size - 1]
  let hash = await sha256(concat(Uint8Array.of(0), leaf))
  for (const sibling of path) {
    if (last === 0) return false
    if (index % 2 === 1 || index === last) {
      hash = await node(sibling, hash)
      // The node has no sibling on these levels and goes up as it is.
      while (index % 2 === 0 && index !== 0) [index, last] = [index / 2, Math.floor(last / 2)]
    } else hash = await node(hash, sibling)
    ;[index, last] = [Math.floor(index / 2), Math.floor(last / 2)]
  }
  return last === 0 && isEqual(hash, root)
}
