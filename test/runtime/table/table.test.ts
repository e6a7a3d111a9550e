import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readTable, type TableRow } from '../../../src/runtime/table/table.js'
import { spreadsheet } from '../../support/programs/spreadsheet.js'

let folder: string
let made = 0
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'carteiro-table-'))
})
afterAll(() => rm(folder, { recursive: true }))

/** In pieces of a size, as a network brings them. */
async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function read(bytes: Uint8Array | string, size = 65_536): Promise<TableRow[]> {
  const rows: TableRow[] = []
  const given = typeof bytes === 'string' ? Buffer.from(bytes) : bytes
  for await (const row of readTable(pieces(given, size), join(folder, String(made++)))) rows.push(row)
  return rows
}

const cellsOf = async (...given: Parameters<typeof read>): Promise<string[][]> => (await read(...given)).map(({ cells }) => cells)

describe('a CSV', () => {
  test.each([';', ',', '\t', '|'])('is separated by what its header has most of: %j', async delimiter => {
    const text = [`"nome, por extenso"`, 'e-mail', 'valor'].join(delimiter)
    expect(await cellsOf(`${text}\nAna${delimiter}ana@example.com${delimiter}"1${delimiter}5"\n`)).toEqual([
      ['nome, por extenso', 'e-mail', 'valor'],
      ['Ana', 'ana@example.com', `1${delimiter}5`],
    ])
  })

  test('has quotes, doubled quotes, line breaks in quotes, CRLF and empty lines; lines are numbered as an editor does', async () => {
    const rows = await read('nome;texto\r\n\r\n"João ""Zé""";"uma\r\nduas"\r\n;\r\nBia;três')
    expect(rows).toEqual([
      { line: 1, cells: ['nome', 'texto'] },
      { line: 3, cells: ['João "Zé"', 'uma\nduas'] },
      { line: 6, cells: ['Bia', 'três'] },
    ])
  })

  test.each([
    ['UTF-8', Buffer.from('nome;cidade\nJosé;São Paulo\n')],
    ['UTF-8 with a mark', Buffer.from('\ufeffnome;cidade\nJosé;São Paulo\n')],
    ['Latin-1', Buffer.from('nome;cidade\nJosé;São Paulo\n', 'latin1')],
    ['UTF-16', Buffer.from('\ufeffnome;cidade\nJosé;São Paulo\n', 'utf16le')],
  ])('is read in %s, in pieces of any size', async (_, bytes) => {
    for (const size of [1, 2, 3, 7, 1_000])
      expect(await cellsOf(bytes, size), `${size}`).toEqual([
        ['nome', 'cidade'],
        ['José', 'São Paulo'],
      ])
  })

  test('is Windows-1252 where Latin-1 has nothing to show', async () => {
    expect(await cellsOf(Buffer.from([0x61, 0x0a, 0x80, 0x31, 0x30, 0x20, 0x93, 0x78, 0x94]))).toEqual([['a'], ['€10 “x”']])
  })

  test('shows its first accent far below, and is in Latin-1 all the same', async () => {
    const rows = await cellsOf(Buffer.from(`a\n${'x\n'.repeat(10_000)}é`, 'latin1'), 4_096)
    expect(rows.at(-1)).toEqual(['é'])
  })

  test('of a single column has no delimiter', async () => {
    expect(await cellsOf('email\nana@example.com')).toEqual([['email'], ['ana@example.com']])
  })

  test.each([
    ['a PDF', '%PDF-1.7\0\0', 'não é um arquivo de texto'],
    ['an old spreadsheet', Buffer.from('d0cf11e0a1b11ae1', 'hex'), 'XLS'],
    ['an open quote', 'a;b\n"x;y\n', 'aspas que não se fecham'],
    ['a damaged spreadsheet', Buffer.concat([Buffer.from('PK\x03\x04'), Buffer.alloc(200, 7)]), 'nenhuma folha'],
    [
      'two encodings',
      Buffer.concat([Buffer.from('é\n'.repeat(5_000)), Buffer.from('é', 'latin1'), Buffer.from('abcd')]),
      'mistura UTF-8',
    ],
  ])('that is none is refused with the reason: %s', async (_, bytes, reason) => {
    await expect(read(bytes, 4_096)).rejects.toThrow(reason)
  })

  test('of 100,000 lines is never in memory as a whole', async () => {
    let produced = 0
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('nome;email\n')
      for (let line = 0; line < 100_000; line += 100) {
        produced = line
        yield Buffer.from(
          Array.from({ length: 100 }, (_, more) => `Pessoa ${line + more};p${line + more}@example.com\n`).join(''),
        )
      }
    }
    let read = 0
    let farthest = 0
    for await (const _ of readTable(endless(), join(folder, 'unused'))) {
      read++
      farthest = Math.max(farthest, produced - read)
      // The source must wait for a reader that is slow.
      if (read % 1_000 === 0) await new Promise(resolve => setImmediate(resolve))
    }
    expect(read).toBe(100_001)
    expect(farthest).toBeLessThan(5_000)
  })
})

