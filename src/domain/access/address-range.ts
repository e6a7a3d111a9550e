import ipaddr from 'ipaddr.js'

export type AddressRange = [ipaddr.IPv4 | ipaddr.IPv6, number]

/** The range in canonical form (host bits cleared), or null when the text is no address or range. */
export function readRange(text: string): string | null {
  try {
    const [address, bits] = parseRange(text)
    const family = address.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6
    return `${family.networkAddressFromCIDR(`${address}/${bits}`).toString()}/${bits}`
  } catch {
    return null
  }
}

export function parseRange(text: string): AddressRange {
  const [host, ...rest] = text.split('/') as [string, ...string[]]
  const [address, bits] = ipaddr.parseCIDR(
    `${strict(host)}/${rest.length === 0 ? (host.includes(':') ? 128 : 32) : rest.join('/')}`,
  )
  // ::ffff:10.0.0.0/104 means 10.0.0.0/8: clients are compared in their IPv4 form.
  if (address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= 96) return [address.toIPv4Address(), bits - 96]
  return [address, bits]
}

/** ipaddr.js also reads "127.1" and "0x7f000001"; an address has one spelling here. */
export const isAddress = (text: string): boolean => ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text)

function strict(host: string): string {
  if (!isAddress(host)) throw new RangeError(`not an address: ${host}`)
  return host
}

/** IPv4 addresses that arrive in IPv6 form (::ffff:a.b.c.d) count as the IPv4 inside. */
export const normaliseAddress = (text: string): string =>
  text.includes(':') ? ipaddr.process(text.split('%')[0]!).toString() : text

export function inRanges(address: string, ranges: readonly AddressRange[]): boolean {
  if (ranges.length === 0 || !ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  return ranges.some(([network, bits]) => network.kind() === parsed.kind() && parsed.match(network, bits))
}

/** The addresses that one attacker holds: an IPv4 address, or an IPv6 network of 64 bits. */
export const addressGroup = (address: string): string => (address.includes(':') ? networkOf(address, 64) : address)

/** The network of 48 bits that a site is given, which has 65,536 networks of 64 bits to guess from; null for an IPv4 address. */
export const addressSite = (address: string): string | null => (address.includes(':') ? networkOf(address, 48) : null)

const networkOf = (address: string, bits: number): string =>
  `${ipaddr.IPv6.networkAddressFromCIDR(`${address}/${bits}`).toString()}/${bits}`

/**
 * The client's address: the socket's, unless that peer is a trusted proxy; then the last hop of X-Forwarded-For that is
 * not one. An unreadable hop ends the search at the last hop that could be trusted.
 */
export function clientAddress(peer: string, forwardedFor: string | undefined, trusted: readonly AddressRange[]): string {
  let client = normaliseAddress(peer)
  if (trusted.length === 0 || forwardedFor === undefined) return client
  const hops = forwardedFor.split(',').map(hop => hop.trim())
  while (inRanges(client, trusted)) {
    const hop = hops.pop()
    if (hop === undefined || !isAddress(hop)) break
    client = normaliseAddress(hop)
  }
  return client
}
