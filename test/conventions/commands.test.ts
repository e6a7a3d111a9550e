import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readSource } from '../support/sources.js'

/** The commands of package.json that no other test starts. */
test('npm run bench names every measurement that docs/desempenho.md tells of', () => {
  const help = execFileSync(process.execPath, ['dist/bench/main.js', '--help'], { encoding: 'utf8' })
  const told = [...readSource('docs/desempenho.md').matchAll(/npm run bench (\w+)/g)].map(([, name]) => name!)
  expect(told).not.toEqual([])
  for (const name of told) expect(help).toMatch(new RegExp(`^ {2}${name} `, 'm'))
})

const { scripts } = JSON.parse(readSource('package.json')) as { scripts: Record<string, string> }

test('the first "npx carteiro" in a clone does not build the project again: npm prepares the package for it', () => {
  const prepare = (npm_command: string) =>
    spawnSync('/bin/sh', ['-c', scripts.prepare!], { env: { PATH: '/nowhere', npm_command } })
  expect(prepare('exec').status).toBe(0)
  // Where it builds, it asks for npm, which is not there.
  expect(prepare('install').status).toBe(127)
})

test('a package that lists its files has the guide among them', () => {
  const { files = ['dist/guide'] } = JSON.parse(readSource('package.json')) as { files?: string[] }
  expect(files).toContain('dist/guide')
})

test('a start builds what changed since the last build, and nothing else', () => {
  const folder = mkdtempSync(join(tmpdir(), 'start-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const name of ['src', 'client', 'console', 'simulator', 'docs', 'dist', 'bin']) mkdirSync(join(folder, name))
  for (const name of ['package.json', 'README.md', 'src/main.ts', 'src/other.ts']) writeFileSync(join(folder, name), '')
  writeFileSync(join(folder, 'bin/npm'), '#!/bin/sh\necho "$@"\n', { mode: 0o755 })
  const start = () => {
    const env = { PATH: `${join(folder, 'bin')}:/usr/bin:/bin` }
    return spawnSync('/bin/sh', ['-c', scripts.prestart!], { cwd: folder, env, encoding: 'utf8' }).stdout.trim()
  }
  expect(start()).toBe('run build')
  expect(scripts.build).toMatch(/ && touch dist\/\.built$/)
  writeFileSync(join(folder, 'dist/.built'), '')
  const built = Date.now() / 1000 + 60
  utimesSync(join(folder, 'dist/.built'), built, built)
  expect(start()).toBe('')
  utimesSync(join(folder, 'src/main.ts'), built + 60, built + 60)
  expect(start()).toBe('run build')
})
