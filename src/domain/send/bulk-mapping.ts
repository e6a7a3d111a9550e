import { refuse } from '../errors.js'
import type { JsonObject } from '../notification.js'
import { type BulkFields, foldName, isMemberPath, type Mapping, valueAt } from './bulk.js'

/**
 * What the columns of a file mean by their names: a member's own path, its label or another usual name. A name that several channels
 * have, such as "celular", means those that the base names, or else the first. Any other column is a variable of the templates that the
 * base names.
 */
export function mapByName(columns: readonly string[], given: BulkFields, base: JsonObject): Mapping {
  const templates = given.templates.filter(({ member }) => isNamed(valueAt(base, member)))
  return mapColumns(columns, { ...given, templates }, channel => valueAt(base, channel) !== undefined)
}

/** The same, for a message that names every channel and a template of each. */
export const mapToAllByName = (columns: readonly string[], given: BulkFields): Mapping => mapColumns(columns, given, () => true)

function mapColumns(columns: readonly string[], given: BulkFields, isUsed: (channel: string) => boolean): Mapping {
  const { fields, templates } = given
  const ownMember = (column: string): string | null => {
    const name = foldName(column)
    if (isMemberPath(column, given) && (column.includes('.') || fields.some(({ path }) => path === column))) return column
    return fields.find(field => [field.path, ...field.columns].some(known => foldName(known) === name))?.path ?? null
  }
  const sharedMembers = (column: string): string[] => {
    const name = foldName(column)
    const shared = fields.filter(field => field.sharedColumns.some(known => foldName(known) === name))
    const wanted = shared.filter(({ channel }) => channel !== null && isUsed(channel))
    return (wanted.length > 0 ? wanted : shared.slice(0, 1)).map(({ path }) => path)
  }
  // The first column of a meaning counts: "celular" and "telefone" cannot both be the number.
  const taken = new Set<string>()
  const take = (paths: readonly string[]): string[] => {
    const free = paths.filter(path => !taken.has(path))
    for (const path of free) taken.add(path)
    return free
  }
  const members = columns.map(ownMember)
  // A channel's own column comes before one of a shared name, wherever they stand: "celular" must not be the number of a "whatsapp" column.
  const own = members.map(member => (member === null ? null : take([member])))
  return Object.fromEntries(
    columns.map((column, index) => {
      const shared = sharedMembers(column)
      const other = shared.length > 0 ? shared : templates.map(({ values }) => `${values}.${variableName(column)}`)
      return [column, own[index] ?? take(other)]
    }),
  )
}

/** A mapping that somebody wrote: a column's member, or several. Columns that it does not name are not used. */
export function readMapping(given: unknown, columns: readonly string[], fields: BulkFields): Mapping {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return refuse('badMapping')
  const known = new Map(columns.map(column => [foldName(column), column]))
  const mapping: Record<string, readonly string[]> = Object.fromEntries(columns.map(column => [column, []]))
  for (const [name, value] of Object.entries(given)) {
    const column = known.get(foldName(name)) ?? refuse('columnMissing', name, columns.join(', '))
    const paths = [value].flat().filter(path => path !== '' && path !== null)
    for (const path of paths)
      if (typeof path !== 'string' || !isMemberPath(path, fields)) refuse('badMember', column, String(path).slice(0, 100))
    mapping[column] = paths as string[]
  }
  return mapping
}

const isNamed = (template: unknown): boolean => typeof template === 'string' && template !== ''

/** Templates have names of letters, digits and underscores. */
const variableName = (column: string): string =>
  /^[A-Za-z_]\w*$/.test(column)
    ? column
    : column
        .normalize('NFD')
        .replace(/\p{M}/gu, '')
        .toLowerCase()
        .replace(/[^a-z0-9]+/g, '_')
        .replace(/^_+|_+$/g, '') || 'coluna'
