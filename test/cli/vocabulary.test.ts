import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { revokeToken } from '../../src/store/accounts/tokens.js'
import { dataFolder } from '../support/database/data-folder.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { runCommand } from '../support/gateway/command.js'
import { createAccount, startGateway, type TestAccount } from '../support/gateway/gateway.js'
import { send, validSend } from '../support/gateway/requests.js'

let database: TestDatabase
let account: TestAccount

beforeAll(async () => {
  database = await createDatabase()
  account = await createAccount(database.pool, { name: 'acme' })
  await createAccount(database.pool, { name: 'vazia', ranges: [] })
})

afterAll(() => database.drop())

const run = async (...args: string[]): Promise<string> => {
  const { status, stdout, stderr } = await runCommand(args, database.url)
  expect([args, status, stderr]).toEqual([args, 0, ''])
  return stdout
}
const DATE = /\b\d\d\/\d\d\/\d{4} \d\d:\d\d:\d\d\b/
const head = (table: string): string[] => table.split('\n')[0]!.trim().split(/ {2,}/)

test('channels have the names of the API in arguments and output, and no others', async () => {
  const file = join(dataFolder(), 'texto.txt')
  writeFileSync(file, 'Olá, {{ nome }}.')
  const create = ['template', 'create', '--account', 'acme', '--name', 'aviso', '--file', file]
  expect(JSON.parse(await run(...create, '--channel', 'voz', '--json'))).toMatchObject({ channel: 'voz' })
  expect(await run('template', 'list', '--account', 'acme', '--channel', 'voz')).toContain('  voz  ')
  const added = await run('suppression', 'add', '--account', 'acme', '--channel', 'carta', 'Maria da Silva')
  expect(added).toMatch(/^conta {6}acme\nmodo {7}live\ncanal {6}carta\nsuprimido {2}maria da silva\n$/i)
  expect(await run('suppression', 'list', '--account', 'acme', '--channel', 'carta')).toMatch(/carta .*operador/)
  const steps = ['email:0:sempre', 'sms:60:nao_entregue', 'carta:1440:nao_lido']
  expect(JSON.parse(await run('account', 'sequence', '--account', 'acme', ...steps, '--json'))).toEqual([
    { channel: 'email', waitMinutes: 0, condition: 'sempre' },
    { channel: 'sms', waitMinutes: 60, condition: 'nao_entregue' },
    { channel: 'carta', waitMinutes: 1440, condition: 'nao_lido' },
  ])
  expect(head(await run('account', 'sequence', '--account', 'acme'))).toEqual(['canal', 'espera (min)', 'condição'])
  const { rows } = await database.pool.query('select sequence from account where id = $1', [account.id])
  expect(rows[0].sequence).toMatchObject([
    { channel: 'email' },
    { channel: 'sms', condition: 'not delivered' },
    { channel: 'letter' },
  ])
  for (const wrong of [['letter:0:sempre'], ['carta:0:always'], ['carta:0'], ['carta:x:sempre']]) {
    const { status, stderr } = await runCommand(['account', 'sequence', '--account', 'acme', ...wrong], database.url)
    expect([status, stderr]).toEqual([1, expect.stringMatching(/não é uma etapa.*voz, carta.*nao_confirmado/)])
  }
  await run('account', 'sequence', '--account', 'acme', '--clear')
})

test('the text of a template is UTF-8, without its mark, and any other encoding is refused', async () => {
  const file = join(dataFolder(), 'texto.txt')
  const create = ['template', 'create', '--account', 'acme', '--name', 'codificado', '--channel', 'email', '--file', file]
  writeFileSync(file, Buffer.from('Cobrança', 'latin1'))
  const { status, stderr } = await runCommand(create, database.url)
  expect([status, stderr]).toEqual([1, expect.stringMatching(/texto\.txt.*UTF-8/)])
  writeFileSync(file, '\ufeffCobrança')
  const { id } = JSON.parse(await run(...create, '--json'))
  expect(JSON.parse(await run('template', 'show', id, '--account', 'acme', '--json')).content).toBe('Cobrança')
  writeFileSync(file, Buffer.from('Não', 'utf16le'))
  const edited = await runCommand(['template', 'edit', id, '--account', 'acme', '--file', file], database.url)
  expect([edited.status, edited.stderr]).toEqual([1, expect.stringContaining('UTF-8')])
})

