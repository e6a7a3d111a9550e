import { channelModules } from '../../channels/registry.js'
import { deriveKeys, type Keys } from '../../domain/access/keys.js'
import { SEALING_KEY_BYTES, seal, unseal } from '../../domain/access/sealed.js'
import { OperatorError } from '../../domain/errors.js'
import { sealedTotps } from '../../engine/console/sign-in.js'
import { sealedLogKey } from '../../evidence/log-key.js'
import { sealedCertificates } from '../../evidence/signature/key/own-certificate.js'
import { recordAudit } from '../../store/audit.js'
import { readFingerprint } from '../../store/installation.js'
import { type Pool, type Queryable, transaction } from '../../store/postgres.js'
import {
  lockInstallationKey,
  type Reseal,
  readInstallationKey,
  resealValues,
  type SealedValues,
  writeInstallationKey,
} from '../../store/sealed-values.js'
import { sealedEndpoints } from '../../webhooks/endpoints.js'
import type { Config } from '../config.js'
import { findKeys, readNextKey } from './keys.js'

/** Everything in the database that is sealed under the master key. A test compares it with the schema. */
export const sealedColumns: readonly SealedValues[] = [
  ...sealedEndpoints,
  sealedTotps,
  sealedLogKey,
  sealedCertificates,
  ...channelModules.flatMap(({ sealedValues }) => sealedValues ?? []),
]

const ROOT = 'root key'

/** The keys with the root that the installation has had from its first day. */
export async function findRoot(db: Queryable, keys: Keys): Promise<Keys> {
  const root = (await readInstallationKey(db))?.root ?? null
  return root === null ? keys : keys.rootedIn(unseal(keys.sealing, root, ROOT))
}

/**
 * Seals everything with the next key, in one transaction: an interruption leaves everything under the old key or everything under the new
 * one. May be repeated, for what a node sealed with the old key in the last moment. Returns how many values were sealed again.
 */
export async function rotateMasterKey(
  owner: Pool,
  { keys, next, actor }: { keys: Keys; next: Buffer; actor: string },
): Promise<{ fingerprint: string; resealed: number }> {
  const fresh = deriveKeys(next, keys.root)
  const reseal: Reseal = (sealed, context) => {
    try {
      unseal(fresh.sealing, sealed, context)
      return null
    } catch {
      return seal(fresh.sealing, unseal(keys.sealing, sealed, context), context)
    }
  }
  return transaction(owner, async db => {
    const stored = await lockInstallationKey(db)
    if (stored?.fingerprint !== keys.fingerprint && stored?.fingerprint !== fresh.fingerprint)
      throw new OperatorError('Outra troca da chave mestra terminou neste momento. Confira a chave deste nó e repita.')
    let resealed = 0
    for (const values of sealedColumns) resealed += await resealValues(db, values, reseal)
    if (stored.fingerprint !== fresh.fingerprint) {
      await writeInstallationKey(db, { fingerprint: fresh.fingerprint, root: seal(fresh.sealing, keys.root, ROOT) })
      const detail = { from: keys.fingerprint, to: fresh.fingerprint, resealed }
      await recordAudit(db, { actor, action: 'rotate master key', subject: fresh.fingerprint, detail })
    }
    return { fingerprint: fresh.fingerprint, resealed }
  })
}

/**
 * A node that runs on while the master key is rotated: it opens values under the next key as soon as it is told of it, and seals with it as
 * soon as the database counts on it. `missing`: the database has a key that this node was not given.
 */
export async function followRotation(config: Config, keys: Keys, db: Queryable): Promise<'same' | 'rotated' | 'missing'> {
  const { sealing } = keys
  const next = readNextKey(config)
  if (next !== null && !next.equals(keys.master)) deriveKeys(next).sealing.copy(sealing, SEALING_KEY_BYTES, 0, SEALING_KEY_BYTES)
  const fingerprint = await readFingerprint(db)
  if (fingerprint === null || fingerprint === keys.fingerprint) return 'same'
  const found = findKeys(config, fingerprint)
  if (found === null) return 'missing'
  sealing.copy(sealing, SEALING_KEY_BYTES, 0, SEALING_KEY_BYTES)
  found.sealing.copy(sealing, 0, 0, SEALING_KEY_BYTES)
  Object.assign(keys, { fingerprint, master: found.master })
  return 'rotated'
}
