import { expect, test } from 'vitest'
import { importsOf, listFiles, readSource, withoutComments } from '../support/sources.js'

/** It runs where there is no Node: its own files, and what every runtime of the web has. Its tsconfig knows no other globals. */
test('the client imports its own files alone', () => {
  const files = listFiles('client').filter(path => path.endsWith('.ts'))
  expect(files.length).toBeGreaterThan(3)
  for (const path of files) {
    for (const { name } of importsOf(path)) expect(name, path).toMatch(/^\.\/[\w-]+\.js$/)
    expect(withoutComments(readSource(path)), path).not.toMatch(/\b(process|Buffer|require|global)\b/)
  }
})
