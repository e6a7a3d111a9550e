import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { Cluster } from '../drills/cluster.js'
import { type DrillChannel, type DrillKind, drillOn, LEASE_MS } from '../drills/drill.js'

/** One cluster for all: each of these drills breaks it once or twice. `npm run test:long` breaks it more often. */
const cluster = new Cluster()
beforeAll(() => cluster.start({ apis: 1, workers: 2, leaseMs: LEASE_MS }))
afterAll(() => cluster.stop())

test.each<[DrillKind, DrillChannel, number, number]>([
  ['kill', 'email', 1, 0],
  ['points', 'email', 5, 0],
  ['database', 'email', 1, 0],
  ['reset', 'email', 1, 0],
  ['outage', 'email', 1, 30],
  ['kill', 'sms', 1, 0],
  ['kill', 'whatsapp', 1, 0],
])(
  'drill %s of %s, %d times, %d queued: nothing lost, nothing doubled beyond what the carrier’s class allows',
  async (kind, channel, count, queued) => {
    const { verdict, mostDoubles } = await drillOn(cluster, { kind, channel, count, seed: inject('seed'), clients: 1, queued })
    expect(verdict).toMatchObject({ lost: 0, strangers: 0, unfinished: 0, failed: 0, faults: [] })
    expect(verdict.answered).toBeGreaterThan(0)
    if (kind === 'reset') expect(mostDoubles).toBe(verdict.unanswered)
    expect(verdict.doubles).toBeLessThanOrEqual(mostDoubles)
  },
)
