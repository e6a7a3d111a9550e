import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const MODULE = new URL('../../src/runtime/parent.js', import.meta.url).href

/** A child that listens for the loss of its parent when it is told, or only once it has lost it. */
async function childThatListens(when: 'before' | 'after'): Promise<ReturnType<typeof fork>> {
  const folder = mkdtempSync(join(tmpdir(), 'carteiro-parent-'))
  const program = join(folder, 'program.mjs')
  const listen = 'whenParentIsGone(() => { process.exitCode = 7; clearInterval(alive) })'
  writeFileSync(
    program,
    `import { whenParentIsGone } from ${JSON.stringify(MODULE)}
     const alive = setInterval(() => {}, 1000)
     ${when === 'before' ? listen : `const look = setInterval(() => { if (!process.connected) { clearInterval(look); ${listen} } }, 5)`}
     process.send('started')`,
  )
  const child = fork(program, [], { stdio: 'ignore' })
  onTestFinished(() => {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })
  await once(child, 'message')
  return child
}

test.each(['before', 'after'] as const)('a process that listens %s its parent is gone is told of it', async when => {
  const child = await childThatListens(when)
  const ended = once(child, 'exit')
  child.disconnect()
  expect(await ended).toEqual([7, null])
})
