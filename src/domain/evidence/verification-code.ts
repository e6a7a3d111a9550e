import { createHmac } from 'node:crypto'

const TIME_BITS = 42n
const MAC_BITS = 38n
const LENGTH = 16
/** Crockford's base 32, as short links have it: no i, l, o and u. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

/**
 * The code by which anyone finds a notification at the public page of verification: sixteen characters that nothing stores. It holds
 * the millisecond of the notification's id (42 bits), so that the candidates are a range of the primary key, and a MAC of the
 * whole id (38 bits), which tells them apart. The time is masked with a stream that the MAC chooses: a code says nothing to those without
 * the key, and guessing one of a hundred million takes some 10^15 tries.
 */
export function makeVerificationCode(key: Buffer, notification: string): string {
  const mac = macOf(key, notification)
  let value = ((timeOf(notification) ^ maskOf(key, mac)) << MAC_BITS) | mac
  let code = ''
  for (let place = 0; place < LENGTH; place++, value >>= 5n) code = ALPHABET[Number(value & 31n)]! + code
  return code
}

/** As it is printed: in groups of four, upper case. */
export const showVerificationCode = (code: string): string => code.toUpperCase().replaceAll(/(.{4})(?=.)/g, '$1-')

export interface VerificationGuess {
  /** The millisecond in which the notification was accepted. */
  atMs: number
  /** Whether the code is that of this notification. */
  isOf(notification: string): boolean
}

/** null: no code looks like this. Case, blanks, hyphens and letters that are mistaken for digits do not count. */
export function readVerificationCode(key: Buffer, text: string): VerificationGuess | null {
  const code = text
    .slice(0, 4 * LENGTH)
    .replaceAll(/[\s\-–.]/g, '')
    .toLowerCase()
    .replaceAll('o', '0')
    .replaceAll(/[il]/g, '1')
  if (code.length !== LENGTH || !/^[0-9a-hjkmnp-tv-z]+$/.test(code)) return null
  let value = 0n
  for (const character of code) value = (value << 5n) | BigInt(ALPHABET.indexOf(character))
  const mac = value & ((1n << MAC_BITS) - 1n)
  const atMs = Number((value >> MAC_BITS) ^ maskOf(key, mac))
  return { atMs, isOf: notification => macOf(key, notification) === mac && Number(timeOf(notification)) === atMs }
}

/** The first 48 bits of a UUIDv7; 42 of them last until the year 2109. */
const timeOf = (notification: string): bigint => BigInt(`0x${notification.replaceAll('-', '').slice(0, 12)}`)

const bitsOf = (key: Buffer, text: string, bits: bigint): bigint =>
  BigInt(`0x${createHmac('sha256', key).update(text).digest('hex').slice(0, 16)}`) & ((1n << bits) - 1n)

const macOf = (key: Buffer, notification: string): bigint => bitsOf(key, `mac ${notification}`, MAC_BITS)
const maskOf = (key: Buffer, mac: bigint): bigint => bitsOf(key, `mask ${mac}`, TIME_BITS)

/** The name of the key that verification codes are made with. */
export const VERIFICATION_KEY = 'verification'

/** Where anybody verifies a notification, and the code as people type it. */
export interface Verification {
  url: string
  code: string
}

export function verificationAt(publicUrl: string, key: Buffer, notification: string): Verification {
  const code = makeVerificationCode(key, notification)
  return { url: `${publicUrl}/verificar/${code}`, code: showVerificationCode(code) }
}
