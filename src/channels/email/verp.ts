import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * The envelope sender of a delivery (VERP): b+<notification>.<signature>@bounce-domain. Every message to it identifies the
 * notification, whatever its form, and the signature prevents forged addresses.
 */
export interface Verp {
  domain: string
  key: Buffer
}

export function verpAddress(notification: string, { domain, key }: Verp): string {
  const id = notification.replaceAll('-', '').toLowerCase()
  return `b+${id}.${signature(id, key)}@${domain}`
}

/** The notification's id, or null when the address has no valid signature. */
export function readVerp(address: string, { domain, key }: Verp): string | null {
  const at = address.lastIndexOf('@')
  if (address.slice(at + 1).toLowerCase() !== domain.toLowerCase()) return null
  // Local parts are case-sensitive, but some mail servers change the case.
  const [, id, given] = /^b\+([0-9a-f]{32})\.([0-9a-f]{16})$/.exec(address.slice(0, at).toLowerCase()) ?? []
  if (id === undefined || given === undefined) return null
  if (!timingSafeEqual(Buffer.from(signature(id, key)), Buffer.from(given))) return null
  return id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

const signature = (id: string, key: Buffer): string => createHmac('sha256', key).update(`verp:${id}`).digest('hex').slice(0, 16)
