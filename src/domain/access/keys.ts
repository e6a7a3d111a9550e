import { createHash, createHmac, createPrivateKey, createPublicKey, hkdfSync, type KeyObject } from 'node:crypto'

/** One master key per installation; every other secret is derived from it, so that all nodes agree without exchanging any. */
export interface Keys {
  /** Shown and stored: tells two master keys apart without revealing either. */
  fingerprint: string
  tokenSigning: KeyObject
  tokenVerifying: KeyObject
  link: Buffer
  /** Shared with the simulator. Callbacks are signed with secrets made from it (simulatorSecret), never with the key itself. */
  simulator: Buffer
  session: Buffer
  /** Mixed into the hashes of validation replies. */
  pepper: Buffer
  /**
   * Encrypts the secrets that the database keeps (domain/access/sealed.ts). Its bytes change in place when the master key is rotated: whoever was
   * given it goes on with the new one.
   */
  sealing: Buffer
  /** The same keys under another root (`deriveKeys`). */
  rootedIn(root: Buffer): Keys
  root: Buffer
  master: Buffer
  /** A secret of a channel's own, for a purpose that the channel names. */
  derive(purpose: string): Buffer
}

export const MASTER_KEY_BYTES = 32

// RFC 8410: the fixed head of a PKCS#8 Ed25519 private key, before its 32 bytes of seed.
const ED25519_PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex')

/**
 * `root`: what tokens, links, replies and cookies come from. It is the first master key of the installation and stays when the master key is
 * rotated, because links are on paper and replies cannot be hashed again. Fingerprint and sealing come from the master key of the moment.
 */
export function deriveKeys(master: Buffer, root = master, sealing = sealingOf(master, master)): Keys {
  const derive = (purpose: string): Buffer => from(root, purpose)
  const pkcs8 = Buffer.concat([ED25519_PKCS8_HEAD, derive('token')])
  const tokenSigning = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' })
  return {
    fingerprint: createHash('sha256').update(from(master, 'fingerprint')).digest('hex').slice(0, 16),
    tokenSigning,
    tokenVerifying: createPublicKey(tokenSigning),
    link: derive('link'),
    simulator: derive('simulator'),
    session: derive('session'),
    pepper: derive('pepper'),
    sealing,
    root,
    master,
    rootedIn: other => deriveKeys(master, other, sealing),
    derive,
  }
}

const from = (key: Buffer, purpose: string): Buffer => Buffer.from(hkdfSync('sha256', key, 'carteiro', purpose, 32))

/** Seals with the first master key, and opens with both. */
export const sealingOf = (master: Buffer, other: Buffer): Buffer =>
  Buffer.concat([from(master, 'sealing'), from(other, 'sealing')])

/** Signs the simulated callbacks of one provider. Each provider has a secret of its own, as real carriers do. */
export const simulatorSecret = (key: Buffer, provider: string): string => createHmac('sha256', key).update(provider).digest('hex')

/** Reads a master key written as 64 hexadecimal digits or as base64; null when it is neither. */
export function readMasterKey(text: string): Buffer | null {
  const key = /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, 'hex') : Buffer.from(text, 'base64')
  return key.length === MASTER_KEY_BYTES ? key : null
}
