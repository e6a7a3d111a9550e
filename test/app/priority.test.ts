import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const run = promisify(execFile)

test.runIf(process.platform === 'linux')('all threads of a worker yield to the answers, those of the engine too', async () => {
  const worker = new URL('../../src/app/worker/worker.js', import.meta.url)
  const program = `
    import { readdirSync } from 'node:fs'
    import { getPriority } from 'node:os'
    import { yieldToAnswers } from ${JSON.stringify(worker.href)}
    const priorities = () => readdirSync('/proc/self/task').map(Number).map(getPriority)
    const before = priorities()
    yieldToAnswers()
    console.log(JSON.stringify({ before, after: priorities() }))`
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program])
  const { before, after } = JSON.parse(stdout) as { before: number[]; after: number[] }
  expect(before.length).toBeGreaterThan(1)
  expect(after).toEqual(before.map(() => 5))
})
