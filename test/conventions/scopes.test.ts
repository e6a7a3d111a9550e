import { describe, expect, test } from 'vitest'
import { listFiles, readSource, withoutComments } from '../support/sources.js'

/** What belongs to an account belongs to one of its modes, and no query finds it by the account alone. */
describe('scopes', () => {
  /** The account's configuration, which holds for both modes: where it may send from, and its logo. */
  const ofTheAccount = ['address_range', 'logo']

  const tables = [...readSource('migrations/0001_schema.sql').matchAll(/^create table (\w+) \(\n([\s\S]*?)^\)/gm)].map(
    ([, name, columns]) => ({ name: name!, columns: [...columns!.matchAll(/^ {2}(\w+) \w+/gm)].map(([, column]) => column!) }),
  )
  const owned = tables.filter(({ columns }) => columns.includes('account_id'))

  test('a table of what accounts have names the mode too', () => {
    expect(owned.map(({ name }) => name)).toEqual(expect.arrayContaining(['notification', 'webhook_endpoint', 'suppression']))
    expect(owned.filter(({ columns }) => !columns.includes('mode')).map(({ name }) => name)).toEqual(ofTheAccount)
  })

  const sources = listFiles('src')
    .filter(path => path.endsWith('.ts'))
    .map(path => ({ path, text: withoutComments(readSource(path)) }))

  test('a statement that looks for the rows of an account looks for those of a mode', () => {
    // An operator lists the tokens of an account, each with its mode.
    const exempt = new RegExp(`\\bfrom token\\b|\\b(${ofTheAccount.join('|')})\\b`)
    const asked = sources.flatMap(({ path, text }) =>
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
