import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

/**
 * Secrets at rest: AES-256-GCM under a key that is not in the database. The context (whose secret, what for) is bound in, so
 * that a sealed value copied into another row does not open there.
 *
 * A sealing key is two keys, one after the other: the current one, and the one before or after it while the master key is rotated. New
 * values are sealed with the first; both open.
 */
export const SEALING_KEY_BYTES = 32
const VERSION = 1
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** version, nonce, tag, ciphertext. */
export function seal(key: Buffer, bytes: Buffer, context: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key.subarray(0, SEALING_KEY_BYTES), nonce).setAAD(Buffer.from(context))
  const text = Buffer.concat([cipher.update(bytes), cipher.final()])
  return Buffer.concat([Buffer.from([VERSION]), nonce, cipher.getAuthTag(), text])
}

/** Throws when the key or the context is another one, or the value was changed. */
export function unseal(key: Buffer, sealed: Buffer, context: string): Buffer {
  try {
    return unsealWith(key.subarray(0, SEALING_KEY_BYTES), sealed, context)
  } catch (error) {
    const other = key.subarray(SEALING_KEY_BYTES)
    if (other.length === 0) throw error
    return unsealWith(other, sealed, context)
  }
}

function unsealWith(key: Buffer, sealed: Buffer, context: string): Buffer {
  const head = 1 + NONCE_BYTES + TAG_BYTES
  if (sealed.length < head || sealed[0] !== VERSION) throw new Error('not a sealed value')
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(1, 1 + NONCE_BYTES), { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(context)).setAuthTag(sealed.subarray(1 + NONCE_BYTES, head))
  return Buffer.concat([decipher.update(sealed.subarray(head)), decipher.final()])
}
