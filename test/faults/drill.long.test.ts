import { describe, expect, inject, test } from 'vitest'
import { runTroubleDrill } from '../drills/database-trouble.js'
import { type DrillChannel, type DrillKind, drillOn, runDrill } from '../drills/drill.js'
import { runWebhookDrill } from '../drills/webhooks.js'
import { clusterForTests } from '../support/cluster.js'

/** `npm run drill` breaks things as often as one likes. */
describe('one after the other on one cluster', () => {
  const cluster = clusterForTests()

  test.each<[DrillKind, DrillChannel, number, number]>([
    ['kill', 'email', 4, 0],
    ['points', 'email', 5, 0],
    ['stop', 'email', 1, 0],
    ['freeze', 'email', 1, 0],
    ['database', 'email', 1, 0],
    ['reset', 'email', 1, 0],
    ['outage', 'email', 1, 150],
  ])(
    'drill %s of %s, %d times, %d queued: nothing lost, nothing doubled beyond what the carrier’s class allows',
    async (kind, channel, count, queued) => {
      const options = { kind, channel, count, seed: inject('seed'), clients: 2, queued, batch: 100, seconds: 30 }
      const { verdict, mostDoubles } = await drillOn(cluster(), options)
      expect(verdict).toMatchObject({ lost: 0, strangers: 0, unfinished: 0, failed: 0, faults: [] })
      expect(verdict.answered).toBeGreaterThan(0)
      // A carrier that keeps silent explains what it kept silent about, and no more; its reports settle most of that in time.
      if (kind === 'reset') expect(verdict.unanswered).toBeGreaterThan(0)
      if (kind === 'reset') expect(mostDoubles).toBe(verdict.unanswered)
      expect(verdict.doubles).toBeLessThanOrEqual(mostDoubles)
    },
  )
})

test('drill webhooks: receivers in every trouble, api and workers killed, nothing missing and the healthy one in order', async () => {
  const few = { count: 5, workers: 2, clients: 2, pauseMs: 100 }
  const verdict = await runWebhookDrill({ ...few, seed: inject('seed'), downMs: 4_000, queued: 60 })
  expect(verdict).toMatchObject({ lost: 0, missing: { healthy: 0, troubled: 0 }, strangers: 0, disordered: 0, dead: 0 })
  expect(verdict.events).toBeGreaterThan(100)
  expect(Math.min(verdict.kills.apis, verdict.kills.workers)).toBeGreaterThan(1)
  expect(verdict.clean).toBe(true)
})

test('drill database-trouble: read-only, locked, standby lost; the readiness and every answer are true', async () => {
  const verdict = await runTroubleDrill({ count: 1, clients: 4 })
  expect(verdict).toMatchObject({ lies: [], stored: { lost: 0, strangers: 0, unfinished: 0, failed: 0, faults: [] } })
  expect(verdict.answers['503']).toBeGreaterThan(0)
  expect(verdict.clean).toBe(true)
})

// It mounts a small file system.
test.runIf(process.getuid?.() === 0)(
  'drill disk: the disk is full and the database killed; it is started again until there is room, and nothing is lost',
  async () => {
    const size = { apis: 1, workers: 2, clients: 2, count: 1, queued: 0 }
    const report = await runDrill({ kind: 'disk', channel: 'email', seed: inject('seed'), ...size, fullMs: 15_000 })
    expect(report.verdict).toMatchObject({ lost: 0, strangers: 0, unfinished: 0, failed: 0, faults: [] })
    expect(report.disk!.attempts).toBeGreaterThan(1)
    expect(report.clean).toBe(true)
  },
)
