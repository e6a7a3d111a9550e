import { type LinkTarget, readShortCode } from '../../domain/recipient/link.js'
import type { Pool } from '../../store/postgres.js'
import { findGuardedLink } from '../../store/recipient/guesses.js'
import { createGuessGuard, type GuessLimits, type Locked } from './guess-guard.js'

/** Reads short codes, with a guard against guessing. */
export type ShortLinkReader = (code: string, address: string) => Promise<LinkTarget | null | Locked>

export function createShortLinkReader(pool: Pool, limits?: GuessLimits): ShortLinkReader {
  const guard = createGuessGuard(pool, '', limits)
  return (code, address) => guard(address, keys => findGuardedLink(pool, readShortCode(code), keys))
}
