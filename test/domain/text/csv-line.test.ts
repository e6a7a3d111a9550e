import { expect, test } from 'vitest'
import { csvLine, withoutMark } from '../../../src/domain/text/csv-line.js'

test.each(['=1+1', '@x', '-Ana', '+55 (11) 98765-4321', '  =1', '\t=1', '\nAna', "'=1", "''=1", "' =1"])(
  'a cell that a spreadsheet would run is marked, and read as it was: %j',
  cell => {
    const written = csvLine([cell])
    expect(written).toBe(`"'${cell}"\r\n`)
    expect(withoutMark(written.slice(1, -3))).toBe(cell)
  },
)

test.each(['Ana', "D'Ávila", "'Ana'", "'", '', '+5511987654321', '-5', "'+5511987654321", ' Ana'])(
  'any other cell is written and read as it is: %j',
  cell => {
    expect(csvLine([cell])).toBe(`"${cell}"\r\n`)
    expect(withoutMark(cell)).toBe(cell)
  },
)
