import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

/**
 * Secrets at rest: AES-256-GCM under a key that is not in the database. The context (whose secret, what for) is bound in, so
 * that a sealed value copied into another row does not open there.
 */
const VERSION = 1
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** version, nonce, tag, ciphertext. */
export function seal(key: Buffer, bytes: Buffer, context: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context))
  const text = Buffer.concat([cipher.update(bytes), cipher.final()])
  return Buffer.concat([Buffer.from([VERSION]), nonce, cipher.getAuthTag(), text])
}

/** Throws when the key or the context is another one, or the value was changed. */
export function unseal(key: Buffer, sealed: Buffer, context: string): Buffer {
  const head = 1 + NONCE_BYTES + TAG_BYTES
  if (sealed.length < head || sealed[0] !== VERSION) throw new Error('not a sealed value')
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(1, 1 + NONCE_BYTES), { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(context)).setAuthTag(sealed.subarray(1 + NONCE_BYTES, head))
  return Buffer.concat([decipher.update(sealed.subarray(head)), decipher.final()])
}
