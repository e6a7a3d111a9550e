/** Characters as people and the contract count them: Unicode code points. */
export function countCharacters(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

export const hasControlCharacters = (text: string): boolean => /[\u0000-\u001f\u007f\u0085\u2028\u2029]/.test(text)

/** A character that can be seen, as a schema says it: not white space, nor a control character, nor a mark of no width. */
export const VISIBLE_CHARACTER = String.raw`[^\s\p{Z}\p{Cc}\p{Cf}]`
const visible = new RegExp(VISIBLE_CHARACTER, 'u')

/** Nothing in the text can be seen. */
export const isBlank = (text: string): boolean => !visible.test(text)

export const mebibytes = (bytes: number): string => `${Math.floor((bytes / 1_048_576) * 10) / 10} MiB`.replace('.', ',')

/** The text as PostgreSQL can store it: without NUL, and without half a character, as a cut may leave it. */
export const storable = (text: string): string => (isStorable(text) ? text : text.toWellFormed().replaceAll('\0', ''))

export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0')

/** The beginning of a text that came from outside. A cut between the two halves of a character leaves none of it. */
export const cutText = (text: string, most: number): string => storable(text.slice(0, most).replace(/[\ud800-\udbff]$/, ''))

/** The value with every text storable and every number finite, and the value itself where that holds already, as it nearly always does. */
export const storableValue = <Value>(value: Value): Value => mapMembers(value, storableLeaf, storable)

function storableLeaf(leaf: unknown): unknown {
  if (typeof leaf === 'string') return storable(leaf)
  return typeof leaf === 'number' && !Number.isFinite(leaf) ? null : leaf
}

const unchanged = (name: string): string => name
/** The prototypes of plain objects. */
const PLAIN: readonly unknown[] = [Object.prototype, null]

/**
 * Changes the texts, numbers and other simple values inside lists and plain objects. Bytes and dates stay as they are; a list or an object
 * in which nothing changed is the same one as before.
 */
export function mapMembers<Value>(value: Value, change: (leaf: unknown) => unknown, rename?: (name: string) => string): Value
export function mapMembers(value: unknown, change: (leaf: unknown) => unknown, rename = unchanged): unknown {
  if (typeof value !== 'object' || value === null) return change(value)
  if (Array.isArray(value)) {
    const items = value.map(item => mapMembers(item, change, rename))
    return items.some((item, place) => item !== value[place]) ? items : value
  }
  if (!PLAIN.includes(Object.getPrototypeOf(value))) return value
  const members = value as Readonly<Record<string, unknown>>
  // Nothing is copied before something differs, which is rare: every fact passes here twice.
  let copy: [name: string, member: unknown][] | null = null
  const names = Object.keys(members)
  for (const [place, name] of names.entries()) {
    const member = mapMembers(members[name], change, rename)
    const isSame = member === members[name] && rename(name) === name
    if (!isSame) copy ??= names.slice(0, place).map(earlier => [earlier, members[earlier]])
    copy?.push([rename(name), member])
  }
  return copy === null ? value : Object.fromEntries(copy)
}
