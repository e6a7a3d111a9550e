import { randomUUID } from 'node:crypto'
import type { Lane } from '../../engine/deliver/lane.js'
import { deleteStaleHealth, type LaneHealth, reportHealth } from '../../store/carrier/health.js'
import { addTotals, deleteSilentTotals } from '../../store/carrier/totals.js'
import type { Pool } from '../../store/postgres.js'
import { deleteStaleWorkers, deleteWorker, reportWorker } from '../../store/processes.js'
import { readVersion } from '../version.js'

/** What a worker tells the installation of itself and its carriers: a worker listens nowhere, and the api's metrics show it. */
export function workerReports(pool: Pool, lanes: readonly Lane<unknown>[]): { report(): Promise<void>; end(): Promise<void> } {
  const id = randomUUID()
  const version = readVersion()

  async function reportCalls(): Promise<void> {
    const taken = lanes.flatMap(lane => {
      const counts = lane.meter.take()
      return counts === null ? [] : [{ lane, counts }]
    })
    if (taken.length === 0) return
    try {
      const totals = taken.map(({ lane: { channel, mode, identity }, counts }) => ({
        channel,
        mode,
        carrier: identity,
        ...counts,
      }))
      await addTotals(pool, totals)
    } catch (error) {
      for (const { lane, counts } of taken) lane.meter.giveBack(counts)
      throw error
    }
  }

  return {
    async report() {
      await reportHealth(pool, id, lanes.map(toHealth))
      const { user, system } = process.cpuUsage()
      const inFlight = lanes.reduce((sum, lane) => sum + lane.leases.length, 0)
      const memoryBytes = process.memoryUsage.rss()
      await reportWorker(pool, { id, version, memoryBytes, cpuSeconds: (user + system) / 1e6, inFlight })
      await reportCalls()
    },
    async end() {
      await reportCalls()
      await deleteWorker(pool, id)
    },
  }
}

export async function deleteSilentReports(pool: Pool): Promise<void> {
  await deleteStaleHealth(pool)
  await deleteStaleWorkers(pool)
  await deleteSilentTotals(pool)
}

const toHealth = ({ channel, mode, identity, health, counts, rate }: Lane<unknown>): LaneHealth => ({
  channel,
  mode,
  carrier: identity,
  state: health,
  sent: counts.sent,
  failed: counts.failed,
  rate,
})
