import { refuse } from '../domain/errors.js'

/** How the values of a type travel in the binary form of PostgreSQL's protocol. */
interface Encoding<Value> {
  /** The number of the type in PostgreSQL. */
  type: number
  bytes(value: Value): number
  /** Returns the number of bytes. */
  write(value: Value, into: Buffer, at: number): number
}

/** A column of rows that a statement takes as arrays. */
interface Column<Row> {
  /** Of the array in the statement. */
  elements: string
  /** Makes the value of the element, in SQL. */
  read(element: string): string
  encode(rows: readonly Row[]): Buffer | null
}

/** The columns of one kind of row, in the order of their parameters. */
export type Columns<Row> = Readonly<Record<string, Column<Row>>>

const text: Encoding<string | number> = {
  type: 25,
  bytes: value => Buffer.byteLength(String(value)),
  write: (value, into, at) => into.write(String(value), at),
}

/** The version of the form comes before the text. */
const jsonb: Encoding<string> = {
  type: 3802,
  bytes: value => 1 + Buffer.byteLength(value),
  write(value, into, at) {
    into[at] = 1
    return 1 + into.write(value, at + 1)
  },
}

const hex: Encoding<string> = {
  type: 17,
  bytes: value => value.length / 2,
  write(value, into, at) {
    const written = into.write(value, at, 'hex')
    return 2 * written === value.length ? written : refuse('storeRefused')
  },
}

const bytea: Encoding<Uint8Array> = {
  type: hex.type,
  bytes: value => value.length,
  write(value, into, at) {
    into.set(value, at)
    return value.length
  },
}

const UUID_BYTES = 16

const uuid: Encoding<string> = {
  type: 2950,
  bytes: () => UUID_BYTES,
  write(value, into, at) {
    const digits = value.replaceAll('-', '')
    return digits.length === 2 * UUID_BYTES ? hex.write(digits, into, at) : refuse('storeRefused')
  },
}

const smallint: Encoding<number> = {
  type: 21,
  bytes: () => 2,
  write: (value, into, at) => into.writeInt16BE(whole(value, 16), at) - at,
}

const int: Encoding<number> = {
  type: 23,
  bytes: () => 4,
  write: (value, into, at) => into.writeInt32BE(whole(value, 32), at) - at,
}

const bigint: Encoding<number> = {
  type: 20,
  bytes: () => 8,
  write(value, into, at) {
    into.writeInt32BE(Math.floor(whole(value, 54) / 2 ** 32), at)
    return into.writeUInt32BE(value >>> 0, at + 4) - at
  },
}

/** A number that the type does not hold is refused, as PostgreSQL refuses it: the rows of others can be written without it. */
const whole = (value: number, bits: number): number =>
  Number.isInteger(value) && Math.abs(value) < 2 ** (bits - 1) ? value : refuse('storeRefused')

const boolean: Encoding<boolean> = {
  type: 16,
  bytes: () => 1,
  write(value, into, at) {
    into[at] = value ? 1 : 0
    return 1
  },
}

/** PostgreSQL counts microseconds from here. */
const EPOCH_MS = Date.UTC(2000, 0)

const timestamptz: Encoding<Date | string> = {
  type: 1184,
  bytes: () => 8,
  write: (value, into, at) => bigint.write((new Date(value).getTime() - EPOCH_MS) * 1000, into, at),
}

const encodings = { text, jsonb, uuid, smallint, int, bigint, boolean, timestamptz, bytea }
type Type = keyof typeof encodings
type ValueOf<Name extends Type> = (typeof encodings)[Name] extends Encoding<infer Value> ? Value : never

export const column = <Row, Name extends Type>(type: Name, of: (row: Row) => ValueOf<Name> | null | undefined): Column<Row> =>
  columnOf(type, encodings[type] as unknown as Encoding<ValueOf<Name>>, of)

/** Bytes that are at hand as hexadecimal digits. */
export const hexColumn = <Row>(of: (row: Row) => string | null | undefined): Column<Row> => columnOf('bytea', hex, of)

/** Numbers with decimals: their text is exact. */
export const decimalColumn = <Row>(of: (row: Row) => number | null | undefined): Column<Row> => ({
  ...columnOf('text', text, of),
  read: element => `${element}::numeric`,
})

const columnOf = <Row, Value>(
  elements: Type,
  encoding: Encoding<Value>,
  of: (row: Row) => Value | null | undefined,
): Column<Row> => ({
  elements,
  read: element => element,
  encode: rows => encodeArray(rows.map(of), encoding),
})

/**
 * The rows of the arrays that begin at this parameter. In the select list, where elements come side by side and a shorter array is filled
 * up with nulls; as tables in `from`, each array would be copied first.
 */
export const selectColumns = (columns: Columns<never>, firstParameter: number): string =>
  `select ${Object.entries(columns)
    .map(([name, { elements, read }], index) => `${read(`unnest($${firstParameter + index}::${elements}[])`)} as "${name}"`)
    .join(', ')}`

/** The rows of several kinds, in the order of the kinds: the parameters of each come after those of the kinds before it. */
export function selectInTurn<const Kinds extends readonly Columns<never>[]>(kinds: Kinds): { [Kind in keyof Kinds]: string } {
  let parameter = 1
  return kinds.map(columns => {
    const rows = selectColumns(columns, parameter)
    parameter += Object.keys(columns).length
    return rows
  }) as { [Kind in keyof Kinds]: string }
}

/** Every row needs a value in one of the columns. */
export const columnValues = <Row>(columns: Columns<Row>, rows: readonly Row[]): (Buffer | null)[] =>
  Object.values(columns).map(({ encode }) => encode(rows))

/** Dimensions, whether there are nulls, type of the elements, length, lower bound. */
const HEADER_BYTES = 20
const NULL_LENGTH = -1

/**
 * An array in the binary form of PostgreSQL's protocol, which the driver passes on as it is; null: it has no values. The driver's own form
 * quotes each element, and to read the same rows as JSON took the server 40 to 80 µs more of its processor for a send.
 */
function encodeArray<Value>(cells: readonly (Value | null | undefined)[], encoding: Encoding<Value>): Buffer | null {
  let bytes = HEADER_BYTES + 4 * cells.length
  let isEmpty = true
  for (const cell of cells) {
    if (cell == null) continue
    isEmpty = false
    bytes += encoding.bytes(cell)
  }
  if (isEmpty) return null
  const array = Buffer.allocUnsafe(bytes)
  array.writeInt32BE(1, 0)
  array.writeInt32BE(1, 4)
  array.writeInt32BE(encoding.type, 8)
  array.writeInt32BE(cells.length, 12)
  array.writeInt32BE(1, 16)
  let end = HEADER_BYTES
  for (const cell of cells) {
    const length = cell == null ? NULL_LENGTH : encoding.write(cell, array, end + 4)
    array.writeInt32BE(length, end)
    end += 4 + Math.max(length, 0)
  }
  return array
}
