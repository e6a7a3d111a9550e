import { readFileSync } from 'node:fs'
import { OperatorError } from '../../../domain/errors.js'
import type { Keys } from '../../../domain/keys.js'
import type { Pool } from '../../../store/postgres.js'
import type { EmailConfig } from '../channel.js'
import { readSigningKeys } from './key-store.js'
import { DkimKeyring } from './keyring.js'
import { readSigningKey, type SigningKey } from './signing-key.js'

export interface KeyringWiring {
  config: EmailConfig
  keys: Keys
  pool: Pool
  onError(error: unknown, what: string): void
}

/** The keys of the database and that of the settings. Read before the first message leaves. */
export async function openKeyring({ config, keys, pool, onError }: KeyringWiring): Promise<DkimKeyring> {
  const keyring = new DkimKeyring({
    own: readOwnKey(config),
    sealing: keys.sealing,
    readSigningKeys: known => readSigningKeys(pool, known),
    onError,
  })
  await keyring.refresh()
  return keyring
}

function readOwnKey({ dkim }: EmailConfig): SigningKey | null {
  if (dkim === null) return null
  const { domain, selector, keyFile } = dkim
  let privateKeyPem: string
  try {
    privateKeyPem = readFileSync(keyFile, 'utf8')
  } catch (cause) {
    throw new OperatorError(`Não foi possível ler a chave DKIM em ${keyFile} (DKIM_KEY_FILE).`, { cause })
  }
  return readSigningKey({ domain, selector, privateKeyPem })
}
