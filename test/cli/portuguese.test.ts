import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { translateError } from '../../src/cli/portuguese.js'
import { runCommand } from '../support/gateway/command.js'
import { readSource } from '../support/sources.js'

/** Words of the parser that must not reach a person. */
const ENGLISH =
  /\b(error|usage|options?|commands?|arguments?|choices|default|unknown|missing|required|invalid|display|output|allowed|did you mean|expected|help for)\b/i
/** A command may have a name that the parser uses for something else. */
const withoutNames = (text: string): string =>
  text.replace(/'[^']*'|--?[\w-]+|<[^>]*>|^ {2}usage(?= \[)|(?<=carteiro )usage/gm, '')

test('every error that the installed parser can print has its Portuguese sentence', () => {
  const folder = join(dirname(createRequire(import.meta.url).resolve('commander')), 'lib')
  const source = readFileSync(join(folder, 'command.js'), 'utf8')
  const printed = [...source.matchAll(/`(error: [^`]+)`/g)].map(([, text]) =>
    text!
      .replace(/\$\{getErrorMessage\(\w+\)\}/g, "option '--a'")
      .replace(/\$\{forSubcommand\}/, " for 'x'")
      .replace(/\$\{suggestion\}/, '\n(Did you mean --name?)')
      .replace(/argument\$\{s\}/, 'arguments')
      .replace(/\$\{(expected|receivedArgs\.length)\}/g, '2')
      .replace(/\$\{[^}]*\}/g, 'x'),
  )
  expect(printed.length).toBeGreaterThan(8)
  for (const text of [...printed, "error: option '--a' argument 'x' is invalid. Allowed choices are a, b."]) {
    const translated = translateError(text)
    expect(translated, text).toMatch(/^erro: /)
    expect(withoutNames(translated), text).not.toMatch(ENGLISH)
  }
})

const verbs: string[][] = [[], ['start'], ['account'], ['account', 'sequence'], ['token', 'issue'], ['template', 'create']]
verbs.push(
  ['suppression', 'add'],
  ['queue', 'list'],
  ['price', 'set'],
  ['usage'],
  ['webhook', 'create'],
  ['listen'],
  ['simulate'],
  ['audit'],
  ['dkim', 'create'],
)

test.each(verbs.map(verb => [verb]))('the help of %j is in Portuguese, the parser’s own words included', async verb => {
  const { status, stdout } = await runCommand([...verb, '--help'])
  expect(status).toBe(0)
  expect(stdout).toMatch(/^Uso: carteiro/)
  expect(stdout).toContain('Opções:')
  expect(stdout).toContain('mostra esta ajuda')
  expect(withoutNames(stdout)).not.toMatch(ENGLISH)
})

test.each<[string[], RegExp]>([
  [['account', 'list', '--nada'], /^erro: opção desconhecida '--nada'/],
  [['acount'], /^erro: comando desconhecido 'acount'.*\n\(Seria account\?\)/],
  [['account', 'create'], /^erro: falta a opção '--name <nome>'\./],
  [['account', 'create', '--name'], /^erro: falta o valor da opção '--name <nome>'\./],
  [['queue', 'sent', '--channel', 'carta'], /^erro: falta o argumento 'id'\./],
  [
    ['queue', 'list', '--channel', 'letter'],
    /^erro: o valor 'letter' de '--channel <canal>' não serve\. Use um destes: email, sms, whatsapp, voz, carta\./,
  ],
  [['account', 'list', 'demais'], /^erro: argumentos demais: eram 0, vieram 1\./],
])('%j is refused in Portuguese', async (args, sentence) => {
  const { status, stderr } = await runCommand(args)
  expect([status, stderr]).toEqual([1, expect.stringMatching(sentence)])
  expect(withoutNames(stderr)).not.toMatch(ENGLISH)
})

test.each(['--version', '-V'])('%s prints the version of package.json', async flag => {
  const { version } = JSON.parse(readSource('package.json')) as { version: string }
  expect(await runCommand([flag])).toEqual({ status: 0, stdout: `${version}\n`, stderr: '' })
})
