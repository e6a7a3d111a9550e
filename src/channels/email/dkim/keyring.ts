import type { SigningRow } from './key-store.js'
import { openDkimKey } from './keys.js'
import type { SigningKey } from './signing-key.js'

/** The signing keys in memory, refreshed periodically so that a message needs no query. */
export interface KeyringParts {
  /** The installation's own key, from the settings. */
  own: SigningKey | null
  sealing: Buffer
  readSigningKeys(known: readonly number[]): Promise<SigningRow[]>
  onError(error: unknown, what: string): void
}

interface LoadedKey {
  id: number
  key: SigningKey
}

export class DkimKeyring {
  readonly #parts: KeyringParts
  #keys: ReadonlyMap<string, LoadedKey> = new Map()

  constructor(parts: KeyringParts) {
    this.#parts = parts
  }

  /** A key that cannot be read leaves the earlier one in use: mail signed with an old key is better than unsigned mail. */
  async refresh(): Promise<void> {
    const rows = await this.#parts.readSigningKeys([...this.#keys.values()].map(({ id }) => id))
    const next = new Map<string, LoadedKey>()
    for (const { id, privateKey, ...name } of rows) {
      const loaded = this.#keys.get(name.domain)
      const current = privateKey === null ? loaded : (this.#open(id, { ...name, privateKey }) ?? loaded)
      if (current !== undefined) next.set(name.domain, current)
    }
    this.#keys = next
  }

  /**
   * The key of the domain, or of its nearest parent domain, which DMARC accepts as well (RFC 7489 3.1.1). Otherwise the
   * installation's own key, which at least identifies the sending system.
   */
  find(sender: string): SigningKey | null {
    const { own } = this.#parts
    for (let domain = sender.toLowerCase(); domain !== ''; domain = parentOf(domain)) {
      const found = this.#keys.get(domain)?.key ?? (own?.domain === domain ? own : null)
      if (found !== null) return found
    }
    return own
  }

  #open(id: number, row: { domain: string; selector: string; privateKey: Buffer }): LoadedKey | null {
    try {
      return { id, key: openDkimKey(this.#parts.sealing, row) }
    } catch (error) {
      this.#parts.onError(error, `the DKIM key ${row.selector} of ${row.domain} does not open`)
      return null
    }
  }
}

const parentOf = (domain: string): string => (domain.includes('.') ? domain.slice(domain.indexOf('.') + 1) : '')
