import { expect, test } from 'vitest'
import { runExchangeDrill } from '../drills/exchange.js'

test('drill exchange, 24 letters of unknown outcome: the new print service answers for none of them', async () => {
  const verdict = await runExchangeDrill({ letters: 24, workers: 1 })
  expect(verdict).toMatchObject({
    lost: 0,
    unknown: { before: 24, after: 24 },
    foreign: { asked: 0, given: 0, believed: 0 },
    doubles: 0,
    unfinished: 0,
    uncertain: 0,
    failed: 0,
    faults: [],
    clean: true,
  })
})
