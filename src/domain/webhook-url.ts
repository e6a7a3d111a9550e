import { refuse } from './errors.js'
import { isForbiddenAddress, isLoopbackHost, isLoopbackName, type TargetRules } from './target-address.js'

/**
 * What can be said about a webhook's URL before anybody connects. A name's addresses are checked at every connection, since
 * they can change after any check made here.
 */
const MAX_URL_CHARACTERS = 2_048
/** Below lie the ports of other protocols. */
const FIRST_FREE_PORT = 1_024

/** The URL in its one spelling. */
export function readWebhookUrl(text: string, rules: TargetRules): string {
  const url = URL.canParse(text) && text.length <= MAX_URL_CHARACTERS ? new URL(text) : refuse('webhookUrl')
  if (url.protocol !== 'https:' && url.protocol !== 'http:') refuse('webhookUrl')
  if (url.username !== '' || url.password !== '') refuse('webhookCredentials')
  if (url.hash !== '') refuse('webhookFragment')
  // WHATWG has read 2130706433, 0x7f.1 and 127。0。0。1 as the addresses that they are.
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const local = isLoopbackHost(host)
  if (isLiteral(host) ? isForbiddenAddress(host, rules) : isLoopbackName(host) && !rules.loopback) refuse('webhookAddress', host)
  if (url.protocol === 'http:' && !(local && rules.loopback)) refuse('webhookHttps')
  const port = Number(url.port)
  if (url.port !== '' && port < FIRST_FREE_PORT && !(local && rules.loopback)) refuse('webhookPort', url.port)
  return url.href
}

const isLiteral = (host: string): boolean => host.includes(':') || /^\d+(\.\d+){3}$/.test(host)