describe('a spreadsheet', () => {
  test('has shared texts, inline texts, formulas, gaps, and only its first sheet counts', async () => {
    const rows = [
      ['Nome & cia', 'E-mail', 'Obs'],
      ['', '', ''],
      [
        'José <1>',
        { xml: '<c t="inlineStr"><is><t>jose@example.com</t></is></c>' },
        { xml: '<c t="str"><f>A1</f><v>calculado</v></c>' },
      ],
      ['Bia', '', { xml: '<c t="b"><v>1</v></c>' }],
    ]
    for (const size of [1_000, 65_536])
      expect(await read(spreadsheet(rows), size)).toEqual([
        { line: 1, cells: ['Nome & cia', 'E-mail', 'Obs'] },
        { line: 3, cells: ['José <1>', 'jose@example.com', 'calculado'] },
        { line: 4, cells: ['Bia', '', '1'] },
      ])
  })

  const n = (value: string, style = 0) => ({ xml: `<c s="${style}"><v>${value}</v></c>` })

  test('shows numbers without an exponent, without .0, and with the zeros of their format', async () => {
    const rows = [
      ['a'],
      [n('1.1987654321E10')],
      [n('5511987654321.0')],
      [n('1234.56')],
      [n('0.30000000000000004')],
      [n('1234567890', 1)],
      [n('0.0000015')],
    ]
    expect((await cellsOf(spreadsheet(rows, { formats: ['00000000000'] }))).flat()).toEqual([
      'a',
      '11987654321',
      '5511987654321',
      '1234,56',
      '0,3',
      '01234567890',
      '0,0000015',
    ])
  })

  test('shows dates by their number format', async () => {
    const formats = [14, 22, 'dd/mm/yyyy', '[$-416]d &quot;de&quot; mmmm', 'h:mm', '0.00']
    const rows = [
      ['a'],
      [n('46218', 1)],
      [n('46218.5', 2)],
      [n('46218', 3)],
      [n('46218', 4)],
      [n('0.75', 5)],
      [n('46218', 6)],
      [n('46218')],
    ]
    expect((await cellsOf(spreadsheet(rows, { formats }))).flat()).toEqual([
      'a',
      '15/07/2026',
      '15/07/2026 12:00',
      '15/07/2026',
      '15/07/2026',
      '18:00',
      '46218',
      '46218',
    ])
    expect(await cellsOf(spreadsheet([['a'], [n('44756', 1)]], { formats: [14], date1904: true }))).toEqual([
      ['a'],
      ['15/07/2026'],
    ])
  })

  test('has cells without a place, and cells without a value; a row ends with its last value', async () => {
    const sheet =
      '<worksheet><sheetData><row r="2"><c><v>1</v></c><c s="1"/><c><v>3</v></c><c s="1"/></row><row><c r="GR3"><v>200</v></c><c r="GS3" s="1"/></row></sheetData></worksheet>'
    expect(await read(spreadsheet([], { parts: { 'xl/worksheets/sheet1.xml': sheet } }))).toEqual([
      { line: 2, cells: ['1', '', '3'] },
      { line: 3, cells: [...Array.from({ length: 199 }, () => ''), '200'] },
    ])
  })

  test.each(['r="x"', 'r="1"', 'r="1.5"', 'r="-1"', 'r="1e99"'])(
    'that numbers its rows in a way that cannot be stored is refused: %s',
    async number => {
      const row = (attributes: string): string => `<row ${attributes}><c><v>1</v></c></row>`
      const sheet = `<worksheet><sheetData>${row('r="1"')}${row(number)}</sheetData></worksheet>`
      await expect(read(spreadsheet([], { parts: { 'xl/worksheets/sheet1.xml': sheet } }))).rejects.toThrow('danificada')
    },
  )

  test('without a sheet is refused', async () => {
    const { zipSync, strToU8 } = await import('fflate')
    await expect(read(zipSync({ 'a.txt': strToU8('x') }))).rejects.toThrow('nenhuma folha')
  })
})
