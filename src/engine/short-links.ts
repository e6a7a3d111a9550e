import { addressGroup } from '../domain/address-range.js'
import type { LinkTarget } from '../domain/link.js'
import { readShortCode } from '../domain/short-link.js'
import { countWrongGuess, findGuardedLink, type GuessLimit } from '../store/guesses.js'
import type { Pool } from '../store/postgres.js'
import { Turnstile } from './turnstile.js'

/**
 * Reads short codes, and makes guessing them hopeless: wrong ones are counted per client address and for all together. While
 * locked, right and wrong codes get the same answer.
 */
export type ShortLinkReader = (code: string, address: string) => Promise<LinkTarget | null | Locked>

export interface Locked {
  lockedMs: number
}

export interface GuessLimits {
  perAddress: Omit<GuessLimit, 'key'>
  together: Omit<GuessLimit, 'key'>
}

const MINUTE = 60_000
/**
 * Many phones share one address at Brazilian carriers, so only wrong guesses count. With 100 million links stored, 3,000 guesses
 * a minute from anywhere hit one in about two days; none of them reads more than what one message says.
 */
export const guessLimits: GuessLimits = {
  perAddress: { wrong: 50, windowMs: 10 * MINUTE, lockMs: 15 * MINUTE },
  together: { wrong: 3_000, windowMs: MINUTE, lockMs: MINUTE },
}
/** Guesses sent at once are looked at a few at a time, or they would all be looked at before the first is counted. */
const AT_ONCE_PER_ADDRESS = 4
const WAITING_PER_ADDRESS = 64
const AT_ONCE = 16
const WAITING = 2_000
const MAX_REMEMBERED_LOCKS = 10_000
const ALL = 'all'

export function createShortLinkReader(pool: Pool, limits: GuessLimits = guessLimits): ShortLinkReader {
  const turnstiles = new Map<string, Turnstile>()
  const everybody = new Turnstile(AT_ONCE, WAITING)
  /** Until when a key is locked, by this process's clock: a locked guesser costs no query. */
  const locks = new Map<string, number>()

  function lockedHere(key: string): number {
    const left = (locks.get(key) ?? 0) - performance.now()
    if (left <= 0) locks.delete(key)
    return Math.max(0, left)
  }

  function remember(key: string, lockedMs: number): void {
    if (lockedMs <= 0) return
    if (locks.size >= MAX_REMEMBERED_LOCKS) locks.delete(locks.keys().next().value!)
    locks.set(key, performance.now() + lockedMs)
  }

  async function look(code: string, key: string): Promise<LinkTarget | null | Locked> {
    const known = Math.max(lockedHere(key), lockedHere(ALL))
    if (known > 0) return { lockedMs: known }
    const { target, lockedMs } = await findGuardedLink(pool, readShortCode(code), [key, ALL])
    if (lockedMs > 0) return { lockedMs }
    if (target !== null) return target
    remember(key, await countWrongGuess(pool, { key, ...limits.perAddress }))
    remember(ALL, await countWrongGuess(pool, { key: ALL, ...limits.together }))
    return null
  }

  return async (code, address) => {
    const key = `address ${addressGroup(address)}`
    const own = turnstiles.get(key) ?? new Turnstile(AT_ONCE_PER_ADDRESS, WAITING_PER_ADDRESS)
    turnstiles.set(key, own)
    try {
      return await own.pass(() => everybody.pass(() => look(code, key)))
    } finally {
      if (own.idle) turnstiles.delete(key)
    }
  }
}
