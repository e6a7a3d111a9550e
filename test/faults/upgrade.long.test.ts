import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { Cluster } from '../drills/cluster.js'
import { LEASE_MS } from '../drills/drill.js'
import { describeUpgradeVerdict, runUpgradeDrill } from '../drills/upgrade.js'

/** `npm run drill -- upgrade` with more clients and sends. */
test('a newer version migrates beside a dump and takes over node by node: every answered send is delivered once, and no phase stands still', async () => {
  const verdict = await runUpgradeDrill({ clients: 1, count: 5 })
  const told = describeUpgradeVerdict(verdict)
  for (const channel of ['email', 'sms', 'whatsapp', 'voice', 'letter'])
    expect(verdict.channels[channel], told).toMatchObject({ lost: 0, strangers: 0, unfinished: 0, failed: 0, faults: [] })
  for (const channel of ['sms', 'whatsapp', 'voice', 'letter']) expect(verdict.channels[channel]!.doubles, told).toBe(0)
  for (const phase of verdict.phases) expect(phase.accepted, told).toBeGreaterThan(0)
  expect(verdict.faults, told).toEqual([])
  expect(verdict.statuses['500'], told).toBeUndefined()
  expect(verdict.clean, told).toBe(true)
})

test('a node that runs when a newer version makes a schema that it cannot run with ends by itself, and does not start again', async () => {
  const cluster = new Cluster()
  onTestFinished(() => cluster.stop())
  await cluster.start({ apis: 1, workers: 0, leaseMs: LEASE_MS })
  const [api] = cluster.apis
  const owner = new pg.Client({ connectionString: cluster.ownerUrl })
  await owner.connect()
  onTestFinished(() => owner.end())
  const record = (compatibleSince: number) =>
    owner.query(
      `insert into migration (number, name, sha256, compatible_since) values (9999, '9999_newer.sql', 'x', $1)
       on conflict (number) do update set compatible_since = excluded.compatible_since`,
      [compatibleSince],
    )
  await record(1)
  await api!.stop()
  await api!.start()
  expect((await fetch(`${api!.url}/readyz`)).status).toBe(200)
  await record(9_999)
  await expect.poll(() => api!.alive, { timeout: 60_000 }).toBe(false)
  await expect(api!.start()).rejects.toThrow('did not start')
})
