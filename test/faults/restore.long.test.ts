import { expect, test } from 'vitest'
import { runRestoreDrill } from '../drills/restore.js'

test('drill restore, ten sends of five channels: an old copy sends nothing again without a person’s word, and then exactly what was said', async () => {
  const verdict = await runRestoreDrill({ sends: 10 })
  const copy = { held: 50, silent: 0, lives: true, released: { one: 4, channel: 9, all: 27 }, wrong: 0, faults: 0 }
  expect(verdict).toMatchObject({ sent: 50, copies: [copy, copy], clean: true })
})
