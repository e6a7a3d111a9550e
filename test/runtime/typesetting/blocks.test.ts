import { expect, test } from 'vitest'
import { type Block, countLines, readBlocks } from '../../../src/runtime/typesetting/blocks.js'
import fc from '../../support/generated.js'

const paragraph = (text: string): Block => ({ kind: 'paragraph', align: 'left', runs: [{ text }] })

test('paragraphs, headings, emphasis, breaks and rules are kept', () => {
  expect(
    readBlocks('<h1>Aviso</h1><p>Olá, <b>Maria <i>da</i></b> <u>Silva</u>!<br>Tchau</p><hr><div align="right">Fim</div>'),
  ).toEqual([
    { kind: 'heading', level: 1, runs: [{ text: 'Aviso' }] },
    {
      kind: 'paragraph',
      align: 'left',
      runs: [
        { text: 'Olá, ' },
        { text: 'Maria ', bold: true },
        { text: 'da', bold: true, italic: true },
        { text: ' ' },
        { text: 'Silva', underline: true },
        { text: '!' },
        { text: '\n' },
        { text: 'Tchau' },
      ],
    },
    { kind: 'rule' },
    { kind: 'paragraph', align: 'right', runs: [{ text: 'Fim' }] },
  ])
})

test('lists lie in one another, also where their ends are left out', () => {
  const inner: Block = { kind: 'list', ordered: true, items: [[paragraph('c')]] }
  const expected: Block[] = [{ kind: 'list', ordered: false, items: [[paragraph('a')], [paragraph('b'), inner]] }]
  expect(readBlocks('<ul><li>a</li><li>b<ol><li>c</li></ol></li></ul>')).toEqual(expected)
  expect(readBlocks('<ul><li>a<li>b<ol><li>c')).toEqual(expected)
})

test('tables keep their rows, heads and cells', () => {
  expect(
    readBlocks('<table><thead><tr><th>A</th><th>B</th></tr></thead><tr><td>1</td><td><p>2</p><p>3</p></td></tr></table>'),
  ).toEqual([
    {
      kind: 'table',
      rows: [
        { head: true, cells: [[{ text: 'A' }], [{ text: 'B' }]] },
        { head: false, cells: [[{ text: '1' }], [{ text: '2' }, { text: '\n' }, { text: '3' }]] },
      ],
    },
  ])
})

/** The tables of a text: the words of their cells, with the spans of those that have any. */
const tablesOf = (html: string): string[][][] =>
  readBlocks(html).flatMap(block =>
    block.kind !== 'table'
      ? []
      : [
          block.rows.map(({ cells, spans }) =>
            cells.map((runs, place) => {
              const [columns, rows] = spans?.[place] ?? [1, 1]
              return runs.map(({ text }) => text).join('') + (columns * rows === 1 ? '' : `:${columns},${rows}`)
            }),
          ),
        ],
  )

test('cells span columns and rows as in a browser', () => {
  expect(
    tablesOf(
      `<table><thead><tr><th rowspan=2>n<th colspan=2>v<tr><th>b<th>l</thead>
       <tr><td rowspan=0>1<td>2<td>3<tr><td>4<tfoot><tr><td colspan=2>Total<td>7</table>`,
    ),
  ).toEqual([
    [
      ['n:1,2', 'v:2,1'],
      ['b', 'l'],
      ['1:1,2', '2', '3'],
      ['4', ''],
      ['Total:2,1', '7'],
    ],
  ])
})

test('a row is a head if nothing else is in it; other heads are bold', () => {
  const [table] = readBlocks('<table><tr><td><th>a<tr><th>b<td>c<tr><td>d<td>e</table>')
  expect(table).toEqual({
    kind: 'table',
    rows: [
      { head: true, cells: [[], [{ text: 'a' }]] },
      { head: false, cells: [[{ text: 'b', bold: true }], [{ text: 'c' }]] },
      { head: false, cells: [[{ text: 'd' }], [{ text: 'e' }]] },
    ],
  })
})

test('a table in a table has columns of its own, and what only arranges it is not printed', () => {
  expect(
    tablesOf(
      `<table><tr><td colspan=2>Aviso</td></tr><tr><td></td><td><table><tr><td>a<td>b<td>c<tr><td colspan=2>Total<td>1</table></td></tr>
       <tr><td>&nbsp;</td></tr><tr><td>x</td><td>y</td></tr></table>`.replaceAll('&nbsp;', ''),
    ),
  ).toEqual([
    [['Aviso']],
    [
      ['a', 'b', 'c'],
      ['Total:2,1', '1'],
    ],
    [['x', 'y']],
  ])
  // One to be filled in by hand is.
  expect(tablesOf('<table><tr><td><td></table>')).toEqual([[['', '']]])
})

