import { expect, test } from 'vitest'
import { runSoakDrill } from '../drills/soak.js'
import { isClean } from '../drills/verdict.js'

/** `npm run drill -- soak` for an hour. In half a minute processes are not warm yet: memory and growth are only seen to be measured. */
test('under a steady rate on all channels everything is delivered once, and memory and tables are measured', async () => {
  const verdict = await runSoakDrill({ seconds: 30, perSecond: 8 })
  const told = JSON.stringify(verdict)
  expect(Object.keys(verdict.statuses), told).toEqual(['200'])
  expect(Object.keys(verdict.channels).sort()).toEqual(['email', 'letter', 'sms', 'voice', 'whatsapp'])
  for (const channel of Object.values(verdict.channels)) expect(isClean(channel, 0), told).toBe(true)
  const [first, , last] = verdict.thirds
  expect(last.stored, told).toBeGreaterThan(first.stored)
  for (const table of ['notification', 'delivery', 'event']) expect(last.tables[table], told).toBeGreaterThan(0)
  for (const process of ['api 1', 'worker 1', 'worker 2']) expect(verdict.memory[process], told).toBeGreaterThan(0)
})
