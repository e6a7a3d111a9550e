import { domainToASCII } from 'node:url'

const MAX_ADDRESS = 254

/**
 * The address with its domain in lower-case ASCII, or null when the text is not exactly one address: a dot-string local part (RFC 5321,
 * with the letters of RFC 6531) and a domain of at least two labels. Quoted local parts and address literals are refused. The time is
 * linear in the length of the text.
 */
export function readEmailAddress(text: string): string | null {
  if (text.length > MAX_ADDRESS) return null
  const at = text.indexOf('@')
  if (at < 1 || at !== text.lastIndexOf('@')) return null
  const local = text.slice(0, at)
  if (Buffer.byteLength(local) > 64 || !/^[^\s"(),:;<>@[\\\]\u0000-\u001f\u007f-\u009f]+$/u.test(local)) return null
  if (local.startsWith('.') || local.endsWith('.') || local.includes('..')) return null
  const domain = readDomain(text.slice(at + 1))
  if (domain === null) return null
  const address = `${local}@${domain}`
  return address.length > MAX_ADDRESS ? null : address
}

/** A domain of at least two labels in lower-case ASCII, or null when the text is not a domain. */
export function readDomain(text: string): string | null {
  if (!/^[\p{L}\p{M}\p{N}.-]+$/u.test(text)) return null
  const domain = domainToASCII(text)
  const labels = domain.split('.')
  if (domain.length > 253 || labels.length < 2) return null
  if (!labels.every(label => label.length <= 63 && /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(label))) return null
  // A top-level domain is never all digits (RFC 3696), so this is an IP address without brackets.
  return /^\d+$/.test(labels.at(-1)!) ? null : domain
}
