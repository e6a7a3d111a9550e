import { Refusal } from '../../domain/errors.js'
import type { LinkTarget } from '../../domain/link.js'
import { makeShortCode } from '../../domain/short-link.js'
import { GroupCommit } from '../../runtime/group-commit.js'
import { findCodes, insertLinks } from '../../store/links.js'
import { isRowFault, type Pool } from '../../store/postgres.js'

/** The short code of a notification on a channel, committed before it is given out; a retry gets the same one. */
export type ShortLinks = (target: LinkTarget) => Promise<string>

/** Two in a row are one in 10^22 with a billion links stored: more rounds than this are a fault, not a coincidence. */
const MAX_ROUNDS = 8

export function createShortLinks(pool: Pool, linkKey: Buffer, makeCode: typeof makeShortCode = makeShortCode): ShortLinks {
  const groups = new GroupCommit<LinkTarget, string>({
    write: targets => storeCodes(pool, targets, (target, round) => makeCode(linkKey, target, round)),
    isItemFault: isRowFault,
    weigh: () => 1,
    maxItems: 256,
    maxWeight: 256,
    parallel: 2,
    maxWaiting: 100_000,
    overloaded: () => new Refusal('overloaded', [], { retryAfter: 1 }),
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
    const open = [...codes.keys()].filter(place => codes[place] === null)
    await insertLinks(
      pool,
      open.map(place => ({ ...targets[place]!, code: codeOf(targets[place]!, round) })),
    )
    // Read back, not assumed: another node may have stored it, or another target may hold the code.
    const found = await findCodes(
      pool,
      open.map(place => targets[place]!),
    )
    for (const [index, place] of open.entries()) codes[place] = found[index]!
    if (codes.every(code => code !== null)) return codes as string[]
  }
  throw new Error('no free short code was found')
}
