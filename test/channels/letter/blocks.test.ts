import { expect, test } from 'vitest'
import { type Block, countLines, readBlocks } from '../../../src/channels/letter/blocks.js'
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
  const tags = ['p', 'b', 'ul', 'ol', 'li', 'table', 'tr', 'td', 'th', 'blockquote', 'h2', 'a', 'div', 'br', 'hr', 'u']
  const piece = fc.oneof(
    fc.constantFrom(...tags).map(tag => `<${tag}>`),
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

test('a letter takes at least a line for each paragraph, item, row, rule and break', () => {
  expect(countLines(readBlocks('<h1>a</h1><p>b<br>c</p><hr><blockquote><p>d</p></blockquote>'))).toBe(5)
  expect(countLines(readBlocks('<ul><li>a</li><li><p>b</p><p>c</p></li></ul>'))).toBe(3)
  expect(countLines(readBlocks('<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>'))).toBe(2)
})
