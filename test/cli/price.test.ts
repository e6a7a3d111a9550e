import { afterAll, beforeAll, expect, test } from 'vitest'
import { monthOf } from '../../src/domain/month.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { runCommand } from '../support/gateway/command.js'
import { createAccount } from '../support/gateway/gateway.js'

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase()
  await createAccount(database.pool, { name: 'acme' })
})

afterAll(() => database.drop())

/** The JSON of one command, or why it failed. */
async function run(...args: string[]): Promise<unknown> {
  const { status, stdout, stderr } = await runCommand([...args, '--json'], database.url)
  return status === 0 ? JSON.parse(stdout) : stderr
}

test('prices are set with either decimal sign, listed, removed, and every act is in the log', async () => {
  expect(await run('price', 'set', '--channel', 'sms', '0,08')).toEqual({
    channel: 'sms',
    carrier: null,
    price: 0.08,
    unit: 'parte',
  })
  await run('price', 'set', '--channel', 'sms', '--carrier', 'zenvia', '0.095')
  await run('price', 'set', '--channel', 'sms', '0.09')
  expect(await run('price', 'list')).toMatchObject([
    { channel: 'sms', carrier: null, price: 0.09 },
    { channel: 'sms', carrier: 'zenvia', price: 0.095 },
  ])
  expect(await run('price', 'set', '--channel', 'sms', 'caro')).toMatch(/Informe reais com até quatro casas/)
  expect(await run('price', 'remove', '--channel', 'voz')).toMatch(/Não há este preço/)
  expect(await run('price', 'remove', '--channel', 'sms', '--carrier', 'zenvia')).toMatchObject({ removed: true })
  expect(await run('price', 'list')).toHaveLength(1)
  const { rows } = await database.pool.query("select action from audit where action like 'price%' order by id")
  expect(rows.map(({ action }) => action)).toEqual(['price set', 'price set', 'price set', 'price remove'])
})

test.each(['zenvai', '', 'smtp', 'zenvai:host/1'])(
  'a price of %j, which no provider of the channel serves, is refused with their names',
  async carrier => {
    const before = await run('price', 'list')
    expect(await run('price', 'set', '--channel', 'sms', '--carrier', carrier, '0.1')).toMatch(/--carrier.*smpp, zenvia/)
    expect(await run('price', 'list')).toEqual(before)
  },
)

test('usage shows a month by channel and carrier', async () => {
  expect(await run('usage', '--account', 'acme')).toEqual([])
  await database.pool.query(
    `insert into usage_tally select 'live', (now() at time zone 'America/Sao_Paulo')::date, id, 'letter', 'print-shop:x', 1, 4, 6.4 from account`,
  )
  const month = monthOf(new Date()).name
  const row = { month, channel: 'carta', carrier: 'print-shop:x', messages: 1, units: 4, cost: 6.4, unit: 'páginas' }
  expect(await run('usage', '--account', 'acme', '--month', month)).toEqual([row])
  expect(await run('usage', '--account', 'acme', '--mode', 'test')).toEqual([])
  expect(await run('usage', '--account', 'acme', '--month', '2026-13')).toMatch(/Informe um mês como 2026-11/)
})