test('the queue names channels as the API does', async () => {
  const gateway = await startGateway(database.pool)
  const voz = { number: '11987654321', template: 'aviso', payload: { nome: 'Maria' } }
  await send(gateway.url, account.token, { ...validSend, voz })
  await gateway.close()
  const table = await run('queue', 'count')
  expect(head(table)).toEqual(['canal', 'modo', 'estado', 'quantas', 'mais antiga (s)'])
  expect(table).toMatch(/^voz {2,}live {2,}queued {2,}1 /m)
  const listed = await run('queue', 'list', '--state', 'queued', '--channel', 'voz')
  expect(listed).toMatch(/ {2}voz {2}/)
  expect(listed).toMatch(DATE)
})

test('dates are Brasília’s: as the API writes them for people, exact and with their offset for programs', async () => {
  await revokeToken(database.pool, account.jti)
  const [{ issuedAt, revokedAt, expiresAt }] = JSON.parse(await run('token', 'list', '--account', 'acme', '--json'))
  for (const date of [issuedAt, revokedAt]) expect(date).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+-03:00$/)
  expect(expiresAt).toBe(null)
  const table = await run('token', 'list', '--account', 'acme')
  expect(head(table)).toEqual(['jti', 'modo', 'emitido em', 'vence em', 'revogado em'])
  const [year, month, day, time] = issuedAt.split(/[-T.]/)
  expect(table).toContain(`${day}/${month}/${year} ${time}`)
})

test('a record for people has Portuguese heads, sim and não', async () => {
  const shown = await run('account', 'show', '--account', 'acme')
  expect(shown).toMatch(/^nome {2,}acme$/m)
  expect(shown).toMatch(/^validation {2,}não$/m)
  expect(shown).toMatch(/^endereços {2,}127\.0\.0\.0\/8, ::1\/128$/m)
  expect(shown).toMatch(new RegExp(`^desde {2,}${DATE.source}$`, 'm'))
})

test.each<[string[], RegExp]>([
  [['address', 'list', '--account', 'vazia'], /não tem endereços registrados\. Registre um com: carteiro address add/],
  [['template', 'list', '--account', 'vazia'], /^Nenhum template\. Crie um com: carteiro template create/],
  [['webhook', 'list', '--account', 'vazia'], /^Nenhum webhook\. Crie um com: carteiro webhook create/],
  [['suppression', 'list', '--account', 'vazia'], /^Nenhum contato suprimido/],
  [['account', 'sequence', '--account', 'vazia'], /não tem régua: todos os canais saem na hora/],
  [['queue', 'list', '--state', 'dead'], /^Nenhuma entrega no estado dead\. .*carteiro queue count/],
  [['dkim', 'list'], /^Nenhuma chave DKIM\. Crie uma com: carteiro dkim create/],
])('%j with nothing to list says so and what comes next, and --json is []', async (args, sentence) => {
  expect(await run(...args)).toMatch(sentence)
  expect(await run(...args, '--json')).toBe('[]\n')
})

test('an installation without accounts says how to make one', async () => {
  const empty = await createDatabase()
  try {
    const { stdout } = await runCommand(['account', 'list'], empty.url)
    expect(stdout).toBe('Nenhuma conta ainda. Crie uma com: carteiro account create --name NOME\n')
    expect((await runCommand(['queue', 'count'], empty.url)).stdout).toBe('Nenhuma entrega por terminar.\n')
  } finally {
    await empty.drop()
  }
})
