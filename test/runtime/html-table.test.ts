import { expect, test } from 'vitest'
import { type PlacedCell, placeCells, readSpans, type SpanningCell } from '../../src/runtime/html-table.js'
import fc from '../support/generated.js'

test.each([
  [undefined, 1, 1],
  ['', 1, 1],
  ['5', 5, 5],
  [' +3 colunas', 3, 3],
  ['2.9', 2, 2],
  ['0', 1, 0],
  ['-0', 1, 0],
  ['-2', 1, 1],
  ['-01', 1, 1],
  ['duas', 1, 1],
  ['99999', 1_000, 65_534],
  ['9'.repeat(400), 1_000, 65_534],
])('spans are read as browsers read them: %j', (written, colspan, rowspan) => {
  const given = written === undefined ? {} : { colspan: written, rowspan: written }
  expect(readSpans(given)).toEqual({ colspan, rowspan })
})

interface Named extends SpanningCell {
  name: string
}

/** A row as `name` or `name:colspan,rowspan`, separated by blanks. */
const row = (text: string): Named[] =>
  text.split(' ').flatMap(word => {
    const [name, spans = '1,1'] = word.split(':')
    const [colspan, rowspan] = spans.split(',').map(Number) as [number, number]
    return name === '' ? [] : [{ name: name!, colspan, rowspan }]
  })

/** The grid as rows of names; a dot where no cell is. */
function draw(placed: readonly PlacedCell<Named>[]): string[] {
  const rows: string[][] = []
  for (const { cell, column, row, columns, rows: height } of placed)
    for (let y = row; y < row + height; y++)
      for (let x = column; x < column + columns; x++) {
        rows[y] ??= []
        expect(rows[y]![x], `${cell.name} lies over another cell`).toBeUndefined()
        rows[y]![x] = cell.name
      }
  return rows.map(cells => Array.from(cells, name => name ?? '.').join(''))
}
const drawn = (...sections: string[][]): string[] => draw(placeCells(sections.map(rows => rows.map(row))))

test.each<[string, string[][], string[]]>([
  ['a total after a wide cell', [['a b c d', 'T:3,1 v']], ['abcd', 'TTTv']],
  ['a tall cell moves the next rows’ cells', [['a:1,2 b c', 'd e', 'f g h']], ['abc', 'ade', 'fgh']],
  ['a head of two rows', [['a:1,2 V:2,1', 'b l'], ['1 2 3']], ['aVV', 'abl', '123']],
  ['0 reaches to the end of the section and no further', [['a:1,0 b', 'c', 'd'], ['e f']], ['ab', 'ac', 'ad', 'ef']],
  ['a span past the last row ends with its section', [['a:1,9 b', 'c'], ['e f']], ['ab', 'ac', 'ef']],
  ['a span past the last column takes nothing', [['a b', 'c:1000,1']], ['ab', 'cc']],
  ['columns in which no cell begins are left out', [['a:500,1 b:300,1', 'c:500,1 d']], ['ab', 'cd']],
  ['rows in which no cell begins are left out', [['a:1,2 b', '', 'c d']], ['ab', 'cd']],
  ['a cell that would lie over a tall one ends before it', [['a b:1,2 c', 'd:3,1 e']], ['abc', 'db.e']],
  ['a row that tall cells fill goes on after them', [['a:1,2 b:1,2', 'c']], ['ab', 'abc']],
  ['nothing', [[''], []], []],
])('%s', (_, sections, expected) => {
  expect(drawn(...sections)).toEqual(expected)
})

const cell = fc.record({ colspan: fc.integer({ min: 1, max: 5 }), rowspan: fc.integer({ min: 0, max: 5 }) })
const section = fc.array(fc.array(cell, { maxLength: 5 }), { maxLength: 5 })

test('whatever the spans, every cell is placed, none lies over another, and the order is kept', () => {
  fc.assert(
    fc.property(fc.array(section, { maxLength: 3 }), sections => {
      const named = sections.map(rows => rows.map(cells => cells.map((spans): Named => ({ ...spans, name: '#' }))))
      const placed = placeCells(named)
      expect(placed.map(place => place.cell)).toEqual(named.flat(2))
      for (const { columns, rows } of placed) expect(Math.min(columns, rows)).toBeGreaterThan(0)
      const columns = new Set(placed.map(({ column }) => column))
      const height = new Set(placed.map(({ row }) => row)).size
      expect(placed.every(place => place.column + place.columns <= columns.size && place.row + place.rows <= height)).toBe(true)
      draw(placed)
      for (const [index, place] of placed.entries()) {
        const next = placed[index + 1]
        if (next?.row === place.row) expect(next.column).toBeGreaterThan(place.column)
        else if (next !== undefined) expect(next.row).toBe(place.row + 1)
      }
    }),
    { numRuns: 500 },
  )
})

test('the largest spans in a long table take no time to place', () => {
  const rows = Array.from({ length: 4_000 }, () => [
    { colspan: 1_000, rowspan: 65_534 },
    { colspan: 1_000, rowspan: 0 },
  ])
  expect(placeCells([rows])).toHaveLength(8_000)
})
