import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { Child } from '../../src/app/process/child.js'

interface Entry {
  reason: string
  deaths: number
  retryMs: number
  ready: boolean
}

const TIMING = { firstMs: 1, longestMs: 8, settledMs: 60_000 }
const never = new AbortController().signal

/** A child that runs the given script, and what the log says of its ends. */
function childOf(script: string, timing = TIMING, args = (): readonly string[] => ['role']): { child: Child; entries: Entry[] } {
  const folder = mkdtempSync(join(tmpdir(), 'carteiro-child-'))
  const program = join(folder, 'program.mjs')
  writeFileSync(program, script)
  const entries: Entry[] = []
  const log = { error: (entry: Entry) => void entries.push(entry) }
  const child = new Child({ program, args, env: {}, log: log as never, timing })
  onTestFinished(async () => {
    await child.stop(never)
    rmSync(folder, { recursive: true, force: true })
  })
  return { child, entries }
}

test('a process that dies in a loop is started again after growing waits, and each time the log says why', async () => {
  const { child, entries } = childOf("process.send({ ready: 'here' }, () => process.exit(3))")
  expect(await child.start()).toBe('here')
  await expect.poll(() => entries.length, { timeout: 30_000 }).toBeGreaterThan(5)
  expect(entries.slice(0, 6).map(({ retryMs }) => retryMs)).toEqual([1, 2, 4, 8, 8, 8])
  expect(entries.slice(0, 6).map(({ deaths }) => deaths)).toEqual([1, 2, 3, 4, 5, 6])
  expect(entries[0]).toMatchObject({ child: 'role', reason: 'código 3', ready: true })
})

test('a process that says why it ends is quoted, also when it never became ready', async () => {
  const { child, entries } = childOf(`
    import { existsSync, writeFileSync } from 'node:fs'
    const again = import.meta.filename + '.again'
    if (existsSync(again)) process.send({ failed: 'A porta está em uso.' }, () => process.exit(1))
    else { writeFileSync(again, ''); process.send({ ready: null }, () => process.kill(process.pid, 'SIGKILL')) }`)
  await child.start()
  await expect.poll(() => entries.length, { timeout: 30_000 }).toBeGreaterThan(1)
  expect(entries.slice(0, 2)).toMatchObject([
    { reason: 'sinal SIGKILL', ready: true },
    { reason: 'A porta está em uso.', ready: false },
  ])
})

test('after a life that was long enough the waits begin anew', async () => {
  const { child, entries } = childOf('process.send({ ready: null }, () => process.exit(3))', { ...TIMING, settledMs: -1 })
  await child.start()
  await expect.poll(() => entries.length, { timeout: 30_000 }).toBeGreaterThan(2)
  expect(entries.slice(0, 3).map(({ retryMs }) => retryMs)).toEqual([1, 1, 1])
})

test('a restart gets the arguments of that moment', async () => {
  let port = 'chosen by the child'
  const script = 'process.send({ ready: null, failed: process.argv[2] }, () => process.exit(3))'
  const { child, entries } = childOf(script, TIMING, () => [port])
  await child.start()
  port = 'as before'
  await expect.poll(() => entries.some(({ reason }) => reason === 'as before'), { timeout: 30_000 }).toBe(true)
  expect(entries[0]!.reason).toBe('chosen by the child')
})

// Longer than any system lets the arguments be.
const tooLong = (): string[] => ['x'.repeat(10_000_000)]
const node = process.execPath
const withoutProgram = (): string[] => {
  process.execPath = '/nonexistent/node'
  queueMicrotask(() => {
    process.execPath = node
  })
  return ['role']
}

test.each([
  ['throws', tooLong, /E2BIG/],
  ['reports by an event alone', withoutProgram, /ENOENT/],
])('a restart for which the machine has no process, as the system %s, is tried again', async (_, failing, reason) => {
  const script = 'process.send({ ready: null }, () => process.exit(3))'
  let starts = 0
  const { child, entries } = childOf(script, TIMING, () => (starts++ === 1 ? failing() : ['role']))
  // The name of a child is asked for with its arguments, so the second call is not always the second start.
  Object.defineProperty(child, 'name', { value: 'role' })
  await child.start()
  await expect.poll(() => entries.length, { timeout: 30_000 }).toBeGreaterThan(2)
  expect(entries[1]!.reason).toMatch(reason)
  expect(entries[2]!.reason).toBe('código 3')
})

test('a child for which there was no process is stopped at once', async () => {
  const { child } = childOf('', TIMING, withoutProgram)
  await expect(child.start()).rejects.toThrow(/ENOENT/)
  await child.stop(never)
})

test('a first start that fails is an error in the process’s own words', async () => {
  const { child } = childOf("process.send({ failed: 'Falta a chave.' }, () => process.exit(1))")
  await expect(child.start()).rejects.toThrow('O processo "role" não iniciou: Falta a chave.')
})

test('a child that finishes its work is waited for, and a hurried one is killed', async () => {
  const { child } = childOf("process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); process.send({ ready: null })")
  await child.start()
  const hurried = new AbortController()
  const stopped = child.stop(hurried.signal)
  expect(await Promise.race([stopped.then(() => 'ended'), new Promise(resolve => setImmediate(resolve, 'waiting'))])).toBe(
    'waiting',
  )
  hurried.abort()
  await stopped
})