test('a table wider than the sheet goes on in its last column', () => {
  const cells = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, place) => String(from + place))
  expect(
    tablesOf(
      `<table><tr>${cells(1, 14)
        .map(text => `<td rowspan=2>${text}`)
        .join('')}<tr><td>z<td>${'w'}</table>`,
    ),
  ).toEqual([[[...cells(1, 11).map(text => `${text}:1,2`), '12\n13\n14'], ['z\nw']]])
  expect(tablesOf(`<table><tr>${'<td>x'.repeat(14)}<tr><td colspan=13>Total<td>9</table>`)[0]![1]).toEqual(['Total:11,1', '9'])
})

test('the text of a cell that is too long to be set over several rows stands in the first', () => {
  const long = 'palavra '.repeat(200).trim()
  expect(tablesOf(`<table><tr><td rowspan=2>${long}<td>a<tr><td>b</table>`)).toEqual([
    [
      [long, 'a'],
      ['', 'b'],
    ],
  ])
})

test('the printed grid has no more places than twelve for each row with a cell, whatever the spans', () => {
  const html = `<table>${'<tr><td colspan=1000 rowspan=65534>a<td rowspan=0 colspan=999>b</tr><tr></tr>'.repeat(500)}</table>`
  const [table] = readBlocks(html)
  const rows = table?.kind === 'table' ? table.rows : []
  expect(rows).toHaveLength(500)
  expect(printed([table!]).replaceAll('\n', '')).toBe('ab'.repeat(500))
  const places = rows.flatMap(({ cells, spans }) => spans ?? cells.map(() => [1, 1])).reduce((sum, [x, y]) => sum + x! * y!, 0)
  expect(places).toBe(12 * 500)
})

test('a link shows where it leads, unless its words do', () => {
  const texts = (html: string) =>
    readBlocks(html).flatMap(block => (block.kind === 'paragraph' ? block.runs.map(run => run.text) : []))
  expect(texts('<p>Veja <a href="https://e.com/x">aqui</a>.</p>').join('')).toBe('Veja aqui (https://e.com/x).')
  expect(texts('<p><a href="https://e.com">e.com</a> <a href="mailto:a@e.com">a@e.com</a></p>').join('')).toBe('e.com a@e.com')
  expect(texts('<p><a href="javascript:alert(1)">x</a></p>').join('')).toBe('x')
  // Links do not nest: a second one ends the first.
  expect(texts('<p><a href="https://a">1<a href="https://b">2</a></a></p>').join('')).toBe('1 (https://a)2 (https://b)')
})

test('nothing that runs or hides is printed', () => {
  expect(readBlocks('<head><title>t</title><style>p{}</style></head><script>alert(1)</script><p>Olá<!-- c --></p>')).toEqual([
    paragraph('Olá'),
  ])
})

const printed = (blocks: readonly Block[]): string =>
  blocks
    .map(block => {
      if (block.kind === 'list') return block.items.map(printed).join('')
      if (block.kind === 'quote') return printed(block.blocks)
      if (block.kind === 'table')
        return block.rows
          .flatMap(row => row.cells.flat())
          .map(run => run.text)
          .join('')
      return block.kind === 'rule' ? '' : block.runs.map(run => run.text).join('')
    })
    .join('')

test('whatever the markup, no word is lost and nothing breaks', () => {
  const spans = ['td colspan=2', 'td rowspan=3', 'th rowspan=0', 'td colspan=1000 rowspan=9']
  const tags = 'p b ul ol li table thead tbody tfoot tr td th blockquote h2 a div br hr u'.split(' ')
  const piece = fc.oneof(
    fc.constantFrom(...tags, ...spans).map(tag => `<${tag}>`),
    fc.constantFrom(...tags).map(tag => `</${tag}>`),
    fc.stringMatching(/^[a-z]{1,5}$/),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), pieces => {
      const words = pieces.filter(text => !text.startsWith('<')).join('')
      expect([...printed(readBlocks(pieces.join(''))).replace(/\s/g, '')].sort().join('')).toBe([...words].sort().join(''))
    }),
    { numRuns: 500 },
  )
})

test('hundreds of thousands of breaks are read', () => {
  const breaks = '<br>'.repeat(250_000)
  expect(readBlocks(`<p>${breaks}x</p>`)).toEqual([paragraph('x')])
  const [table] = readBlocks(`<table><tr><td>${'a<br>'.repeat(200_000)}b</td></tr></table>`)
  expect(table?.kind === 'table' && table.rows[0]!.cells[0]).toHaveLength(400_001)
  const wide = `${'<td>a</td>'.repeat(11)}<td>b</td><td>${'a<br>'.repeat(200_000)}b</td>`
  expect(printed(readBlocks(`<table><tr>${wide}</tr></table>`)).replaceAll('\n', '')).toBe(
    `${'a'.repeat(11)}b${'a'.repeat(200_000)}b`,
  )
})

test('a letter takes at least a line for each paragraph, item, row, rule and break', () => {
  expect(countLines(readBlocks('<h1>a</h1><p>b<br>c</p><hr><blockquote><p>d</p></blockquote>'))).toBe(5)
  expect(countLines(readBlocks('<ul><li>a</li><li><p>b</p><p>c</p></li></ul>'))).toBe(3)
  expect(countLines(readBlocks('<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>'))).toBe(2)
})
