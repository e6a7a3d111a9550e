import { expect, test } from 'vitest'
import { readMigrations, readSource } from '../support/sources.js'

test('docs/crescimento.md says of every table what bounds it, once, and of no other', () => {
  const tables = [...readMigrations().matchAll(/^create (?:unlogged )?table (\w+)/gm)].map(([, name]) => name!)
  expect(tables.length).toBeGreaterThan(50)
  const section = readSource('docs/crescimento.md').split('## As tabelas')[1]!.split('## Medido')[0]!
  const rows = [...section.matchAll(/^\| (`[^|]+) \| ([^|]+) \|$/gm)].map(([, names, bound]) => ({
    names: names!,
    bound: bound!,
  }))
  const told = rows.flatMap(({ names }) => [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name!))
  expect(told.sort()).toEqual(tables.sort())
  for (const { names, bound } of rows) expect(bound.trim().length, names).toBeGreaterThan(2)
})
