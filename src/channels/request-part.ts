import { Type } from 'typebox'
import type { Json } from '../domain/canonical-json.js'
import { refuse } from '../domain/errors.js'
import { linkStandsAlone } from '../domain/link.js'
import type { JsonObject } from '../domain/notification.js'
import { type NumberUse, readNumber } from '../domain/phone.js'
import { countCharacters } from '../domain/text.js'

/** The members that several channels' parts of the send request share. */
export const recipientNumber = (description: string) => Type.Optional(Type.String({ description, examples: ['11987654321'] }))

export const requireNumber = (value: string | undefined, use: NumberUse, field: string): string =>
  readNumber(value ?? '', use) ?? refuse('badNumber', field)

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

export const readVariables = (given: Record<string, unknown> | null | undefined): JsonObject =>
  (given ?? {}) as Record<string, Json>
