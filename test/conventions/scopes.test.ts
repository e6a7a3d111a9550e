import { describe, expect, test } from 'vitest'
import { listFiles, readMigrations, readSource, withoutComments } from '../support/sources.js'

/** What belongs to an account belongs to one of its modes, and no query finds it by the account alone. */
describe('scopes', () => {
  /** What holds for both modes: where an account may send from, that it is held back, and its people at the console, who choose the mode on each screen. */
  const ofTheAccount = ['address_range', 'hold', 'operator', 'invitation']

  const tables = [...readMigrations().matchAll(/^create table (\w+) \(\n([\s\S]*?)^\)/gm)].map(([, name, columns]) => ({
    name: name!,
    columns: [...columns!.matchAll(/^ {2}(\w+) \w+/gm)].map(([, column]) => column!),
  }))
  const owned = tables.filter(({ columns }) => columns.includes('account_id'))

  test('a table of what accounts have names the mode too', () => {
    expect(owned.map(({ name }) => name)).toEqual(expect.arrayContaining(['notification', 'webhook_endpoint', 'suppression']))
    expect(owned.filter(({ columns }) => !columns.includes('mode')).map(({ name }) => name)).toEqual(ofTheAccount)
  })

  const sources = listFiles('src')
    .filter(path => path.endsWith('.ts'))
    .map(path => ({ path, text: withoutComments(readSource(path)) }))

  test('a statement that looks for the rows of an account looks for those of a mode', () => {
    // The console's people list the tokens of an account, each with its mode, and open a notification of either.
    const exempt = new RegExp(`\\bfrom token\\b|select id from notification where id = any|\\b(${ofTheAccount.join('|')})\\b`)
    // What a person asks for by law is about both modes.
    const scoped = sources.filter(({ path }) => !path.startsWith('src/store/person/'))
    const asked = scoped.flatMap(({ path, text }) =>
      [...text.matchAll(/`(?:[^`\\]|\\[\s\S])*`|'(?:[^'\\\n]|\\.)*'/g)]
        .map(([sql]) => ({ path, sql }))
        .filter(({ sql }) => /\baccount_id = (\$\d|any\()/.test(sql) && !exempt.test(sql)),
    )
    expect(asked.length).toBeGreaterThan(10)
    expect(asked.filter(({ sql }) => !/\bmode\b|\bIN_MODE\b/.test(sql))).toEqual([])
  })

  test('a function that works for a caller takes a scope, not an account', () => {
    const ofAccounts = ['src/store/accounts/accounts.ts', 'src/store/accounts/tokens.ts']
    const takers = sources
      .filter(({ path }) => /^src\/(store|engine|webhooks|http)\//.test(path) && !ofAccounts.includes(path))
      .filter(({ text }) => /[(,]\s*account(Id)?: string\s*[,)]/.test(text))
    expect(takers.map(({ path }) => path)).toEqual([])
  })
})
