import { overloaded } from '../../domain/errors.js'
import { type LinkTarget, makeShortCode } from '../../domain/recipient/link.js'
import { GroupCommit } from '../../runtime/group-commit.js'
import { isRowFault, type Pool } from '../../store/postgres.js'
import { findCodes, insertLinks } from '../../store/recipient/links.js'

/** Returns the short code of a notification on a channel once it is committed. A retry gets the same code. */
export type ShortLinks = (target: LinkTarget) => Promise<string>

/** With a billion stored links, two collisions in a row have a probability of one in 10^22, so more rounds mean a fault. */
const MAX_ROUNDS = 8

export function createShortLinks(pool: Pool, linkKey: Buffer, makeCode: typeof makeShortCode = makeShortCode): ShortLinks {
  const groups = new GroupCommit<LinkTarget, string>({
    write: targets => storeCodes(pool, targets, (target, round) => makeCode(linkKey, target, round)),
    isItemFault: isRowFault,
    maxItems: 256,
    parallel: 2,
    maxWaiting: 100_000,
    overloaded,
  })
  return target => groups.submit(target)
}

async function storeCodes(
  pool: Pool,
  targets: readonly LinkTarget[],
  codeOf: (target: LinkTarget, round: number) => string,
): Promise<string[]> {
  const codes: (string | null)[] = targets.map(() => null)
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const missing = [...codes.keys()].filter(index => codes[index] === null)
    const wanted = missing.map(index => targets[index]!)
    const links = wanted.map(target => ({ ...target, code: codeOf(target, round) }))
    await insertLinks(pool, links)
    // The codes are read back, because another node may have stored one or another target may have the code.
    const found = await findCodes(pool, wanted)
    for (const [position, index] of missing.entries()) codes[index] = found[position]!
    if (codes.every(code => code !== null)) return codes as string[]
  }
  throw new Error('no free short code was found')
}
