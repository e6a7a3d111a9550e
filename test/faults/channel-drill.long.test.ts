import { expect, inject, test } from 'vitest'
import { type DrillChannel, type DrillKind, drillOn } from '../drills/drill.js'
import { clusterForTests } from '../support/cluster.js'

const cluster = clusterForTests()

/** One short drill for each of the other channels, of the kind that hurts its carriers most. */
test.each<[DrillKind, DrillChannel, number, number]>([
  ['kill', 'sms', 2, 40],
  ['kill', 'whatsapp', 2, 40],
  ['points', 'voice', 5, 20],
  ['points', 'letter', 5, 20],
])(
  'drill %s of %s, %d times, %d sends in between: nothing lost, nothing doubled beyond what the carrier’s class allows',
  async (kind, channel, count, batch) => {
    const options = { kind, channel, count, seed: inject('seed'), clients: 1, queued: 0, batch }
    const { verdict, mostDoubles } = await drillOn(cluster(), options)
    expect(verdict).toMatchObject({ lost: 0, strangers: 0, unfinished: 0, failed: 0, faults: [] })
    expect(verdict.answered).toBeGreaterThan(0)
    expect(verdict.doubles).toBeLessThanOrEqual(mostDoubles)
  },
)
