type Cell = string | number | boolean | null | undefined

/** A column of rows that a statement takes as arrays. */
interface Column<Row> {
  /** Makes the value of the element's text, in SQL. */
  read(text: string): string
  of(row: Row): Cell
}

/** The columns of one kind of row, in the order of their parameters. */
export type Columns<Row> = Readonly<Record<string, Column<Row>>>

export const column = <Row>(type: string, of: Column<Row>['of']): Column<Row> => ({ read: text => `${text}::${type}`, of })

/** Bytes that are at hand as hexadecimal digits. */
export const hexColumn = <Row>(of: Column<Row>['of']): Column<Row> => ({ read: text => `decode(${text}, 'hex')`, of })

/**
 * The rows of the arrays that begin at this parameter. All arrays have the same length, so that the select list puts their elements side by
 * side; as tables in `from`, each array would be copied first.
 */
export const selectColumns = (columns: Columns<never>, firstParameter: number): string =>
  `select ${Object.entries(columns)
    .map(([name, { read }], index) => `${read(`unnest($${firstParameter + index}::text[])`)} as "${name}"`)
    .join(', ')}`

export const columnValues = <Row>(columns: Columns<Row>, rows: readonly Row[]): Buffer[] =>
  Object.values(columns).map(({ of }) => textArray(rows.map(of)))

/** In the binary form: dimensions, whether there are nulls, type of the elements, length, lower bound. */
const HEADER_BYTES = 20
const TEXT_TYPE = 25
const NULL_LENGTH = -1

/**
 * A text[] in the binary form of PostgreSQL's protocol, which the driver passes on as it is. The driver's own form quotes each element, and
 * to read the same rows as JSON is half of the server's work for a send (bench/accept/accept.ts: 230 µs of its processor, 140 µs as arrays).
 */
function textArray(cells: readonly Cell[]): Buffer {
  const texts = cells.map(cell => (cell == null ? null : String(cell)))
  const bytes = texts.reduce((sum, text) => sum + 4 + (text === null ? 0 : Buffer.byteLength(text)), HEADER_BYTES)
  const array = Buffer.allocUnsafe(bytes)
  for (const [index, word] of [1, 1, TEXT_TYPE, texts.length, 1].entries()) array.writeInt32BE(word, 4 * index)
  let end = HEADER_BYTES
  for (const text of texts) {
    const length = text === null ? NULL_LENGTH : array.write(text, end + 4)
    array.writeInt32BE(length, end)
    end += 4 + Math.max(length, 0)
  }
  return array
}
