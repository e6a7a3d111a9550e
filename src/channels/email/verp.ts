import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * The addresses that identify a delivery (VERP): b+<notification>.<signature>@bounce-domain is the envelope sender; r+… is in the
 * request for a reading receipt alone, so that a receipt that comes to it was asked for; f+… is the envelope sender of a forwarded
 * reply, so that nothing that comes back for it is taken for a reply or a bounce of the notification. Every message to them identifies the
 * notification, whatever its form, and the signature prevents forged addresses.
 */
export interface Verp {
  domain: string
  key: Buffer
}

const PURPOSES = {
  return: { letter: 'b', label: 'verp' },
  receipt: { letter: 'r', label: 'receipt' },
  forward: { letter: 'f', label: 'forward' },
} as const
const purposes = Object.entries(PURPOSES) as [Purpose, (typeof PURPOSES)[Purpose]][]
type Purpose = keyof typeof PURPOSES

export interface ReturnAddress {
  notification: string
  purpose: Purpose
}

export function verpAddress(notification: string, { domain, key }: Verp, purpose: Purpose = 'return'): string {
  const id = notification.replaceAll('-', '').toLowerCase()
  return `${PURPOSES[purpose].letter}+${id}.${signature(id, key, purpose)}@${domain}`
}

/** null: the address has no valid signature. */
export function readVerp(address: string, { domain, key }: Verp): ReturnAddress | null {
  const at = address.lastIndexOf('@')
  if (address.slice(at + 1).toLowerCase() !== domain.toLowerCase()) return null
  // Local parts are case-sensitive, but some mail servers change the case.
  const [, letter, id, given] = /^([brf])\+([0-9a-f]{32})\.([0-9a-f]{16})$/.exec(address.slice(0, at).toLowerCase()) ?? []
  if (id === undefined || given === undefined) return null
  const [purpose] = purposes.find(([, known]) => known.letter === letter)!
  if (!timingSafeEqual(Buffer.from(signature(id, key, purpose)), Buffer.from(given))) return null
  return { notification: id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'), purpose }
}

const signature = (id: string, key: Buffer, purpose: Purpose): string =>
  createHmac('sha256', key).update(`${PURPOSES[purpose].label}:${id}`).digest('hex').slice(0, 16)
