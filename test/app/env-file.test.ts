import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { loadEnvFile } from '../../src/app/process/env-file.js'
import { OperatorError } from '../../src/domain/errors.js'
import { temporaryFolder } from '../support/temporary-folder.js'

const NAMES = ['TEST_FILES', 'TEST_PORT', 'TEST_SECRET']

afterEach(() => {
  for (const name of NAMES) delete process.env[name]
})

function load(text: string): void {
  const path = join(temporaryFolder(), '.env')
  writeFileSync(path, text)
  loadEnvFile(path)
}

test('a quoted value keeps what follows a #, and a comment is none of the value', () => {
  load(
    '# TEST_SECRET=a#b\nTEST_FILES="s3+https://s/b#region=sa-east-1"\nTEST_PORT=8080 # the usual one\nexport TEST_SECRET=\'a#b\'\n',
  )
  expect(NAMES.map(name => process.env[name])).toEqual(['s3+https://s/b#region=sa-east-1', '8080', 'a#b'])
})

test.each([
  'TEST_FILES=s3+https://s/b#region=sa-east-1',
  'TEST_PORT=1\n  export TEST_FILES = a#b',
  'TEST_PORT=\n\nTEST_FILES=a b#c',
  'TEST_FILES=a#',
])('a value that would lose its end is refused, and nothing is loaded: %j', text => {
  expect(() => load(text)).toThrow(OperatorError)
  expect(() => load(text)).toThrow(/TEST_FILES entre aspas/)
  expect(NAMES.map(name => process.env[name])).toEqual([undefined, undefined, undefined])
})

test('a name that is set already, also to nothing, keeps its value', () => {
  Object.assign(process.env, { TEST_SECRET: '', TEST_PORT: '1' })
  load('TEST_SECRET=x\nTEST_PORT=2\n')
  expect([process.env.TEST_SECRET, process.env.TEST_PORT]).toEqual(['', '1'])
})

test('a folder of that name is refused with the cure', () => {
  const path = join(temporaryFolder(), '.env')
  mkdirSync(path)
  expect(() => loadEnvFile(path)).toThrow(OperatorError)
  expect(() => loadEnvFile(path)).toThrow(`Não foi possível ler ${path} (EISDIR). Deve ser um arquivo`)
})

test('a file that does not exist is none', () => {
  loadEnvFile(join(temporaryFolder(), '.env'))
})
