/** Semicolons, as spreadsheets in Brazil read them. A text that a spreadsheet would run as a formula begins with an apostrophe. */
export const csvLine = (cells: readonly string[]): string =>
  `${cells.map(cell => `"${(isFormula(cell) ? `'${cell}` : cell).replaceAll('"', '""')}"`).join(';')}\r\n`

/** The cell as it was before csvLine wrote it: a file that we wrote may come back. */
export const withoutMark = (cell: string): string => (cell.startsWith("'") && isFormula(cell.slice(1)) ? cell.slice(1) : cell)

/** Spreadsheets take a file for UTF-8 by this mark alone. */
export const CSV_MARK = '\ufeff'

/** Some trim a cell before they look at it. One with apostrophes before the formula gets one more, so that it keeps its own. */
const isFormula = (cell: string): boolean => /^'*(?:[\t\r\n]|\s*(?:[=@]|[+-](?!\d+$)))/.test(cell)
