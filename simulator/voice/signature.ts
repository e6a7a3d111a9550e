import { createHmac } from 'node:crypto'
import { simulatorSecret } from '../../src/domain/keys.js'
import { type CallbackRoute, urlBelow } from '../callbacks.js'

/** A request from the carrier, as its published rules sign it: HMAC-SHA1 over the address and the sorted parameters. */
export interface SignedForm {
  to: string
  headers: Record<string, string>
  body: string
}

const REGISTERED = '/callbacks/simulator'

/** Signed for the address that the sender gave, and carried to where its gateway registered. */
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

/** A gateway's public address may not be reachable from here; what it registered is. Of several, each gets its own calls. */
function addressFor(url: string, { base }: CallbackRoute, bases: readonly string[]): string {
  const at = url.indexOf(`${REGISTERED}/`)
  const isSomebodys = bases.some(known => urlBelow(known, url) !== null)
  return isSomebodys || at === -1 ? url : `${base}${url.slice(at + REGISTERED.length)}`
}
