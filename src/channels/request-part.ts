import { Type } from 'typebox'
import { type RefusalCode, refuse } from '../domain/errors.js'
import type { Json } from '../domain/evidence/canonical-json.js'
import type { JsonObject } from '../domain/notification.js'
import { linkStandsAlone } from '../domain/recipient/link.js'
import { examineNumber, type NumberFault, type NumberUse } from '../domain/text/phone.js'
import { countCharacters } from '../domain/text/text.js'

/** The members that several channels' parts of the send request share. */
export const recipientNumber = (description: string) => Type.String({ description, examples: ['11987654321'] })

/** The sentences about a number that the schema refuses. */
export const numberRefusals = { missing: 'numberMissing', wrong: 'numberNotText' } as const

/** What files call a column of numbers without saying for which channel. */
export const PHONE_COLUMNS = ['celular', 'telefone', 'telefone celular', 'fone', 'número', 'móvel', 'phone', 'mobile'] as const

export function requireNumber(value: string, use: NumberUse, field: string): string {
  if (value === '') refuse('numberMissing', field)
  const examined = examineNumber(value, use)
  return 'number' in examined ? examined.number : refuse(numberFaults[examined.fault], field)
}

const numberFaults: Readonly<Record<NumberFault, RefusalCode>> = {
  masked: 'numberMasked',
  'too short': 'numberTooShort',
  'no ninth digit': 'numberWithoutNinthDigit',
  'fixed line': 'numberOfFixedLine',
  impossible: 'numberImpossible',
}

export function atMost(value: string | null | undefined, limit: number, field: string): string | null {
  if (value == null) return null
  // Code points never outnumber UTF-16 units, so that most texts need no count.
  if (value.length > limit && countCharacters(value) > limit) refuse('tooLong', field, String(limit))
  return value
}

/** Refuses a text, or any text inside a value, that would make the recipient's link a part of another address. */
export function requireLoneLinks<T>(value: T, field: string): T {
  if (typeof value === 'string' && !linkStandsAlone(value)) refuse('linkNotAlone', field)
  if (typeof value === 'object' && value !== null)
    for (const [name, member] of Object.entries(value)) requireLoneLinks(member, `${field}.${name}`)
  return value
}

/** The values of a template's variables. An object or a list would be sent as "[object Object]". */
export function readVariables(given: Record<string, unknown> | null | undefined, field: string): JsonObject {
  const values = (given ?? {}) as Record<string, Json>
  for (const [name, value] of Object.entries(values))
    if (typeof value === 'object' && value !== null) refuse('nestedVariable', `${field}.${name}`)
  return values
}
