import { refuse } from './errors.js'
import { countCharacters, hasControlCharacters, isBlank } from './text/text.js'

export const MAX_ACCOUNT_NAME_CHARACTERS = 200

/** The name of an account or of its entity. `field`: where it was given. */
export function readAccountName(text: string, field: string): string {
  const name = text.trim()
  if (isBlank(name)) refuse('required', field)
  if (hasControlCharacters(name)) refuse('lineBreak', field)
  if (countCharacters(name) > MAX_ACCOUNT_NAME_CHARACTERS) refuse('tooLong', field, String(MAX_ACCOUNT_NAME_CHARACTERS))
  return name
}

/** An account without an entity has one of its own name. */
export const readEntityName = (text: string | undefined, name: string, field: string): string =>
  text === undefined || isBlank(text) ? name : readAccountName(text, field)
