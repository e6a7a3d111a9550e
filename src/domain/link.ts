import { createHmac, timingSafeEqual } from 'node:crypto'
import type { AccountSettings } from './account.js'
import type { Channel } from './channel.js'

/**
 * Full-strength link codes: the notification and channel, and 128 bits of proof that we made them. Nothing is stored, and
 * nothing can be guessed.
 */
const MAC_BYTES = 16
const ID_BYTES = 16

export interface LinkTarget {
  notification: string
  channel: Channel
}

/** What an account's links begin with. */
export const linkBase = (settings: Pick<AccountSettings, 'link.domain'>, publicUrl: string): string =>
  settings['link.domain'] || publicUrl

/** `channelCode`: the byte that the channel's module declares for its links. */
export function makeLinkCode(key: Buffer, notification: string, channelCode: number): string {
  const body = Buffer.concat([Buffer.from(notification.replaceAll('-', ''), 'hex'), Buffer.from([channelCode])])
  return Buffer.concat([body, mac(key, body)]).toString('base64url')
}

/** The notification and channel that a code names, or null when the code is not one of ours. */
export function readLinkCode(key: Buffer, code: string): { notification: string; channelCode: number } | null {
  // A malformed code takes as long to refuse as a wrong one.
  const formed = /^[\w-]{44}$/.test(code)
  const bytes = formed ? Buffer.from(code, 'base64url') : Buffer.alloc(ID_BYTES + 1 + MAC_BYTES)
  const body = bytes.subarray(0, ID_BYTES + 1)
  if (!timingSafeEqual(bytes.subarray(ID_BYTES + 1), mac(key, body)) || !formed) return null
  const hex = body.subarray(0, ID_BYTES).toString('hex')
  const notification = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  return { notification, channelCode: body[ID_BYTES]! }
}

const mac = (key: Buffer, body: Buffer): Buffer => createHmac('sha256', key).update(body).digest().subarray(0, MAC_BYTES)
