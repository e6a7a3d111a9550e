import { Counter, collectDefaultMetrics, Gauge, type Registry } from 'prom-client'
import type { Accept } from '../../engine/accept/accept.js'
import type { Pool } from '../../store/postgres.js'
import { addGauge } from './gauge.js'

export interface ProcessMetricsOptions {
  pool: Pool
  groups: Accept['groups']
  version: string
  /** The disk of the data folder: free bytes (null: no such folder), and the limit below which nothing is accepted. */
  disk: { readFree(): Promise<number | null>; minFreeBytes: number }
}

/** The metrics of this process: its runtime, the groups that it accepts, its disk and its database connections. */
export function addProcessMetrics(registry: Registry, { pool, groups, version, disk }: ProcessMetricsOptions): void {
  collectDefaultMetrics({ register: registry })
  addGauge(registry, 'accept_waiting', 'Accepted requests that wait for the next group.', () => groups.waiting)
  addCounter(registry, 'accept_groups_total', 'Groups committed.', () => groups.groups)
  addCounter(registry, 'accepted_total', 'Notifications committed.', () => groups.items)
  new Gauge({
    name: 'carteiro_build_info',
    help: 'Always 1: its labels tell what runs.',
    labelNames: ['version', 'node'],
    registers: [registry],
  }).set({ version, node: process.version }, 1)
  addGauge(registry, 'disk_free_bytes', 'Free space where the data folder is.', () => disk.readFree().catch(() => null))
  addGauge(
    registry,
    'disk_min_free_bytes',
    'With less free space nothing is accepted; 0: the disk is not watched.',
    () => disk.minFreeBytes,
  )
  addGauge(registry, 'database_connections', 'Open database connections.', () => pool.totalCount)
  addGauge(registry, 'database_waiting', 'Queries that wait for a connection.', () => pool.waitingCount)
}

/** A counter of a total that another part keeps. */
function addCounter(registry: Registry, name: string, help: string, read: () => number): void {
  new Counter({
    name: `carteiro_${name}`,
    help,
    registers: [registry],
    collect() {
      this.reset()
      this.inc(read())
    },
  })
}
