import { type Static, type TSchema, Type } from 'typebox'
import { Compile, type Validator } from 'typebox/compile'
import { type RefusalCode, refuse } from './errors.js'

/** Wire schemas: the same object validates, documents and types. null in an optional member counts as absent. */
export const optionalText = (options: object = {}) =>
  Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'], ...options }))

export const optionalObject = <T extends Record<string, TSchema>>(properties: T, options: object = {}) =>
  Type.Optional(
    Type.Unsafe<Static<ReturnType<typeof Type.Object<T>>> | null>({ type: ['object', 'null'], properties, ...options }),
  )

/** An object whose members are the sender's own. */
export const freeObject = (options: object = {}) =>
  Type.Optional(Type.Unsafe<Record<string, unknown> | null>({ type: ['object', 'null'], additionalProperties: true, ...options }))

/** Text that must hold at least one visible character. */
export const requiredText = (options: object = {}) => Type.String({ pattern: '\\S', ...options })

export type Check<T extends TSchema> = (value: unknown) => Static<T>

/** A check that refuses with a Portuguese sentence that names the first bad field; some fields have a sentence of their own. */
export function compileCheck<T extends TSchema>(schema: T, ownRefusals: Record<string, RefusalCode> = {}): Check<T> {
  const validator: Validator = Compile(schema)
  return value => {
    if (!validator.Check(value)) explain(value, validator, ownRefusals)
    return value as Static<T>
  }
}

function explain(value: unknown, validator: Validator, ownRefusals: Record<string, RefusalCode>): never {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return refuse('notObject')
  const error = validator.Errors(value)[0]!
  const field = fieldName(error.instancePath)
  const own = ownRefusals[field]
  if (own !== undefined) return refuse(own, field)
  switch (error.keyword) {
    case 'required':
      return refuse('required', [field, error.params.requiredProperties[0]!].filter(part => part !== '').join('.'))
    case 'pattern':
      return refuse('required', field)
    case 'type':
      return refuse(wrongType(error.params.type), field)
    case 'enum':
      return refuse('notOneOf', field, error.params.allowedValues.filter(value => value !== null).join(', '))
    case 'minimum':
      return refuse('tooLow', field, String(error.params.limit))
    case 'maximum':
      return refuse('tooHigh', field, String(error.params.limit))
    default:
      return refuse('wrongValue', field)
  }
}

function wrongType(expected: string | string[]): RefusalCode {
  const [type] = Array.isArray(expected) ? expected : [expected]
  if (type === 'string') return 'notText'
  if (type === 'boolean') return 'notBoolean'
  if (type === 'object') return 'notObjectField'
  if (type === 'integer') return 'notInteger'
  return type === 'array' ? 'notList' : 'wrongValue'
}

/** /attachments/0/name → attachments[0].name */
const fieldName = (path: string): string =>
  path
    .slice(1)
    .split('/')
    .map(part => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join('.')
    .replace(/\.(\d+)(?=\.|$)/g, '[$1]')
