import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { MAX_TEMPLATE_CHARACTERS } from '../../src/domain/send/template.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { runCommand } from '../support/gateway/command.js'
import { createAccount } from '../support/gateway/gateway.js'
import { temporaryFolder } from '../support/temporary-folder.js'

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase()
  await createAccount(database.pool, { name: 'acme' })
})

afterAll(() => database.drop())

const template = (verb: string, ...args: string[]) =>
  runCommand(['template', verb, '--account', 'acme', '--json', ...args], database.url)

function contentFile(text: string): string {
  const file = join(temporaryFolder(), 'conteudo.txt')
  writeFileSync(file, text)
  return file
}

const create = (text: string, ...args: string[]) => template('create', '--channel', 'sms', '--file', contentFile(text), ...args)

test.each<[string, string[], string]>([
  ['Olá', ['--name', ' '], 'O campo --name é obrigatório e não pode ficar em branco.\n'],
  ['Olá', ['--name', 'n'.repeat(256)], 'O campo --name passa do limite de 255 caracteres.\n'],
  ['Olá', ['--name', 'n', '--template-id', 'i'.repeat(256)], 'O campo --template-id passa do limite de 255 caracteres.\n'],
  [' \n', ['--name', 'n'], 'O campo --file é obrigatório e não pode ficar em branco.\n'],
  [
    'x'.repeat(MAX_TEMPLATE_CHARACTERS + 1),
    ['--name', 'n'],
    `O campo --file passa do limite de ${MAX_TEMPLATE_CHARACTERS} caracteres.\n`,
  ],
])('the command has the limits of the API', async (text, args, told) => {
  const { status, stderr } = await create(text, ...args)
  expect([status, stderr]).toEqual([1, told])
})

test('an edit has the same limits, an empty own id is none, and a version is a whole number', async () => {
  const { id, templateId } = JSON.parse((await create('Olá', '--name', 'aviso', '--template-id', '')).stdout)
  expect(templateId).toBeNull()
  const blank = await template('edit', id, '--name', '')
  expect([blank.status, blank.stderr]).toEqual([1, 'O campo --name é obrigatório e não pode ficar em branco.\n'])
  expect(JSON.parse((await template('show', id, '--revision', '1')).stdout)).toMatchObject({ content: 'Olá' })
  for (const revision of ['', '0', '-1', '1.5', '1e3', '99999999999']) {
    const { status, stderr } = await template('show', id, `--revision=${revision}`)
    expect([revision, status, stderr]).toEqual([revision, 1, '--revision deve ser um número inteiro de 1 a 999999999.\n'])
  }
})
