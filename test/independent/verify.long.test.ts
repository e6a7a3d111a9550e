import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, inject, onTestFinished, test } from 'vitest'
import { needPrograms } from '../support/programs/needed-programs.js'
import { type Verdicts, writeDamage } from './damage.js'

needPrograms('python3', 'openssl')

/** verify.py was written from docs/evidence.md alone. Where the two verifiers differ, one of them or the document is wrong. */
test('200 good and 2,000 damaged bundles: an independent verifier finds the same as ours, at the same step', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'carteiro-bundles-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const ours = await writeDamage({ folder, good: 200, damaged: 2_000, seed: inject('seed') })
  const names = Object.keys(ours)
  const theirs = await verifyAll(folder, names)
  const differences = names.filter(name => theirs[name] !== told(ours[name]!)).map(name => [name, ours[name], theirs[name]])
  expect(differences).toEqual([])
  expect(names.filter(name => name.startsWith('good-')).map(name => theirs[name])).toEqual(Array(200).fill('holds'))
  expect(Object.values(theirs).filter(verdict => verdict === 'holds').length).toBeLessThan(300)
})

const told = ({ code, step }: Verdicts[string]): string =>
  code === 0 ? 'holds' : code === 2 ? 'unreadable' : `broken at ${step}`

async function verifyAll(folder: string, names: readonly string[]): Promise<Record<string, string>> {
  const command = ['test/independent/verify.py', ...names.map(name => join(folder, name)), '--json']
  const { stdout } = await promisify(execFile)('python3', command, { maxBuffer: 2 ** 26 }).catch(
    // Its code is that of the worst file.
    (error: { code: unknown; stdout: string }) => {
      if (error.code !== 1 && error.code !== 2) throw error
      return error
    },
  )
  const lines = stdout.trim().split('\n')
  return Object.fromEntries(
    lines.map(line => {
      const { file, ok, step } = JSON.parse(line) as { file: string; ok: boolean; step: string | null }
      return [file.slice(folder.length + 1), ok ? 'holds' : step === null ? 'unreadable' : `broken at ${step}`]
    }),
  )
}
