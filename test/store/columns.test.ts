import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '../../src/domain/id.js'
import {
  type Columns,
  column,
  columnValues,
  decimalColumn,
  hexColumn,
  selectColumns,
  selectInTurn,
} from '../../src/store/columns.js'
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

test('every type comes back as it was', async () => {
  const at = new Date('1999-12-31T23:59:59.001Z')
  interface Typed {
    id: string
    small: number
    int: number
    big: number
    at: Date | string
    json: string
    bytes: Buffer
    amount: number
  }
  const typed: Columns<Typed> = {
    id: column('uuid', ({ id }) => id),
    small: column('smallint', ({ small }) => small),
    int: column('int', ({ int }) => int),
    big: column('bigint', ({ big }) => big),
    at: column('timestamptz', row => row.at),
    json: column('jsonb', ({ json }) => json),
    bytes: column('bytea', ({ bytes }) => bytes),
    amount: decimalColumn(({ amount }) => amount),
  }
  const rows: Typed[] = [
    { id: newId(0), small: -1, int: -1, big: -1, at, json: '{"a": "ção"}', bytes: Buffer.from([0, 255]), amount: 0.1 },
    {
      id: newId(1),
      small: 32_767,
      int: 2 ** 31 - 1,
      big: 2 ** 53 - 1,
      at: '2026-11-19T01:02:03.004Z',
      json: '[]',
      bytes: Buffer.alloc(0),
      amount: -7,
    },
  ]
  const query = { text: selectColumns(typed, 1), values: columnValues(typed, rows) }
  expect(await queryRows(database.pool, query)).toEqual(
    rows.map(row => ({ ...row, at: new Date(row.at), json: JSON.parse(row.json), amount: String(row.amount) })),
  )
})

test('the parameters of each kind come after those of the kinds before it', async () => {
  const [first, second] = selectInTurn([columns, columns])
  const row = { text: 'a', hex: null, flag: true }
  const [query] = await queryRows<{ rows: Row[] }>(database.pool, {
    text: `select array(select text from (${first}) f union all select text from (${second}) s) as rows`,
    values: [...columnValues(columns, [row]), ...columnValues(columns, [{ ...row, text: 'b' }])],
  })
  expect(query!.rows).toEqual(['a', 'b'])
})

test.each([
  ['a number with a fraction', 'int', 1.5],
  ['a number that is too large', 'smallint', 40_000],
  ['no date', 'timestamptz', 'yesterday'],
  ['an id of another form', 'uuid', 'abc'],
] as const)('%s is refused, as PostgreSQL would refuse it', (_, type, value) => {
  const one = { value: column(type, (row: { value: never }) => row.value) }
  expect(() => columnValues(one, [{ value: value as never }])).toThrow(expect.objectContaining({ code: 'storeRefused' }))
})

test('no rows are no rows', async () => {
  expect(await readBack([])).toEqual([])
})

test('a text that PostgreSQL cannot store is refused', async () => {
  await expect(readBack([{ text: 'a\0b', hex: null, flag: false }])).rejects.toMatchObject({ code: 'storeRefused' })
})
