import { syncBuiltinESMExports } from 'node:module'
import os, { tmpdir } from 'node:os'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { runCommand } from '../support/gateway/command.js'
import { type Gateway, startGateway } from '../support/gateway/gateway.js'
import { send, validSend } from '../support/gateway/requests.js'

let database: TestDatabase
let gateway: Gateway

beforeAll(async () => {
  database = await createDatabase()
  gateway = await startGateway(database.pool)
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
})

/** What a command prints; it must succeed. */
async function succeed(...args: string[]): Promise<string> {
  const { status, stdout, stderr } = await runCommand(args, database.url)
  expect([args, status, stderr]).toEqual([args, 0, ''])
  return stdout
}

test('an account is made, given an address, a limit and a token, and the running gateway follows each change', async () => {
  const created = await succeed('account', 'create', '--name', 'acme', '--entity', 'Grupo', '--validation', '--json')
  expect(JSON.parse(created)).toMatchObject({ name: 'acme', entity: 'Grupo' })
  await succeed('address', 'add', '--account', 'acme', '127.0.0.1')
  await succeed('account', 'set', '--account', 'acme', 'limit.registered=77')
  const issued = await succeed('token', 'issue', '--account', 'acme', '--expires', '1h')
  expect(issued).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/)
  const token = issued.trim()
  const answer = await send(gateway.url, token, { ...validSend, validation: { question: 'Cor?', reply: 'Azul' } })
  expect(answer.status).toBe(200)
  expect(answer.headers.get('ratelimit-policy')).toBe('"registrado";q=77;w=60')

  const { jti } = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as { jti: string }
  await succeed('token', 'revoke', jti)
  await expect.poll(() => send(gateway.url, token, validSend).then(sent => sent.status)).toBe(401)

  const { idEmail } = answer.body as { idEmail: string }
  expect(JSON.parse(await succeed('queue', 'list', '--state', 'dead', '--json'))).toEqual([])
  const nothing = await runCommand(['queue', 'retry', idEmail, '--channel', 'email'], database.url)
  expect([nothing.status, nothing.stderr]).toEqual([1, expect.stringContaining('Nada a decidir')])
  expect(JSON.parse(await succeed('account', 'show', '--account', 'acme', '--json'))).toMatchObject({
    settings: { 'limit.registered': 77, validation: true },
    addresses: ['127.0.0.1/32'],
  })
})

test('the names of accounts and entities are trimmed lines of at most 200 characters, and no entity is without a name', async () => {
  const create = async (...args: string[]): Promise<{ name: string; entity: string }> =>
    JSON.parse(await succeed('account', 'create', ...args, '--json'))
  expect(await create('--name', 'um', '--entity', '')).toMatchObject({ name: 'um', entity: 'um' })
  expect(await create('--name', ' dois ', '--entity', ' ')).toMatchObject({ name: 'dois', entity: 'dois' })
  expect(await create('--name', 'três', '--entity', ' Grupo ')).toMatchObject({ entity: 'Grupo' })
  const refusals: [string[], RegExp][] = [
    [['--name', ' '], /--name é obrigatório/],
    [['--name', 'a\nb'], /--name não pode ter quebras/],
    [['--name', 'a'.repeat(201)], /--name passa do limite de 200/],
    [['--name', 'x', '--entity', 'a\u0007'], /--entity não pode ter/],
    [['--name', 'x', '--entity', 'a'.repeat(201)], /--entity passa do limite de 200/],
  ]
  for (const [args, words] of refusals) {
    const { status, stderr } = await runCommand(['account', 'create', ...args], database.url)
    expect([status, stderr]).toEqual([1, expect.stringMatching(words)])
  }
})

test('a command of a user without a name is recorded under the number of the user', async () => {
  const named = vi.spyOn(os, 'userInfo').mockImplementation(() => {
    throw Object.assign(new Error('no entry'), { code: 'ERR_SYSTEM_ERROR' })
  })
  syncBuiltinESMExports()
  onTestFinished(() => {
    named.mockRestore()
    syncBuiltinESMExports()
  })
  await succeed('account', 'create', '--name', 'sem nome')
  const { rows } = await database.pool.query("select actor from audit where action = 'account create' order by id desc limit 1")
  expect(rows).toEqual([{ actor: `command:uid:${process.getuid!()}` }])
  const answers = [
    await runCommand(['queue', 'retry', '01900000-0000-7000-8000-000000000000', '--channel', 'email'], database.url),
    await runCommand(['retry', '--channel', 'email', '--carrier', 'smtp', '--since', '2020-01-01T00:00:00Z'], database.url),
    await runCommand(['restored', 'release', '--all'], database.url),
  ]
  expect(answers.map(({ stdout, stderr }) => stdout + stderr)).toEqual([
    expect.stringContaining('Não há'),
    expect.stringMatching(/\b0\b/),
    expect.stringContaining('Nada disto está retido'),
  ])
})

