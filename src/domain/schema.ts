import { type Static, type TSchema, Type } from 'typebox'
import { Compile, type Validator } from 'typebox/compile'
import { type RefusalCode, refuse } from './errors.js'

/** Schemas of the API: the same object validates, documents and types. null in an optional member counts as absent. */
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

/** A check that refuses with a Portuguese sentence that names the first bad field; some fields have a sentence of their own. */
export function compileCheck<T extends TSchema>(schema: T, ownRefusals: Record<string, RefusalCode> = {}) {
  const validator: Validator = Compile(schema)
  return (value: unknown): Static<T> => {
    if (!validator.Check(value)) explain(value, validator, ownRefusals)
    return value as Static<T>
  }
}

function explain(value: unknown, validator: Validator, ownRefusals: Record<string, RefusalCode>): never {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return refuse('notObject')
  const error = validator.Errors(value)[0]!
  const field = fieldName(error.instancePath)
  const { keyword, params } = error
  const own = ownRefusals[field]
  if (own !== undefined) return refuse(own, field)
  if (keyword === 'required')
    return refuse('required', field === '' ? params.requiredProperties[0]! : `${field}.${params.requiredProperties[0]}`)
  if (keyword === 'pattern') return refuse('required', field)
  if (keyword === 'type') return refuse(wrongTypes[[params.type].flat()[0]!] ?? 'wrongValue', field)
  if (keyword === 'enum') return refuse('notOneOf', field, params.allowedValues.filter(value => value !== null).join(', '))
  if (keyword === 'minimum') return refuse('tooLow', field, String(params.limit))
  if (keyword === 'maximum') return refuse('tooHigh', field, String(params.limit))
  return refuse('wrongValue', field)
}

const wrongTypes: Readonly<Record<string, RefusalCode>> = {
  string: 'notText',
  boolean: 'notBoolean',
  object: 'notObjectField',
  integer: 'notInteger',
  array: 'notList',
}

/** /attachments/0/name → attachments[0].name */
const fieldName = (path: string): string =>
  path
    .slice(1)
    .split('/')
    .map(part => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join('.')
    .replace(/\.(\d+)(?=\.|$)/g, '[$1]')
