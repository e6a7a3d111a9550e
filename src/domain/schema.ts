import { type Static, type TSchema, Type } from 'typebox'
import { Compile, type Validator } from 'typebox/compile'
import { type RefusalCode, refuse } from './errors.js'
import { VISIBLE_CHARACTER } from './text/text.js'

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
export const requiredText = (options: object = {}) => Type.String({ pattern: VISIBLE_CHARACTER, ...options })

/** The same, where the text may be absent. */
export const optionalVisible = (description: string) => optionalText({ pattern: VISIBLE_CHARACTER, description })

/** The refusals of a field that has sentences of its own: one for all, or one for the field's absence and one for a wrong value. */
export type OwnRefusal = RefusalCode | { missing: RefusalCode; wrong: RefusalCode }

/** A check that refuses with a Portuguese sentence that names the first bad field; some fields have a sentence of their own. */
export const compileCheck = <T extends TSchema>(schema: T, ownRefusals: Record<string, OwnRefusal> = {}) =>
  compile(schema, (value, validator) => explain(value, validator, ownRefusals))

/** The same for the parameters of an address, of which each is a text or, where it is given more than once, a list. */
export const compileQueryCheck = <T extends TSchema>(schema: T) => compile(schema, explainQuery)

function compile<T extends TSchema>(schema: T, explain: (value: unknown, validator: Validator) => never) {
  const validator: Validator = Compile(schema)
  return (value: unknown): Static<T> => {
    if (!validator.Check(value)) explain(value, validator)
    return value as Static<T>
  }
}

function explain(value: unknown, validator: Validator, ownRefusals: Record<string, OwnRefusal>): never {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return refuse('notObject')
  const { error, field } = firstFault(value, validator)
  const { keyword, params } = error
  const own = ownRefusals[field]
  if (own !== undefined) return refuse(typeof own === 'string' ? own : keyword === 'required' ? own.missing : own.wrong, field)
  if (keyword === 'required') return refuse('required', field)
  if (keyword === 'pattern') return refuse('required', field)
  if (keyword === 'type') return refuse(wrongTypes[[params.type].flat()[0]!] ?? 'wrongValue', field)
  if (keyword === 'enum') return refuse('notOneOf', field, params.allowedValues.filter(value => value !== null).join(', '))
  if (keyword === 'minimum') return refuse('tooLow', field, String(params.limit))
  if (keyword === 'maximum') return refuse('tooHigh', field, String(params.limit))
  if (keyword === 'maxLength') return refuse('tooLong', field, String(params.limit))
  if (keyword === 'maxItems') return refuse('tooManyItems', field, String(params.limit))
  return refuse('wrongValue', field)
}

function explainQuery(value: unknown, validator: Validator): never {
  const { error, field } = firstFault(value, validator)
  const { keyword, params } = error
  if (Array.isArray((value as Record<string, unknown>)[field])) return refuse('repeatedParameter', field)
  if (keyword === 'required') return refuse('requiredParameter', field)
  if (keyword === 'enum') return refuse('notOneOfParameter', field, params.allowedValues.join(', '))
  if (keyword === 'maxLength') return refuse('tooLongParameter', field, String(params.limit))
  return refuse('wrongParameter', field)
}

function firstFault(value: unknown, validator: Validator) {
  const error = validator.Errors(value)[0]!
  const parent = fieldName(error.instancePath)
  const missing = error.keyword === 'required' ? error.params.requiredProperties[0]! : ''
  return { error, field: [parent, missing].filter(Boolean).join('.') }
}

/** The first members of a value that its schema does not name, and how many there are in all. */
export interface UnknownMembers {
  paths: string[]
  count: number
}

const MAX_NAMED = 10
const MAX_PATH_CHARACTERS = 200

/** Members that are accepted and that nothing reads, such as a misspelt one. An object with members of the sender's own choice has none. */
export function findUnknownMembers(schema: unknown, value: unknown): UnknownMembers {
  const unknown: UnknownMembers = { paths: [], count: 0 }
  collectUnknown(schema as SchemaPart, value, '', unknown)
  return unknown
}

interface SchemaPart {
  properties?: Record<string, SchemaPart>
  items?: SchemaPart
}

function collectUnknown({ properties, items }: SchemaPart, value: unknown, path: string, unknown: UnknownMembers): void {
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    if (items?.properties !== undefined)
      for (const [index, item] of value.entries()) collectUnknown(items, item, `${path}[${index}]`, unknown)
    return
  }
  if (properties === undefined) return
  for (const [name, member] of Object.entries(value)) {
    const at = path === '' ? name : `${path}.${name}`
    if (Object.hasOwn(properties, name)) collectUnknown(properties[name]!, member, at, unknown)
    else if (++unknown.count <= MAX_NAMED) unknown.paths.push(at.slice(0, MAX_PATH_CHARACTERS))
  }
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
