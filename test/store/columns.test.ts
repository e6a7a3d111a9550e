import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Columns, column, columnValues, hexColumn, selectColumns } from '../../src/store/columns.js'
import { queryRows } from '../../src/store/postgres.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase()
})

afterAll(() => database.drop())

interface Row {
  text: string | null
  hex: string | null
  count?: number
  flag: boolean
}

const columns: Columns<Row> = {
  text: column('text', ({ text }) => text),
  bytes: hexColumn(({ hex }) => hex),
  count: column('bigint', ({ count }) => count),
  flag: column('boolean', ({ flag }) => flag),
}

const readBack = (rows: readonly Row[]) =>
  queryRows(database.pool, { text: selectColumns(columns, 1), values: columnValues(columns, rows) })

test('rows come back from their arrays as they were, whatever their text is', async () => {
  const texts = ['', 'NULL', 'null', '{"a", "b"}', '\\', '"', ' Olá, ação – 😀 ', 'two\nlines', 'x'.repeat(100_000)]
  const rows: Row[] = texts.map((text, index) => ({ text, hex: '00ff', count: index, flag: index % 2 === 0 }))
  const expected = rows.map(({ text, count, flag }) => ({ text, bytes: Buffer.from([0x00, 0xff]), count, flag }))
  expect(await readBack(rows)).toEqual(expected)
})

test('what a row lacks is null', async () => {
  expect(await readBack([{ text: null, hex: null, flag: false }])).toEqual([
    { text: null, bytes: null, count: null, flag: false },
  ])
})

test('no rows are no rows', async () => {
  expect(await readBack([])).toEqual([])
})

test('a text that PostgreSQL cannot store is refused', async () => {
  await expect(readBack([{ text: 'a\0b', hex: null, flag: false }])).rejects.toMatchObject({ code: 'storeRefused' })
})
