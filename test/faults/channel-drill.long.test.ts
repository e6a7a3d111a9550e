import { expect, inject, test } from 'vitest'
import { type DrillChannel, type DrillKind, runDrill } from '../drills/drill.js'

/** One short drill for each of the other channels, of the kind that hurts its carriers most. */
test.each<[DrillKind, DrillChannel, number]>([
  ['kill', 'sms', 3],
  ['kill', 'whatsapp', 3],
  ['points', 'voice', 5],
  ['points', 'letter', 5],
])(
  'drill %s of %s, %d times: nothing lost, nothing doubled beyond what the carrier’s class allows',
  async (kind, channel, count) => {
    const { verdict, mostDoubles } = await runDrill({
      kind,
      channel,
      count,
      seed: inject('seed'),
      apis: 1,
      workers: 2,
      clients: 1,
      queued: 0,
    })
    expect(verdict).toMatchObject({ lost: 0, strangers: 0, unfinished: 0, failed: 0, faults: [] })
    expect(verdict.answered).toBeGreaterThan(0)
    expect(verdict.doubles).toBeLessThanOrEqual(mostDoubles)
  },
)
