import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { runCommand } from '../support/gateway/command.js'
import { createAccount } from '../support/gateway/gateway.js'

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase()
  await createAccount(database.pool, { name: 'acme' })
  await createAccount(database.pool, { name: 'other' })
  await createAccount(database.pool, { name: 'third' })
})

afterAll(() => database.drop())

/** The JSON of one verb, or why it failed. */
async function suppression(...args: string[]): Promise<unknown> {
  const { status, stdout, stderr } = await runCommand(['suppression', ...args, '--json'], database.url)
  return status === 0 ? JSON.parse(stdout) : stderr
}

test('a contact is suppressed for one account and channel, listed, and let go again', async () => {
  expect(await suppression('add', '--account', 'acme', 'Maria@Example.com')).toEqual({
    account: 'acme',
    mode: 'live',
    channel: 'email',
    suppressed: 'maria@example.com',
  })
  expect(await suppression('add', '--account', 'acme', 'maria@example.com')).toMatch(/já está suprimido na conta "acme"/)
  await suppression('add', '--account', 'acme', '--channel', 'sms', '11987654321')
  expect(await suppression('list', '--account', 'acme')).toMatchObject([
    { channel: 'sms', recipient: '+5511987654321', reason: 'operator', notification: null, since: expect.any(String) },
    { channel: 'email', recipient: 'maria@example.com', reason: 'operator' },
  ])
  expect(await suppression('list', '--account', 'acme', '--recipient', 'MARIA@example.com')).toHaveLength(1)
  expect(await suppression('list', '--account', 'acme', '--channel', 'voz')).toEqual([])
  expect(await suppression('list', '--account', 'other')).toEqual([])
  expect(await suppression('remove', '--account', 'other', 'maria@example.com')).toMatch(/não está suprimido na conta "other"/)
  expect(await suppression('remove', '--account', 'acme', 'MARIA@example.com')).toMatchObject({ removed: 'maria@example.com' })
  expect(await suppression('list', '--account', 'acme')).toMatchObject([{ channel: 'sms' }])
  const { rows } = await database.pool.query("select action, detail from audit where action like 'suppression%' order by at")
  expect(rows).toMatchObject([
    { action: 'suppression add' },
    { action: 'suppression add' },
    { action: 'suppression remove', detail: { mode: 'live', channel: 'email', recipient: 'ma***@example.com' } },
  ])
})

test('a contact is found as people write it, in every channel, and a filter that finds nothing does not say that nothing is suppressed', async () => {
  for (const channel of ['sms', 'voz']) await suppression('add', '--account', 'third', '--channel', channel, '11912345678')
  await suppression('add', '--account', 'third', '--channel', 'carta', 'Maria da Silva')
  const found = async (recipient: string) => suppression('list', '--account', 'third', '--recipient', recipient)
  for (const written of ['(11) 91234-5678', '11912345678', '+5511912345678']) expect(await found(written)).toHaveLength(2)
  expect(await found('maria DA silva')).toMatchObject([{ channel: 'carta' }])
  const list = async (...args: string[]) =>
    (await runCommand(['suppression', 'list', '--account', 'third', ...args], database.url)).stdout
  const NONE = 'Nenhum contato suprimido com este filtro.\n'
  expect(await list('--recipient', 'ana@example.com')).toBe(NONE)
  expect(await list('--channel', 'whatsapp')).toBe(NONE)
  expect(await list('--mode', 'test')).toMatch(/^Nenhum contato suprimido: nada impede/)
})

test('a contact is suppressed in one mode, and the other mode does not know of it', async () => {
  const added = await suppression('add', '--account', 'other', '--mode', 'test', 'maria@example.com')
  expect(added).toMatchObject({ mode: 'test', suppressed: 'maria@example.com' })
  expect(await suppression('list', '--account', 'other')).toEqual([])
  expect(await suppression('list', '--account', 'other', '--mode', 'test')).toMatchObject([{ mode: 'test', channel: 'email' }])
  expect(await suppression('remove', '--account', 'other', 'maria@example.com')).toMatch(/não está suprimido.*\(email, live\)/)
})

test('what is no contact of the channel is refused with what it should be', async () => {
  expect(await suppression('add', '--account', 'acme', '11987654321')).toMatch(/não é um endereço de e-mail.*--channel/)
  expect(await suppression('remove', '--account', 'acme', '--channel', 'sms', 'maria@example.com')).toMatch(/não é um número/)
})
