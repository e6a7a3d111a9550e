import { addressGroup, addressSite } from '../../domain/address-range.js'
import { overloaded } from '../../domain/errors.js'
import { type LinkTarget, readShortCode } from '../../domain/link.js'
import { KeyedSemaphore, Semaphore } from '../../runtime/semaphore.js'
import type { Pool } from '../../store/postgres.js'
import { countWrongGuess, findGuardedLink, type GuessLimit } from '../../store/recipient/guesses.js'
import { KnownLocks } from '../locks.js'

/**
 * Reads short codes and prevents guessing: wrong codes are counted per client address, per IPv6 site and in total. A locked client
 * gets the same answer to right and wrong codes. The total lock affects only clients that guessed wrong themselves.
 */
export type ShortLinkReader = (code: string, address: string) => Promise<LinkTarget | null | Locked>

export interface Locked {
  lockedMs: number
}

export interface GuessLimits {
  perAddress: Omit<GuessLimit, 'key'>
  perSite: Omit<GuessLimit, 'key'>
  total: Omit<GuessLimit, 'key'>
}

const MINUTE = 60_000
/**
 * Brazilian carriers put many phones behind one address, so only wrong guesses count. With 100 million links stored, 3,000
 * guesses a minute from anywhere hit one link in two to three days; a hit shows one message, unless a question protects it.
 * Beyond these 3,000, each address has one guess an hour, so that an attacker cannot lock out people who guess nothing.
 */
export const guessLimits: GuessLimits = {
  perAddress: { wrong: 50, windowMs: 10 * MINUTE, lockMs: 15 * MINUTE },
  perSite: { wrong: 200, windowMs: 10 * MINUTE, lockMs: 15 * MINUTE },
  total: { wrong: 3_000, windowMs: MINUTE, lockMs: MINUTE },
}
/** Concurrent guesses are handled a few at a time; otherwise all of them would be answered before the first is counted. */
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
  const allAddresses = new Semaphore({ permits: AT_ONCE, maxWaiting: WAITING, refusal: overloaded })
  const locks = new KnownLocks()

  async function lookUp(code: string, guesses: readonly GuessLimit[]): Promise<LinkTarget | null | Locked> {
    const own = guesses.map(({ key }) => key)
    const knownMs = Math.max(...own.map(key => locks.left(key)))
    if (knownMs > 0) return { lockedMs: knownMs }
    const { target, lockedMs } = await findGuardedLink(pool, readShortCode(code), { own, shared: ALL })
    if (lockedMs > 0) return { lockedMs }
    if (target !== null) return target
    for (const guess of guesses) locks.remember(guess.key, await countWrongGuess(pool, guess))
    const sharedMs = await countWrongGuess(pool, { key: ALL, ...limits.total })
    if (locks.left(own[0]!) === 0) locks.remember(own[0]!, sharedMs)
    return null
  }

  return (code, address) => {
    const guesses: GuessLimit[] = [{ key: `address ${addressGroup(address)}`, ...limits.perAddress }]
    const site = addressSite(address)
    if (site !== null) guesses.push({ key: `site ${site}`, ...limits.perSite })
    return perAddress.run(guesses.at(-1)!.key, () => allAddresses.run(() => lookUp(code, guesses)))
  }
}