test('a database out of reach is named with its cure', async () => {
  const { status, stderr } = await runCommand(['migrate'], 'postgresql://nobody@127.0.0.1:1/none')
  expect(status).toBe(1)
  expect(stderr).toMatch(/banco de dados não respondeu.*DATABASE_URL/)
})

test('another master key is refused with both fingerprints', async () => {
  await succeed('migrate')
  const { status, stderr } = await runCommand(['migrate'], database.url, { CARTEIRO_MASTER_KEY: 'ab'.repeat(32) })
  expect(status).toBe(1)
  expect(stderr).toMatch(/outra chave mestra \(impressão [0-9a-f]{16}; este nó tem [0-9a-f]{16}\)/)
})

test.each([
  ['start'],
  ['migrate'],
  ['account', 'create'],
  ['account', 'set'],
  ['token', 'issue'],
  ['token', 'revoke'],
  ['address', 'add'],
  ['queue', 'list'],
  ['queue', 'retry'],
])('%s %s explains itself', async (...verb) => {
  const { status, stdout } = await runCommand([...verb, '--help'])
  expect([status, stdout]).toEqual([0, expect.stringContaining(`carteiro ${verb.join(' ')}`)])
})

test.each([
  [['queue', 'retry', 'x', '--channel', 'email']],
  [['account', 'create']],
  [['token', 'issue', '--account', 'x', '--mode', 'both']],
  [['nonsense']],
])('%j is refused, and the reason is told', async wrong => {
  const { status, stderr } = await runCommand(wrong)
  expect([status, stderr]).toEqual([1, expect.stringMatching(/\S/)])
})

const ONE = '018f0000-0000-7000-8000-000000000001'

test.each([
  [['legal-hold', '--list', ONE, '--release'], 'o idEmail e --release não têm efeito com --list.'],
  [['legal-hold', '--list', '--reason', 'x'], '--reason não tem efeito com --list.'],
  [['legal-hold', ONE, '--reason', 'x', '--limit', '3'], '--limit só tem efeito com --list.'],
  [['hold', '--list', '--channel', 'sms'], '--channel não tem efeito com --list.'],
  [['hold', '--list', '--all', '--reason', 'x'], '--all e --reason não têm efeito com --list.'],
  [['account', 'sequence', '--account', 'acme', '--clear', 'email:0:sempre'], '--clear não tem efeito com etapas.'],
  [['account', 'sequence', '--account', 'acme', 'email:0:sempre:xx'], '"email:0:sempre:xx" não é uma etapa.'],
])('%j has an option without an effect: it is refused, by name', async (wrong, told) => {
  const { status, stderr } = await runCommand(wrong, database.url)
  expect([status, stderr]).toEqual([1, expect.stringContaining(told)])
})

const anyNotification = async (): Promise<string> => (await database.pool.query('select id from notification limit 1')).rows[0].id

test('the reason of a release is in the log of actions', async () => {
  const id = await anyNotification()
  await succeed('legal-hold', id, '--reason', 'processo 9')
  await succeed('legal-hold', id, '--release', '--reason', 'processo 9 arquivado')
  const { rows } = await database.pool.query('select action, detail from audit where subject = $1 order by id', [id])
  expect(rows).toEqual([
    { action: 'legal-hold', detail: { reason: 'processo 9' } },
    { action: 'legal-hold release', detail: { reason: 'processo 9 arquivado' } },
  ])
})

test('a folder in place of a picture is refused with the cure', async () => {
  const { status, stderr } = await runCommand(['account', 'logo', '--account', 'acme', tmpdir()], database.url)
  expect([status, stderr]).toEqual([1, `Não foi possível ler o arquivo ${tmpdir()}. Confira o nome e a permissão.\n`])
})

test('a file in a folder that does not exist is refused with the cure, by every command that writes one', async () => {
  const out = '/nenhuma/pasta/arquivo'
  for (const command of [
    ['evidence', await anyNotification(), '--out', out],
    ['person', 'export', '--to', 'maria@example.com', '--out', out],
  ]) {
    const { status, stderr } = await runCommand(command, database.url)
    expect([command, status, stderr]).toEqual([
      command,
      1,
      `Não foi possível escrever ${out} (ENOENT). Escolha uma pasta que exista, com espaço e permissão.\n`,
    ])
  }
})
