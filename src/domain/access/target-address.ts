import ipaddr from 'ipaddr.js'
import { refuse } from '../errors.js'
import { type AddressRange, inRanges, isAddress, parseRange } from './address-range.js'

export interface TargetRules {
  allowed: readonly AddressRange[]
  /** Development: this machine itself may be called, also without TLS. */
  loopback: boolean
}

/** Where clouds tell a machine its own credentials, some of them public addresses: refused also inside a range that was allowed. */
const METADATA = ['169.254.0.0/16', '168.63.129.16', 'fd00:ec2::254', '100.100.100.200'].map(parseRange)

/**
 * Whether a connection to the address is refused. The gateway calls only public unicast addresses on behalf of a user, and the ranges
 * that the operator allowed (intranets). An unreadable address is refused.
 */
export function isForbiddenAddress(text: string, rules: TargetRules): boolean {
  const bare = text.split('%')[0]!
  if (!isAddress(bare)) return true
  const address = innermost(ipaddr.parse(bare))
  if (inRanges(address.toString(), METADATA)) return true
  if (inRanges(address.toString(), rules.allowed)) return false
  if (address.range() === 'loopback') return !rules.loopback
  return address.range() !== 'unicast' || (address instanceof ipaddr.IPv6 && !address.match(GLOBAL_UNICAST, 3))
}

/** ::1, 127.0.0.0/8, and what carries one of these. */
export const isLoopbackAddress = (text: string): boolean =>
  isAddress(text) && innermost(ipaddr.parse(text)).range() === 'loopback'

/** RFC 6761: never anything but this machine. */
export const isLoopbackName = (host: string): boolean => /^(.+\.)?localhost\.?$/i.test(host)

/** This machine, by name or by address, as a URL or a setting has it. */
export function isLoopbackHost(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '')
  return isLoopbackName(bare) || isLoopbackAddress(bare)
}

/** 2000::/3 is all that is routed on the public Internet today (RFC 4291, IANA). */
const GLOBAL_UNICAST = ipaddr.IPv6.parse('2000::')

/** Prefixes whose addresses lead to the IPv4 address inside, and the byte at which it starts. */
const CARRIERS: [ipaddr.IPv6, bits: number, at: number][] = [
  [ipaddr.IPv6.parse('::ffff:0:0'), 96, 12], // mapped, RFC 4291
  [ipaddr.IPv6.parse('::ffff:0:0:0'), 96, 12], // translated, RFC 2765
  [ipaddr.IPv6.parse('64:ff9b::'), 96, 12], // NAT64, RFC 6052
  [ipaddr.IPv6.parse('2002::'), 16, 2], // 6to4, RFC 3056
  [ipaddr.IPv6.parse('::'), 96, 12], // compatible, RFC 4291; after ::1 and ::
]

function innermost(address: ipaddr.IPv4 | ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 {
  if (address instanceof ipaddr.IPv4 || ['loopback', 'unspecified'].includes(address.range())) return address
  const [, , at] = CARRIERS.find(([prefix, bits]) => address.match(prefix, bits)) ?? []
  return at === undefined ? address : new ipaddr.IPv4(address.toByteArray().slice(at, at + 4))
}

export const MAX_URL_CHARACTERS = 2_048
/** The ports below belong to other protocols. */
const FIRST_FREE_PORT = 1_024

/**
 * A webhook's URL in its one spelling. Only its form is checked here: the addresses of a name can change, so they are checked at
 * every connection.
 */
export function readWebhookUrl(text: string, rules: TargetRules): string {
  if (text.length > MAX_URL_CHARACTERS) refuse('tooLong', 'url', String(MAX_URL_CHARACTERS))
  const url = URL.canParse(text) ? new URL(text) : refuse('webhookUrl')
  if (url.protocol !== 'https:' && url.protocol !== 'http:') refuse('webhookUrl')
  if (url.username !== '' || url.password !== '') refuse('webhookCredentials')
  if (url.hash !== '') refuse('webhookFragment')
  // The URL parser has read 2130706433, 0x7f.1 and 127。0。0。1 as the addresses that they are.
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const allowed = isLoopbackHost(host) && rules.loopback
  const isLiteral = host.includes(':') || /^\d+(\.\d+){3}$/.test(host)
  if (isLiteral ? isForbiddenAddress(host, rules) : isLoopbackName(host) && !rules.loopback) refuse('webhookAddress', host)
  if (url.protocol === 'http:' && !allowed) refuse('webhookHttps')
  if (url.port !== '' && Number(url.port) < FIRST_FREE_PORT && !allowed) refuse('webhookPort', url.port)
  return url.href
}
