import { expect, test } from 'vitest'
import { listFiles, readSource } from '../support/sources.js'
import { findCommandProblem } from '../support/told-commands.js'

/** The commands that documents, settings and messages tell people to run, as a shell would split them. */
const told = listFiles()
  .filter(path => (path.endsWith('.md') && !path.startsWith('docs/adr/')) || path === '.env.example')
  .flatMap(path =>
    [...readSource(path).matchAll(/(?:npx carteiro|`carteiro|"carteiro|\$\(npx carteiro) ((?:"[^"\n]*"|[^`"#)\n])+)/g)].map(
      ([, line]) => ({
        path,
        words: [...line!.trim().matchAll(/(?:"[^"]*"|[^\s"])+/g)].map(([word]) => word!.replaceAll('"', '')),
      }),
    ),
  )
  .filter(({ words }) => !words[0]!.includes('|'))

test('documents tell of many commands', () => {
  expect(told.length).toBeGreaterThan(50)
})

test('every command in the documents is one that the program takes, with these options and values', async () => {
  const problems: string[] = []
  for (const { path, words } of told) {
    const id = '019a0000-0000-7000-8000-000000000001'
    const args = words.map(word => (/^(ID|JTI)$/.test(word) ? id : word === '$TOKEN' ? 'x' : word))
    // In a sentence a command is named without what it needs.
    const problem = await findCommandProblem(args, words.length > 2)
    if (problem !== null) problems.push(`${path}: carteiro ${words.join(' ')}: ${problem}`)
  }
  expect(problems).toEqual([])
})
