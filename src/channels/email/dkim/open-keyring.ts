import type { Keys } from '../../../domain/access/keys.js'
import type { Pool } from '../../../store/postgres.js'
import type { EmailConfig } from '../channel.js'
import { readSigningKeys, type SigningRow } from './key-store.js'
import { openDkimKey } from './keys.js'
import { readKeyFile, type SigningKey } from './signing-key.js'

interface KeyringParts {
  /** The installation's own key, from the settings. */
  own: SigningKey | null
  sealing: Buffer
  readSigningKeys(known: readonly number[]): Promise<SigningRow[]>
  onError(error: unknown, what: string): void
}

interface KeyringWiring {
  config: EmailConfig
  keys: Keys
  pool: Pool
  onError: KeyringParts['onError']
}

/** The keys of the database and of the settings, read before the first message is sent. */
export async function openKeyring({ config: { dkim }, keys, pool, onError }: KeyringWiring): Promise<DkimKeyring> {
  const keyring = new DkimKeyring({
    own: dkim === null ? null : readKeyFile(dkim, `Não foi possível ler a chave DKIM em ${dkim.keyFile} (DKIM_KEY_FILE).`),
    sealing: keys.sealing,
    readSigningKeys: known => readSigningKeys(pool, known),
    onError,
  })
  await keyring.refresh()
  return keyring
}

/** The signing keys in memory, refreshed periodically so that a message needs no query. */
export class DkimKeyring {
  readonly #parts: KeyringParts
  #keys: ReadonlyMap<string, { id: number; key: SigningKey }> = new Map()

  constructor(parts: KeyringParts) {
    this.#parts = parts
  }

  /** A key that cannot be read leaves the earlier one in use: mail signed with an old key is better than unsigned mail. */
  async refresh(): Promise<void> {
    const { sealing, onError } = this.#parts
    const rows = await this.#parts.readSigningKeys([...this.#keys.values()].map(({ id }) => id))
    const next = new Map<string, { id: number; key: SigningKey }>()
    for (const { id, privateKey, domain, selector } of rows) {
      let current = this.#keys.get(domain)
      try {
        if (privateKey !== null) current = { id, key: openDkimKey(sealing, { domain, selector, privateKey }) }
      } catch (error) {
        onError(error, `the DKIM key ${selector} of ${domain} does not open`)
      }
      if (current !== undefined) next.set(domain, current)
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
}

const parentOf = (domain: string): string => (domain.includes('.') ? domain.slice(domain.indexOf('.') + 1) : '')
