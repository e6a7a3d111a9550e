import { expect, onTestFinished, test } from 'vitest'
import { runChores } from '../../src/runtime/chores.js'

test('any number of chores rest until they are told to stop, without a warning', async () => {
  const warnings: Error[] = []
  const onWarning = (warning: Error): void => void warnings.push(warning)
  process.on('warning', onWarning)
  onTestFinished(() => void process.off('warning', onWarning))
  const stop = new AbortController()
  let ran = 0
  const chores = Array.from({ length: 20 }, (_, index) => ({ name: `chore ${index}`, everyMs: 60_000, run: async () => ran++ }))
  const running = runChores(chores, stop.signal, () => {})
  await expect.poll(() => ran).toBe(20)
  // Warnings come in a turn of their own.
  await new Promise(resolve => setImmediate(resolve))
  stop.abort()
  await running
  expect(warnings).toEqual([])
})
