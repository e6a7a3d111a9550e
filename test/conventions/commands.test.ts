import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { readSource } from '../support/sources.js'

/** The commands of package.json that no other test starts. */
test('npm run bench names every measurement that docs/desempenho.md tells of', () => {
  const help = execFileSync(process.execPath, ['dist/bench/main.js', '--help'], { encoding: 'utf8' })
  const told = [...readSource('docs/desempenho.md').matchAll(/npm run bench (\w+)/g)].map(([, name]) => name!)
  expect(told).not.toEqual([])
  for (const name of told) expect(help).toMatch(new RegExp(`^ {2}${name} `, 'm'))
})
