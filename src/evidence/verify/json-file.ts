import { canonicalJson, type Json } from '../../domain/evidence/canonical-json.js'
import { readUtf8 } from './bytes.js'
import { type Fault, fault, type Step } from './fault.js'
import type { Files } from './zip.js'

export type JsonMembers = { readonly [member: string]: Json }

export function requireFile(files: Files, path: string, step: Step): Uint8Array {
  const bytes = files.get(path)
  if (bytes === undefined) throw fault(step, path, `Falta o arquivo ${path}.`)
  return bytes
}

export function requireText(files: Files, path: string, step: Step): string {
  const text = readUtf8(requireFile(files, path, step))
  if (text === null) throw fault(step, path, `O arquivo ${path} não é um texto em UTF-8.`)
  return text
}

/** The value of a file that must be RFC 8785, byte by byte: two readers cannot understand it in two ways. */
export function requireJson(files: Files, path: string, step: Step): Json {
  const text = requireText(files, path, step)
  let value: Json
  try {
    value = JSON.parse(text) as Json
    if (canonicalJson(value) === text) return value
  } catch {
    throw fault(step, path, `O arquivo ${path} não é um JSON.`)
  }
  throw fault(step, path, `O arquivo ${path} não está na forma canônica (RFC 8785).`)
}

export const malformed = (step: Step, path: string, what: string): Fault =>
  fault(step, path, `O arquivo ${path} não tem a forma prevista: ${what}.`)

/** An object with exactly these members; null: it is something else. */
export function membersOf(value: Json | undefined, names: readonly string[]): JsonMembers | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
  const members = value as JsonMembers
  return Object.keys(members).length === names.length && names.every(name => Object.hasOwn(members, name)) ? members : null
}

export const isCount = (value: Json | undefined, least = 0): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= least
export const isHash = (value: Json | undefined): value is string => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)
export const isUuid = (value: Json | undefined): value is string =>
  typeof value === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value)
/** Any other form of a date, or a day that does not exist, is written differently when it is written again. */
export function isMoment(value: Json | undefined): value is string {
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value)) return false
  const date = new Date(value)
  return !Number.isNaN(date.getTime()) && date.toISOString() === value
}

/** The date in a line "time …" of a note; null: it is not such a line. */
export function readTimeLine(line: string): string | null {
  const text = line.slice('time '.length)
  return line.startsWith('time ') && isMoment(text) ? text : null
}
