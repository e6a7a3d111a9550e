/** Characters as people and the contract count them: Unicode code points. */
export function countCharacters(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

export const hasControlCharacters = (text: string): boolean => /[\u0000-\u001f\u007f\u0085\u2028\u2029]/.test(text)

/** Nothing in the text can be seen: white space, control characters and marks of no width at most. */
export const isBlank = (text: string): boolean => !/[^\s\p{Z}\p{Cc}\p{Cf}]/u.test(text)

export const mebibytes = (bytes: number): string => `${Math.floor((bytes / 1_048_576) * 10) / 10} MiB`.replace('.', ',')

/** The text as PostgreSQL can store it: without NUL, and without half a character, as a cut may leave it. */
export const storable = (text: string): string => (isStorable(text) ? text : text.toWellFormed().replaceAll('\0', ''))

export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0')

/** The beginning of a text that came from outside. A cut between the two halves of a character leaves none of it. */
export const cutText = (text: string, most: number): string => storable(text.slice(0, most))

/**
 * The value with every text storable and every number finite, and the value itself where that holds already, as it nearly always does.
 * Only lists and plain objects are looked into: bytes and dates stay as they are.
 */
export function storableValue<Value>(value: Value): Value
export function storableValue(value: unknown): unknown {
  if (typeof value === 'string') return storable(value)
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (Array.isArray(value)) {
    const items = value.map(item => storableValue(item))
    return items.some((item, place) => item !== value[place]) ? items : value
  }
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value
  const before = Object.entries(value)
  const after = before.map(([name, member]) => [storable(name), storableValue(member)] as const)
  const isSame = after.every(([name, member], place) => name === before[place]![0] && member === before[place]![1])
  return isSame ? value : Object.fromEntries(after)
}
