import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const run = promisify(execFile)
const worker = new URL('../../src/app/worker/worker.js', import.meta.url)
const isLinux = process.platform === 'linux'

test.runIf(isLinux)('all threads of a worker yield to the answers, those of the engine too', async () => {
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

/** Whether the system has groups of sessions, and uses them. */
const setting = '/proc/sys/kernel/sched_autogroup_enabled'
const groupsSessions = isLinux && existsSync(setting) && readFileSync(setting, 'latin1').trim() === '1'

test.runIf(groupsSessions)(
  'a worker with a session of its own yields with it, since Linux compares sessions first; it leaves that of a shell as it is',
  async () => {
    const program = `
      import { readFileSync } from 'node:fs'
      import { yieldToAnswers } from ${JSON.stringify(worker.href)}
      yieldToAnswers()
      console.log(readFileSync('/proc/self/autogroup', 'latin1').trim())`
    const args = ['--input-type=module', '--eval', program]
    const own = await outputOf(spawn(process.execPath, args, { detached: true, stdio: ['ignore', 'pipe', 'inherit'] }))
    const shared = await outputOf(spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] }))
    expect(own).toMatch(/ nice 5$/)
    expect(shared).toBe(readFileSync('/proc/self/autogroup', 'latin1').trim())
  },
)

const outputOf = async (child: ChildProcessByStdio<null, Readable, null>): Promise<string> => (await text(child.stdout)).trim()
