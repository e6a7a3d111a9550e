import ipaddr from 'ipaddr.js'

/** Network addresses of senders and proxies: single IPs or CIDR ranges, v4 and v6. */
export type AddressRange = [ipaddr.IPv4 | ipaddr.IPv6, number]

/** The range in canonical form (host bits cleared), or null when the text is no address or range. */
export function readRange(text: string): string | null {
  try {
    if (!text.includes('/')) {
      const address = ipaddr.process(strict(text))
      return `${address.toString()}/${address.kind() === 'ipv4' ? 32 : 128}`
    }
    const [address, bits] = parseRange(text)
    const network =
      address.kind() === 'ipv4'
        ? ipaddr.IPv4.networkAddressFromCIDR(`${address}/${bits}`)
        : ipaddr.IPv6.networkAddressFromCIDR(`${address}/${bits}`)
    return `${network.toString()}/${bits}`
  } catch {
    return null
  }
}

/** Parses a range that is known to be well formed. */
export function parseRange(text: string): AddressRange {
  const [host, ...rest] = text.split('/') as [string, ...string[]]
  const [address, bits] = ipaddr.parseCIDR(
    `${strict(host)}/${rest.length === 0 ? (host.includes(':') ? 128 : 32) : rest.join('/')}`,
  )
  // ::ffff:10.0.0.0/104 means 10.0.0.0/8: clients are compared in their IPv4 form.
  if (address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= 96) return [address.toIPv4Address(), bits - 96]
  return [address, bits]
}

/** ipaddr.js also reads "127.1" and "0x7f000001"; a registered address has one spelling. */
function strict(host: string): string {
  if (!ipaddr.IPv4.isValidFourPartDecimal(host) && !ipaddr.IPv6.isValid(host)) throw new RangeError(`not an address: ${host}`)
  return host
}

/** IPv4 addresses that arrive in IPv6 form (::ffff:a.b.c.d) count as the IPv4 inside. */
export function normaliseAddress(text: string): string {
  return text.includes(':') ? ipaddr.process(text.split('%')[0]!).toString() : text
}

export function inRanges(address: string, ranges: readonly AddressRange[]): boolean {
  if (ranges.length === 0 || !ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  return ranges.some(([network, bits]) => network.kind() === parsed.kind() && parsed.match(network, bits))
}

/** What one attacker holds: an IPv4 address, or an IPv6 network of 64 bits. */
export function addressGroup(address: string): string {
  return address.includes(':') ? networkOf(address, 64) : address
}

/** The 48 bits that a site is given, with 65,536 networks of 64 in them to guess from; null for an IPv4 address. */
export function addressSite(address: string): string | null {
  return address.includes(':') ? networkOf(address, 48) : null
}

const networkOf = (address: string, bits: number): string =>
  `${ipaddr.IPv6.networkAddressFromCIDR(`${address}/${bits}`).toString()}/${bits}`

/**
 * The client's address: the socket's, unless that peer is a trusted proxy; then the last hop of X-Forwarded-For that is
 * not one. Anything unreadable in the header ends the walk at the last hop that could be believed.
 */
export function clientAddress(peer: string, forwardedFor: string | undefined, trusted: readonly AddressRange[]): string {
  let client = normaliseAddress(peer)
  if (trusted.length === 0 || forwardedFor === undefined) return client
  const hops = forwardedFor.split(',').map(hop => hop.trim())
  while (inRanges(client, trusted)) {
    const hop = hops.pop()
    if (hop === undefined || !(ipaddr.IPv4.isValidFourPartDecimal(hop) || ipaddr.IPv6.isValid(hop))) break
    client = normaliseAddress(hop)
  }
  return client
}
