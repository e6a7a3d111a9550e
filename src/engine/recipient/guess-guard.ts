import { addressGroup, addressSite } from '../../domain/access/address-range.js'
import { overloaded } from '../../domain/errors.js'
import { MINUTE_MS } from '../../domain/units.js'
import { BoundedCache } from '../../runtime/bounded-cache.js'
import { KeyedSemaphore, Semaphore } from '../../runtime/semaphore.js'
import type { Pool } from '../../store/postgres.js'
import { countWrongGuess, type Guarded, type GuessKeys, type GuessLimit } from '../../store/recipient/guesses.js'

/**
 * Prevents guessing at codes: wrong codes are counted per client address, per IPv6 site and in total. A locked client gets the same
 * answer to right and wrong codes. The total lock affects only clients that guessed wrong themselves.
 */
export type GuessGuard = <T>(address: string, look: (keys: GuessKeys) => Promise<Guarded<T>>) => Promise<T | null | Locked>

export interface Locked {
  lockedMs: number
}

export type GuessLimits = Record<'perAddress' | 'perSite' | 'total', Omit<GuessLimit, 'key'>>

/**
 * Brazilian carriers put many phones behind one address, so only wrong guesses count. With 100 million links stored, 3,000
 * guesses a minute from anywhere hit one link in two to three days; a hit shows one message, unless a question protects it.
 * Beyond these 3,000, each address has one guess an hour, so that an attacker cannot lock out people who guess nothing.
 */
const guessLimits: GuessLimits = {
  perAddress: { wrong: 50, windowMs: 10 * MINUTE_MS, lockMs: 15 * MINUTE_MS },
  perSite: { wrong: 200, windowMs: 10 * MINUTE_MS, lockMs: 15 * MINUTE_MS },
  total: { wrong: 3_000, windowMs: MINUTE_MS, lockMs: MINUTE_MS },
}

/** `kind`: what is guessed at. Guesses at another kind are counted by themselves. */
export function createGuessGuard(pool: Pool, kind: '' | 'verification ', limits: GuessLimits = guessLimits): GuessGuard {
  const shared = `${kind}all`
  // Concurrent guesses are handled a few at a time; otherwise all of them would be answered before the first is counted.
  const perAddress = new KeyedSemaphore({ permits: 4, maxWaiting: 32, refusal: overloaded })
  const allAddresses = new Semaphore({ permits: 16, maxWaiting: 2_000, refusal: overloaded })
  /** When locks end, on the clock of performance.now(), so that a locked client costs no query. */
  const lockedUntil = new BoundedCache<string, number>({ maxEntries: 10_000 })
  const lockedMs = (key: string): number => Math.max(0, (lockedUntil.get(key) ?? 0) - performance.now())
  const lock = (key: string, ms: number): void => {
    if (ms > 0) lockedUntil.set(key, performance.now() + ms, ms)
  }

  async function lookUp<T>(
    guesses: readonly GuessLimit[],
    look: (keys: GuessKeys) => Promise<Guarded<T>>,
  ): Promise<T | null | Locked> {
    const own = guesses.map(({ key }) => key)
    const knownMs = Math.max(...own.map(lockedMs))
    if (knownMs > 0) return { lockedMs: knownMs }
    const found = await look({ own, shared })
    if (found.lockedMs > 0) return { lockedMs: found.lockedMs }
    if (found.target !== null) return found.target
    for (const guess of guesses) lock(guess.key, await countWrongGuess(pool, guess))
    const sharedMs = await countWrongGuess(pool, { key: shared, ...limits.total })
    if (lockedMs(own[0]!) === 0) lock(own[0]!, sharedMs)
    return null
  }

  return (address, look) => {
    const guesses: GuessLimit[] = [{ key: `${kind}address ${addressGroup(address)}`, ...limits.perAddress }]
    const site = addressSite(address)
    if (site !== null) guesses.push({ key: `${kind}site ${site}`, ...limits.perSite })
    return perAddress.run(guesses.at(-1)!.key, () => allAddresses.run(() => lookUp(guesses, look)))
  }
}
