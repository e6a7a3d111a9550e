import { createHmac, timingSafeEqual } from 'node:crypto'
import type { LinkTarget } from './link.js'

export const SESSION_MS = 30 * 60_000
const TIME_BYTES = 6
const MAC_BYTES = 16

/** A session opens one notification on one channel in the recipient's browser, for SESSION_MS. It is signed and not stored. */
export const makeSession = (key: Buffer, target: LinkTarget, nowMs: number): string =>
  stamp(key, `session ${target.notification} ${target.channel}`, nowMs + SESSION_MS)

export function isSession(key: Buffer, target: LinkTarget, text: string | undefined, nowMs: number): boolean {
  const until = readStamp(key, `session ${target.notification} ${target.channel}`, text)
  return until !== null && until > nowMs
}

/** The time at which a form was made, signed and not stored. A form stamp is not valid as a session, nor a session as a form stamp. */
export const makeFormStamp = (key: Buffer, target: LinkTarget, nowMs: number): string =>
  stamp(key, `form ${target.notification} ${target.channel}`, nowMs)

/** When the page with this form was made; null when it is none of ours. */
export const readFormStamp = (key: Buffer, target: LinkTarget, text: string | undefined): number | null =>
  readStamp(key, `form ${target.notification} ${target.channel}`, text)

function stamp(key: Buffer, purpose: string, timeMs: number): string {
  const time = Buffer.alloc(TIME_BYTES)
  time.writeUIntBE(Math.floor(timeMs), 0, TIME_BYTES)
  return Buffer.concat([time, mac(key, purpose, time)]).toString('base64url')
}

function readStamp(key: Buffer, purpose: string, text: string | undefined): number | null {
  const bytes = Buffer.from(text ?? '', 'base64url')
  if (bytes.length !== TIME_BYTES + MAC_BYTES) return null
  const time = bytes.subarray(0, TIME_BYTES)
  return timingSafeEqual(bytes.subarray(TIME_BYTES), mac(key, purpose, time)) ? time.readUIntBE(0, TIME_BYTES) : null
}

const mac = (key: Buffer, purpose: string, time: Buffer): Buffer =>
  createHmac('sha256', key).update(`${purpose} `).update(time).digest().subarray(0, MAC_BYTES)
