import { createHmac, timingSafeEqual } from 'node:crypto'
import type { AccountSettings } from '../account.js'
import type { Channel } from '../channel.js'
import type { DeliveryState, Failure } from '../delivery/status.js'
import type { Json } from '../evidence/canonical-json.js'
import { mapMembers } from '../text/text.js'
import { DAY_MS } from '../units.js'

const MAC_BYTES = 16
const ID_BYTES = 16

export interface LinkTarget {
  notification: string
  channel: Channel
}

/** The start of an account's links. */
export const linkBase = (settings: Pick<AccountSettings, 'link.domain'>, publicUrl: string): string =>
  settings['link.domain'] || publicUrl

/**
 * A link code names the notification and the channel, with a MAC of 128 bits. It is not stored, and it cannot be guessed. `channelCode`:
 * the byte that the channel's module declares for its links.
 */
export function makeLinkCode(key: Buffer, notification: string, channelCode: number): string {
  const body = Buffer.concat([Buffer.from(notification.replaceAll('-', ''), 'hex'), Buffer.from([channelCode])])
  return Buffer.concat([body, mac(key, body)]).toString('base64url')
}

/** null: the code is not one of ours. */
export function readLinkCode(key: Buffer, code: string): { notification: string; channelCode: number } | null {
  // A malformed code takes as long to refuse as a wrong one.
  const formed = /^[\w-]{44}$/.test(code)
  const bytes = formed ? Buffer.from(code, 'base64url') : Buffer.alloc(ID_BYTES + 1 + MAC_BYTES)
  const body = bytes.subarray(0, ID_BYTES + 1)
  if (!timingSafeEqual(bytes.subarray(ID_BYTES + 1), mac(key, body)) || !formed) return null
  const hex = body.subarray(0, ID_BYTES).toString('hex')
  const notification = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  return { notification, channelCode: body[ID_BYTES]! }
}

const mac = (key: Buffer, body: Buffer): Buffer => createHmac('sha256', key).update(body).digest().subarray(0, MAC_BYTES)

/**
 * Short codes, for messages where every character counts. Ten characters are 50 bits: too few to be safe by themselves, so they
 * are stored, and guesses at them are counted and locked out (engine/recipient/guess-guard.ts).
 */
const SHORT_CODE_LENGTH = 10
/** Crockford's base 32 has no i, l, o and u, so that a code that is read aloud or copied by hand has one reading. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

/** The same target and round give the same code; a later round is for a code that another target has already. */
export function makeShortCode(key: Buffer, { notification, channel }: LinkTarget, round: number): string {
  const digest = createHmac('sha256', key).update(`short ${notification} ${channel} ${round}`).digest()
  return Array.from(digest.subarray(0, SHORT_CODE_LENGTH), byte => ALPHABET[byte % ALPHABET.length]).join('')
}

/** What a person types who has the link on paper: an address of the site, and there the code, in two groups that the eye can hold. */
export interface TypedLink {
  address: string
  code: string
}

export const typedLink = (base: string, code: string): TypedLink => ({
  address: `${new URL(base).host}/s`,
  code: `${code.slice(0, SHORT_CODE_LENGTH / 2)}-${code.slice(SHORT_CODE_LENGTH / 2)}`.toUpperCase(),
})

/** More than the code with its hyphen and blanks that slip in; the rest of a long text is not looked at. */
const MAX_TYPED = 4 * SHORT_CODE_LENGTH

/**
 * The code as stored: case, blanks, hyphens and the letters that are mistaken for digits do not count. A character that no code has
 * becomes an underscore, so that any text is looked up in the same way.
 */
export const readShortCode = (text: string): string =>
  text
    .slice(0, MAX_TYPED)
    .replaceAll(/[\s\-–]/g, '')
    .slice(0, SHORT_CODE_LENGTH + 1)
    .toLowerCase()
    .replaceAll('o', '0')
    .replaceAll(/[il]/g, '1')
    .replaceAll(/[^0-9a-z]/g, '_')

/** Senders write this where the short link is to stand. */
export const LINK_PLACEHOLDER = '{SHORT_LINK}'

/**
 * Whether the link will stand alone wherever the text asks for it. As part of a longer address it would reach whoever owns that
 * address. Only these blanks: others have no width, or are dropped where a text is fitted to an alphabet.
 */
export const linkStandsAlone = (text: string): boolean => !/[^ \t\r\n]\{SHORT_LINK\}|\{SHORT_LINK\}[^ \t\r\n]/.test(text)

/** A link in any text: its slashes may be written as in JSON or in a URL's query, and its code may be cut. */
const LINK_IN_TEXT = /((?:\\?\/|%2f)[nos](?:\\?\/|%2f))[\w-]{6,}/gi

/** The text without the secret part of recipients' links: carriers and recipients quote messages, and senders read what they say. */
export const hideLinksIn = (text: string): string =>
  text.includes('/') || text.includes('%') ? text.replace(LINK_IN_TEXT, '$1…') : text

/** The same for every text inside a value, and the value itself where there is nothing to hide, as nearly always. */
export const hideLinks = <T extends Json | { [member: string]: Json | undefined }>(value: T): T =>
  mapMembers(value, leaf => (typeof leaf === 'string' ? hideLinksIn(leaf) : leaf))

/** Why a link no longer opens. stranger: it reached a wrong person; withdrawn: the channel was cancelled; expired: link.days are over. */
export type LinkEnd = 'stranger' | 'withdrawn' | 'expired'

export interface LinkLife {
  settings: Pick<AccountSettings, 'link.days'>
  acceptedAt: Date
  state: DeliveryState
  failure: Failure | null
}

export function endOfLink({ settings, acceptedAt, state, failure }: LinkLife, nowMs: number): LinkEnd | null {
  if (failure === 'stranger') return 'stranger'
  if (state === 'cancelled') return 'withdrawn'
  return nowMs > acceptedAt.getTime() + settings['link.days'] * DAY_MS ? 'expired' : null
}
