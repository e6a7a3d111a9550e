import { createHmac } from 'node:crypto'
import { simulatorSecret } from '../../src/domain/access/keys.js'
import { urlBelow } from '../addresses.js'
import type { CallbackRoute } from '../callbacks.js'

export interface SignedForm {
  to: string
  headers: Record<string, string>
  body: string
}

const REGISTERED = '/callbacks/simulator'

/** Twilio signs the URL and the sorted parameters with HMAC-SHA1. The URL is the sender's, also when the request goes to another. */
export function signForm(
  url: string,
  fields: Record<string, string>,
  route: CallbackRoute,
  bases: readonly string[],
): SignedForm {
  const text = Object.keys(fields)
    .sort()
    .map(name => name + fields[name])
    .join('')
  return {
    to: addressFor(url, route, bases),
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'x-twilio-signature': createHmac('sha1', simulatorSecret(Buffer.from(route.secret, 'hex'), 'twilio'))
        .update(url + text)
        .digest('base64'),
    },
    body: new URLSearchParams(fields).toString(),
  }
}

/** The public URL of a gateway may not be reachable from here, so the request goes to the base that the gateway registered. */
function addressFor(url: string, { base }: CallbackRoute, bases: readonly string[]): string {
  const at = url.indexOf(`${REGISTERED}/`)
  const isRegistered = bases.some(known => urlBelow(known, url) !== null)
  return isRegistered || at === -1 ? url : `${base}${url.slice(at + REGISTERED.length)}`
}
