import { Type } from 'typebox'
import type { Json } from '../domain/canonical-json.js'
import { refuse } from '../domain/errors.js'
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

export const readVariables = (given: Record<string, unknown> | null | undefined): JsonObject =>
  (given ?? {}) as Record<string, Json>
