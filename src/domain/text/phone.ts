import parsePhoneNumber from 'libphonenumber-js/max'

export type NumberUse = 'mobile' | 'any'

// Anatel's area codes in use.
const areaCodes = new Set(
  `11 12 13 14 15 16 17 18 19 21 22 24 27 28 31 32 33 34 35 37 38 41 42 43 44 45 46 47 48 49 51 53 54 55
   61 62 63 64 65 66 67 68 69 71 73 74 75 77 79 81 82 83 84 85 86 87 88 89 91 92 93 94 95 96 97 98 99`.split(/\s+/),
)

/** Why a text is not a number for a use. */
export type NumberFault = 'masked' | 'too short' | 'no ninth digit' | 'fixed line' | 'impossible'

/**
 * The number as E.164, or why no such number can exist for that use. Masks are not read: digits, or + and digits. Numbers are read first
 * as Brazilian, without the library: it costs 20 times as much on the accepting path.
 */
export function examineNumber(text: string, use: NumberUse): { number: string } | { fault: NumberFault } {
  const { plus, digits } = split(text)
  if (digits === null) return { fault: 'masked' }
  // Without its area code a Brazilian number may have the digits of a foreign one.
  const read = !plus && digits.length < SHORTEST_NATIONAL ? null : (readBrazilian(digits, plus) ?? readInternational(digits))
  if (read === null) return { fault: digits.length < SHORTEST_NATIONAL ? 'too short' : 'impossible' }
  // The digit that completes an old number is a guess, and a guess can reach a stranger.
  if (read.kind === 'old mobile') return { fault: 'no ninth digit' }
  // A fixed line that cannot be used stays refused: 47 4040-1234 in Joinville has the digits of a mobile in Norway.
  return read.kind === 'fixed' && use === 'mobile' ? { fault: 'fixed line' } : { number: read.number }
}

export function readNumber(text: string, use: NumberUse): string | null {
  const examined = examineNumber(text, use)
  return 'number' in examined ? examined.number : null
}

/**
 * A number that a carrier names, as E.164. Some carriers still write Brazilian mobiles without the ninth digit. Such a number is only
 * compared with those of recipients, which have it; nothing is sent to it.
 */
export function readReportedNumber(text: string): string | null {
  const { plus, digits } = split(text)
  return digits === null ? null : ((readBrazilian(digits, plus) ?? readInternational(digits))?.number ?? null)
}

/** Area code and eight digits. */
const SHORTEST_NATIONAL = 10

function split(text: string): { plus: boolean; digits: string | null } {
  const match = /^(\+?)(\d+)$/.exec(text)
  return { plus: match?.[1] === '+', digits: match?.[2] ?? null }
}

type Read = { number: string; kind: 'mobile' | 'old mobile' | 'fixed' }

function readBrazilian(digits: string, international: boolean): Read | null {
  const prefixed = digits.length >= 12 || international
  if (prefixed && !digits.startsWith('55')) return null
  const national = prefixed ? digits.slice(2) : digits
  const area = national.slice(0, 2)
  const subscriber = national.slice(2)
  if (!areaCodes.has(area)) return null
  if (/^9\d{8}$/.test(subscriber)) return { number: `+55${national}`, kind: 'mobile' }
  // Mobile numbers of before 2016 lack the ninth digit.
  if (/^[6-9]\d{7}$/.test(subscriber)) return { number: `+55${area}9${subscriber}`, kind: 'old mobile' }
  if (/^[2-5]\d{7}$/.test(subscriber)) return { number: `+55${national}`, kind: 'fixed' }
  return null
}

const internationalKinds: Readonly<Record<string, Read['kind']>> = {
  MOBILE: 'mobile',
  FIXED_LINE_OR_MOBILE: 'mobile',
  FIXED_LINE: 'fixed',
  VOIP: 'fixed',
}

function readInternational(digits: string): Read | null {
  if (digits.length < 8 || digits.length > 15) return null
  const number = parsePhoneNumber(`+${digits}`)
  // A number that the Brazilian plan refused stays refused.
  if (number === undefined || number.countryCallingCode === '55' || !number.isValid()) return null
  const kind = internationalKinds[number.getType() ?? '']
  return kind === undefined ? null : { number: number.number, kind }
}

/**
 * The ways in which WhatsApp may write a number, E.164, the national plan's first: it knows most Brazilian mobiles without
 * their ninth digit, and keeps the mobile digits that Mexico and Argentina gave up or do not dial.
 */
export function numberForms(digits: string): string[] {
  const number = digits.replace(/^\+/, '')
  const [, area, subscriber] = /^55(\d\d)9?(\d{8})$/.exec(number) ?? []
  if (subscriber !== undefined) return [`+55${area}9${subscriber}`, `+55${area}${subscriber}`]
  const [, mexican] = /^521?(\d{10})$/.exec(number) ?? []
  if (mexican !== undefined) return [`+52${mexican}`, `+521${mexican}`]
  const [, argentine] = /^549?(\d{10})$/.exec(number) ?? []
  if (argentine !== undefined) return [`+549${argentine}`, `+54${argentine}`]
  return [`+${number}`]
}
