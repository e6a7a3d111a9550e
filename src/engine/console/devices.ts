import { createHmac, randomBytes } from 'node:crypto'
import type { Keys } from '../../domain/access/keys.js'
import { isSameSecret } from '../../domain/access/secret.js'
import { DAY_MS } from '../../domain/units.js'

export const DEVICE_LIFE_MS = 180 * DAY_MS

type DeviceKeys = Pick<Keys, 'derive'>
interface Owner {
  id: string
  /** The hash, as it is stored. */
  password: string
}

/**
 * A browser in which a person has signed in before. Its wrong guesses are counted apart from those of strangers, so that whoever
 * guesses a person's password locks strangers out, and never the person. Nothing is stored: the value proves itself, and is void
 * once the password changes, because the password's hash is part of it.
 */
export function newDevice(keys: DeviceKeys, owner: Owner): string {
  const name = randomBytes(12).toString('base64url')
  return `${name}.${proofOf(keys, owner, name)}`
}

/** The name of the device; null: it is unknown, or somebody else's. */
export function readDevice(keys: DeviceKeys, owner: Owner, value: string | null): string | null {
  const [, name, proof] = /^([\w-]{16})\.([\w-]{43})$/.exec(value ?? '') ?? []
  return name !== undefined && isSameSecret(proof!, proofOf(keys, owner, name)) ? name : null
}

const proofOf = (keys: DeviceKeys, { id, password }: Owner, name: string): string =>
  createHmac('sha256', keys.derive('console device')).update(`${name} ${id} ${password}`).digest('base64url')
