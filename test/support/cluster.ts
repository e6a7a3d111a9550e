import { afterAll, beforeAll } from 'vitest'
import { Cluster } from '../drills/cluster.js'
import { LEASE_MS } from '../drills/drill.js'

/** One cluster for the tests of a file or a describe: it starts before the first and stops after the last. */
export function clusterForTests(): () => Cluster {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = new Cluster()
    await cluster.start({ apis: 1, workers: 2, leaseMs: LEASE_MS })
  })
  afterAll(() => cluster.stop())
  return () => cluster
}
