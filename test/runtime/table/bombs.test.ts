import { afterAll, expect, test } from 'vitest'
import { spreadsheet } from '../../support/programs/spreadsheet.js'
import { tableThread } from './table-thread.js'

/** Each of these files would fill a heap many times as large. */
const thread = tableThread(48)
afterAll(() => thread.close())

const head = '<?xml version="1.0" encoding="UTF-8"?>'
const wrapped = (name: string, inner: string): string => `${head}<${name}>${inner}</${name}>`
const sheet = (rows: string): Uint8Array =>
  spreadsheet([], { parts: { 'xl/worksheets/sheet1.xml': wrapped('worksheet', `<sheetData>${rows}</sheetData>`) } })
const withPart = (part: string, xml: string): Uint8Array => spreadsheet([['nome'], ['Ana']], { parts: { [`xl/${part}`]: xml } })
const texts = (inner: string): Uint8Array => withPart('sharedStrings.xml', wrapped('sst', inner))
const styles = (inner: string): Uint8Array => withPart('styles.xml', wrapped('styleSheet', inner))
const value = '<c t="inlineStr"><is><t>Ana</t></is></c>'
const million = 'x'.repeat(1_000_000)

test.each<[string, () => Uint8Array, string]>([
  [
    'rows that have a value in the last column of a sheet alone',
    () => sheet(`<row>${value}</row>${'<row><c r="XFD1"><v>1</v></c></row>'.repeat(10_000)}`),
    'A linha 2 passa do limite de 200 colunas',
  ],
  ['a row of cells without a place', () => sheet(`<row>${'<c><v>1</v></c>'.repeat(500_000)}</row>`), '200 colunas'],
  ['a text that does not end', () => sheet(`<row><c t="str"><v>${million.repeat(30)}</v></c></row>`), 'mais de 1048576'],
  [
    'a text of many pieces',
    () => sheet(`<row><c t="inlineStr"><is>${`<r><t>${million}</t></r>`.repeat(30)}</is></c></row>`),
    'mais de 1048576',
  ],
  ['a row of long texts', () => sheet(`<row>${`<c t="str"><v>${million}</v></c>`.repeat(30)}</row>`), 'mais de 1048576'],
  ['a comment that does not end', () => sheet(`<!--${million.repeat(10)}--><row>${value}</row>`), 'mais de 1048576'],
  ['elements inside each other', () => sheet(`<row>${'<a>'.repeat(2_000_000)}</row>`), 'danificada'],
  ['shared texts without a character', () => texts('<si/>'.repeat(3_000_000)), 'textos ou formatos demais'],
  ['a shared text that does not end', () => texts(`<si><t>${million.repeat(30)}</t></si>`), 'mais de 1048576'],
  ['formats of cells', () => styles(`<cellXfs>${'<xf/>'.repeat(1_000_000)}</cellXfs>`), 'textos ou formatos demais'],
  [
    'formats of numbers',
    () =>
      styles(
        `<numFmts>${Array.from({ length: 100_000 }, (_, id) => `<numFmt numFmtId="${id}" formatCode="0"/>`).join('')}</numFmts>`,
      ),
    'textos ou formatos demais',
  ],
  [
    'links',
    () =>
      withPart(
        '_rels/workbook.xml.rels',
        wrapped('Relationships', Array.from({ length: 100_000 }, (_, id) => `<Relationship Id="${id}" Target="x"/>`).join('')),
      ),
    'textos ou formatos demais',
  ],
  ['a CSV record of empty cells', () => Buffer.from(`a;b\n1;${';'.repeat(10_000_000)}x\n`), 'mais de 1048576'],
  [
    'CSV records of many cells',
    () => Buffer.from(`a;b\n${`${';'.repeat(1_000_000)}x\n`.repeat(10)}`),
    'A linha 2 passa do limite',
  ],
])('is refused while it is read, in a small heap: %s', async (_, make, reason) => {
  expect((await thread.ask(make())).refusal).toContain(reason)
})

test('rows leave the reader soon: a sheet of many small rows is never in memory as a whole', async () => {
  expect(await thread.ask(sheet(`<row>${value}</row>`.repeat(400_000)))).toEqual({
    rows: 400_000,
    cells: 400_000,
    refusal: null,
  })
})

test('cells without a value do not count, however many there are', async () => {
  const wide = `<row><c r="A1"><v>1</v></c>${'<c s="1"/>'.repeat(16_000)}<c r="XFD1" s="1"/></row>`
  expect(await thread.ask(sheet(wide.repeat(20)))).toEqual({ rows: 20, cells: 20, refusal: null })
  const csv = `a;b\n${`1${';'.repeat(16_383)}\n`.repeat(100)}`
  expect(await thread.ask(Buffer.from(csv))).toEqual({ rows: 101, cells: 102, refusal: null })
})
