/** Semicolons, as spreadsheets in Brazil read them. A text that a spreadsheet would run as a formula begins with an apostrophe. */
export const csvLine = (cells: readonly string[]): string =>
  `${cells.map(cell => `"${(isFormula(cell) ? `'${cell}` : cell).replaceAll('"', '""')}"`).join(';')}\r\n`

/** Spreadsheets take a file for UTF-8 by this mark alone. */
export const CSV_MARK = '\ufeff'

/** Some trim a cell before they look at it. */
const isFormula = (cell: string): boolean => /^[\t\r\n]|^\s*(?:[=@]|[+-](?!\d+$))/.test(cell)
