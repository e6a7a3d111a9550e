import { createHmac, timingSafeEqual } from 'node:crypto'
import { type Channel, channels } from './notification.js'

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

export function makeLinkCode(key: Buffer, { notification, channel }: LinkTarget): string {
  const body = Buffer.concat([Buffer.from(notification.replaceAll('-', ''), 'hex'), Buffer.from([channels.indexOf(channel)])])
  return Buffer.concat([body, mac(key, body)]).toString('base64url')
}

/** What a code points to, or null when it is not one of ours. */
export function readLinkCode(key: Buffer, code: string): LinkTarget | null {
  if (!/^[\w-]{44}$/.test(code)) return null
  const bytes = Buffer.from(code, 'base64url')
  const body = bytes.subarray(0, ID_BYTES + 1)
  if (!timingSafeEqual(bytes.subarray(ID_BYTES + 1), mac(key, body))) return null
  const hex = body.subarray(0, ID_BYTES).toString('hex')
  const channel = channels[body[ID_BYTES]!]
  if (channel === undefined) return null
  return { notification: hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'), channel }
}

const mac = (key: Buffer, body: Buffer): Buffer => createHmac('sha256', key).update(body).digest().subarray(0, MAC_BYTES)
