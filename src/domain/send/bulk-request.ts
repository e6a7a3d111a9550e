import { refuse } from '../errors.js'
import type { Json } from '../evidence/canonical-json.js'
import { html } from '../text/html.js'
import { type BatchForm, type BulkFields, foldName, valueAt } from './bulk.js'

type Tree = { [member: string]: Json }

const PLACEHOLDER = /\{\{\s*([^{}]{1,120}?)\s*\}\}/g
/** The member that is markup. */
const HTML = 'content'

/** Makes the send request of each line: the base, with the columns' names in braces replaced by values, and the mapped columns over it. */
export function requestMaker({ columns, mapping, base }: BatchForm, { fields }: BulkFields) {
  const places = new Map(columns.map((column, place) => [foldName(column), place]))
  const kinds = new Map(fields.map(({ path, kind }) => [path, kind]))
  const filled = columns.flatMap((column, place) => (mapping[column] ?? []).map(path => ({ path, place })))
  const optional = channelsThatMayLack(filled, fields)
  const fill = fillerOf(base, places, columns)
  return (cells: readonly string[]): Tree => {
    const request = fill(cells)
    for (const { path, place } of filled) {
      const cell = cells[place] ?? ''
      if (cell !== '') setAt(request, path, kinds.get(path) === 'phone' ? withoutMask(cell) : cell)
    }
    for (const { channel, paths } of optional) if (paths.every(path => isMissing(valueAt(request, path)))) delete request[channel]
    return request
  }
}

/** The channels that a line uses only if it has a recipient for them: the columns of that recipient may be blank in other lines. */
function channelsThatMayLack(filled: readonly { path: string }[], fields: BulkFields['fields']) {
  const mapped = new Set(filled.map(({ path }) => path))
  const channels = new Set(fields.filter(({ required, path }) => required && mapped.has(path)).map(({ channel }) => channel))
  return [...channels].flatMap(channel =>
    channel === null
      ? []
      : [{ channel, paths: fields.filter(field => field.channel === channel && field.required).map(({ path }) => path) }],
  )
}

const isMissing = (value: unknown): boolean => value === undefined || value === null || value === ''

/** Copies the base with its placeholders filled in. A name that is no column is refused: it would be sent as it stands. */
function fillerOf(base: BatchForm['base'], places: ReadonlyMap<string, number>, columns: readonly string[]) {
  const placeOf = (name: string): number => places.get(foldName(name)) ?? refuse('unknownPlaceholder', name, columns.join(', '))
  const copy = (value: Json, show: (name: string) => string): Json => {
    if (typeof value === 'string') return value.replace(PLACEHOLDER, (_, name: string) => show(name))
    if (Array.isArray(value)) return value.map(item => copy(item, show))
    return typeof value === 'object' && value !== null ? copyMembers(value as Tree, () => show) : value
  }
  const copyMembers = (tree: Tree, showOf: (member: string) => (name: string) => string): Tree =>
    Object.fromEntries(Object.entries(tree).map(([name, member]) => [name, copy(member, showOf(name))]))
  const fill = (cells: readonly string[]): Tree => {
    const plain = (name: string): string => cells[placeOf(name)] ?? ''
    return copyMembers(base, member => (member === HTML ? name => html`${plain(name)}`.text : plain))
  }
  fill([])
  return fill
}

function setAt(tree: Tree, path: string, value: string): void {
  const names = path.split('.')
  let at = tree
  for (const name of names.slice(0, -1)) {
    const next = Object.hasOwn(at, name) ? at[name] : undefined
    if (typeof next === 'object' && next !== null && !Array.isArray(next)) at = next as Tree
    else at = at[name] = {}
  }
  at[names.at(-1)!] = value
}

/** Files have numbers as people write them: (11) 98765-4321. */
const withoutMask = (text: string): string => text.replace(/[\s().\-–]/g, '')
