import type { SigningRow } from './key-store.js'
import { openDkimKey } from './keys.js'
import type { SigningKey } from './signing-key.js'

/** The keys that this node signs with, read anew from time to time: a message costs no query. */
export interface KeyringParts {
  /** The installation's own key, from the settings. */
  own: SigningKey | null
  sealing: Buffer
  readSigningKeys(known: readonly number[]): Promise<SigningRow[]>
  onError(error: unknown, what: string): void
}

interface Held {
  id: number
  key: SigningKey
}

export class DkimKeyring {
  readonly #parts: KeyringParts
  #held: ReadonlyMap<string, Held> = new Map()

  constructor(parts: KeyringParts) {
    this.#parts = parts
  }

  /** What cannot be read or opened leaves the keys as they were: mail signed with yesterday's key is better than unsigned mail. */
  async refresh(): Promise<void> {
    const rows = await this.#parts.readSigningKeys([...this.#held.values()].map(({ id }) => id))
    const next = new Map<string, Held>()
    for (const { id, privateKey, ...name } of rows) {
      const held = this.#held.get(name.domain)
      const current = privateKey === null ? held : (this.#open(id, { ...name, privateKey }) ?? held)
      if (current !== undefined) next.set(name.domain, current)
    }
    this.#held = next
  }

  /**
   * The key for mail from a domain: its own, or that of the nearest domain above it, which DMARC accepts as well (RFC 7489
   * 3.1.1). Else the installation's, which at least says who sends.
   */
  find(sender: string): SigningKey | null {
    const { own } = this.#parts
    for (let domain = sender.toLowerCase(); domain !== ''; domain = parentOf(domain)) {
      const found = this.#held.get(domain)?.key ?? (own?.domain === domain ? own : null)
      if (found !== null) return found
    }
    return own
  }

  #open(id: number, row: { domain: string; selector: string; privateKey: Buffer }): Held | null {
    try {
      return { id, key: openDkimKey(this.#parts.sealing, row) }
    } catch (error) {
      this.#parts.onError(error, `the DKIM key ${row.selector} of ${row.domain} does not open`)
      return null
    }
  }
}

const parentOf = (domain: string): string => (domain.includes('.') ? domain.slice(domain.indexOf('.') + 1) : '')
