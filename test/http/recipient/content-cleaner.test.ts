import { expect, test } from 'vitest'
import { createContentCleaner } from '../../../src/http/recipient/content-cleaner.js'
import { OutOfTime, ThreadDied } from '../../../src/runtime/thread-pool.js'

test.each([
  ['took too long', new OutOfTime('x')],
  ['died', new ThreadDied('x')],
])('a content at which the thread once %s is tried again after a while, not for each visitor and not never', async (_, fault) => {
  let clock = 0
  let asked = 0
  const thread = {
    ask: async (content: string): Promise<string> => (++asked === 1 ? Promise.reject(fault) : content),
    close: async () => {},
  }
  const { clean } = createContentCleaner({ thread, now: () => clock })
  expect([await clean('<p>Oi</p>'), await clean('<p>Oi</p>'), asked]).toEqual([null, null, 1])
  clock += 3_600_000
  expect([await clean('<p>Oi</p>'), asked]).toEqual(['<p>Oi</p>', 2])
  clock += 3_600_000
  expect([await clean('<p>Oi</p>'), asked]).toEqual(['<p>Oi</p>', 2])
})
