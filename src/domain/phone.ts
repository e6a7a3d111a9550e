import parsePhoneNumber from 'libphonenumber-js/max'

/** Numbers are read first as Brazilian, without the library: it costs 20 times as much on the accepting path. */
export type NumberUse = 'mobile' | 'any'

// Anatel's area codes in use.
const areaCodes = new Set(
  `11 12 13 14 15 16 17 18 19 21 22 24 27 28 31 32 33 34 35 37 38 41 42 43 44 45 46 47 48 49 51 53 54 55
   61 62 63 64 65 66 67 68 69 71 73 74 75 77 79 81 82 83 84 85 86 87 88 89 91 92 93 94 95 96 97 98 99`.split(/\s+/),
)

/** The number as E.164, or null when no such number can exist for that use. Masks are not read: digits, or + and digits. */
export function readNumber(text: string, use: NumberUse): string | null {
  const match = /^(\+?)(\d{8,15})$/.exec(text)
  if (match === null) return null
  const [, plus, digits] = match as unknown as [string, string, string]
  const brazilian = readBrazilian(digits, plus === '+')
  if (brazilian === null) return readInternational(digits, use)
  // A fixed line that cannot be used stays refused: 47 4040-1234 in Joinville has the digits of a mobile in Norway.
  return brazilian.mobile || use === 'any' ? brazilian.number : null
}

function readBrazilian(digits: string, international: boolean): { number: string; mobile: boolean } | null {
  const prefixed = digits.length >= 12 || international
  if (prefixed && !digits.startsWith('55')) return null
  const national = prefixed ? digits.slice(2) : digits
  const area = national.slice(0, 2)
  const subscriber = national.slice(2)
  if (!areaCodes.has(area)) return null
  if (/^9\d{8}$/.test(subscriber)) return { number: `+55${national}`, mobile: true }
  // Mobile numbers of before 2016 lack the ninth digit.
  if (/^[6-9]\d{7}$/.test(subscriber)) return { number: `+55${area}9${subscriber}`, mobile: true }
  if (/^[2-5]\d{7}$/.test(subscriber)) return { number: `+55${national}`, mobile: false }
  return null
}

function readInternational(digits: string, use: NumberUse): string | null {
  const number = parsePhoneNumber(`+${digits}`)
  // A number that the Brazilian plan refused stays refused.
  if (number === undefined || number.countryCallingCode === '55' || !number.isValid()) return null
  const usable = ['MOBILE', 'FIXED_LINE_OR_MOBILE', ...(use === 'any' ? ['FIXED_LINE', 'VOIP'] : [])]
  return usable.includes(number.getType() ?? '') ? number.number : null
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
