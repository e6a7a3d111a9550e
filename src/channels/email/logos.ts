import { logoPath, pictureSize } from '../../domain/send/logo.js'
import { BoundedCache } from '../../runtime/bounded-cache.js'

/** The logos of the accounts, as e-mails show them. They are linked, not attached: 100 kB in every message would be too much. */
export interface ShownLogo {
  path: string
  width: number
  height: number
}

/** In pixels. A wider logo would leave no room for the name beside it on a phone. */
const [MAX_WIDTH, MAX_HEIGHT] = [140, 44]
const MAX_AGE_MS = 30_000

/** A logo as it is stored. */
interface AccountLogo {
  sha256: string
  bytes: Buffer
}

export interface LogoOptions {
  read(account: string): Promise<AccountLogo | null>
  maxAgeMs?: number
}

/** Asks for the logo of an account at most once in 30 seconds. */
export function createLogos({ read, maxAgeMs = MAX_AGE_MS }: LogoOptions): (account: string) => Promise<ShownLogo | null> {
  const known = new BoundedCache<string, Promise<ShownLogo | null>>({ maxEntries: 10_000, ttlMs: maxAgeMs })
  return account => {
    const found = known.get(account)
    if (found !== undefined) return found
    const asked = read(account).then(logo => (logo === null ? null : shownLogo(logo)))
    known.set(account, asked)
    asked.catch(() => known.delete(account))
    return asked
  }
}

/** null for an SVG, which most mail programs do not show, and for a picture of unreadable size: Outlook needs the size. */
export function shownLogo({ sha256, bytes }: AccountLogo): ShownLogo | null {
  const size = pictureSize(bytes)
  if (size === null) return null
  const scale = Math.min(MAX_WIDTH / size.width, MAX_HEIGHT / size.height)
  const scaled = (length: number): number => Math.max(1, Math.round(length * scale))
  return { path: logoPath(sha256), width: scaled(size.width), height: scaled(size.height) }
}
