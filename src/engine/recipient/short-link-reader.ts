import { addressGroup, addressSite } from '../../domain/address-range.js'
import { overloaded } from '../../domain/errors.js'
import type { LinkTarget } from '../../domain/link.js'
import { readShortCode } from '../../domain/short-link.js'
import { KeyedSemaphore, Semaphore } from '../../runtime/semaphore.js'
import { countWrongGuess, findGuardedLink, type GuessLimit } from '../../store/guesses.js'
import type { Pool } from '../../store/postgres.js'
import { KnownLocks } from '../locks.js'

/**
 * Reads short codes, and makes guessing them hopeless: wrong ones are counted per client address, per IPv6 site and for all
 * together. Whoever is locked gets the same answer to right and wrong codes; the lock for all is for those who guessed wrong.
 */
export type ShortLinkReader = (code: string, address: string) => Promise<LinkTarget | null | Locked>

export interface Locked {
  lockedMs: number
}

export interface GuessLimits {
  perAddress: Omit<GuessLimit, 'key'>
  perSite: Omit<GuessLimit, 'key'>
  together: Omit<GuessLimit, 'key'>
}

const MINUTE = 60_000
/**
 * Many phones share one address at Brazilian carriers, so only wrong guesses count. With 100 million links stored, 3,000 guesses
 * a minute from anywhere hit one in two to three days; a hit reads one message, and not behind its question. Beyond these 3,000,
 * each address has one guess an hour: nobody can shut the links of people who guess nothing.
 */
export const guessLimits: GuessLimits = {
  perAddress: { wrong: 50, windowMs: 10 * MINUTE, lockMs: 15 * MINUTE },
  perSite: { wrong: 200, windowMs: 10 * MINUTE, lockMs: 15 * MINUTE },
  together: { wrong: 3_000, windowMs: MINUTE, lockMs: MINUTE },
}
/** Guesses sent at once are looked at a few at a time, or they would all be looked at before the first is counted. */
const AT_ONCE_PER_ADDRESS = 4
const WAITING_PER_ADDRESS = 32
const AT_ONCE = 16
const WAITING = 2_000
const ALL = 'all'

export function createShortLinkReader(pool: Pool, limits: GuessLimits = guessLimits): ShortLinkReader {
  const perAddress = new KeyedSemaphore({
    permits: AT_ONCE_PER_ADDRESS,
    maxWaiting: WAITING_PER_ADDRESS,
    refusal: overloaded,
  })
  const everybody = new Semaphore({ permits: AT_ONCE, maxWaiting: WAITING, refusal: overloaded })
  const locks = new KnownLocks()

  async function look(code: string, guesses: readonly GuessLimit[]): Promise<LinkTarget | null | Locked> {
    const own = guesses.map(({ key }) => key)
    const known = Math.max(...own.map(key => locks.left(key)))
    if (known > 0) return { lockedMs: known }
    const { target, lockedMs } = await findGuardedLink(pool, readShortCode(code), { own, shared: ALL })
    if (lockedMs > 0) return { lockedMs }
    if (target !== null) return target
    for (const guess of guesses) locks.remember(guess.key, await countWrongGuess(pool, guess))
    const sharedMs = await countWrongGuess(pool, { key: ALL, ...limits.together })
    if (locks.left(own[0]!) === 0) locks.remember(own[0]!, sharedMs)
    return null
  }

  return (code, address) => {
    const guesses: GuessLimit[] = [{ key: `address ${addressGroup(address)}`, ...limits.perAddress }]
    const site = addressSite(address)
    if (site !== null) guesses.push({ key: `site ${site}`, ...limits.perSite })
    return perAddress.run(guesses.at(-1)!.key, () => everybody.run(() => look(code, guesses)))
  }
}
