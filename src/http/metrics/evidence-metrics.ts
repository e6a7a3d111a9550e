import { Gauge, type Registry } from 'prom-client'
import { listTargets } from '../../store/evidence/checkpoint-targets.js'
import { readLogLag } from '../../store/evidence/log-head.js'
import { countUnaccounted } from '../../store/notification/unaccounted.js'
import type { Pool } from '../../store/postgres.js'
import { addGauge } from './gauge.js'
import { cacheRead, inBackground } from './reads.js'

/** The count reads two days of notifications. */
const RECOUNT_EVERY_MS = 15 * 60_000

export interface EvidenceMetricsOptions {
  pool: Pool
  /** When the certificate that signs this node's documents ends; null: it has signed none yet. */
  readSignatureEnd(): Promise<Date | null>
}

/**
 * The log of events, its checkpoints, and notifications that are not accounted for, which are the same on every node, and the certificate
 * of this node.
 */
export function addEvidenceMetrics(registry: Registry, { pool, readSignatureEnd }: EvidenceMetricsOptions): void {
  addGauge(
    registry,
    'signature_valid_until_seconds',
    'When the certificate that signs the documents ends, in seconds since 1970.',
    async () => {
      const end = await readSignatureEnd()
      return end === null ? null : end.getTime() / 1_000
    },
  )
  const log = cacheRead(() => readLogLag(pool))
  addGauge(registry, 'log_size', 'Events in the log.', async () => (await log())?.size)
  addGauge(
    registry,
    'log_lag_seconds',
    'Since when the oldest event that is not in the log has waited.',
    async () => (await log())?.lagSeconds,
  )
  addGauge(registry, 'checkpoint_age_seconds', 'Age of the newest checkpoint.', async () => (await log())?.checkpointSeconds)
  const targets = cacheRead(() => listTargets(pool))
  new Gauge({
    name: 'carteiro_checkpoint_failures',
    help: 'Failures in a row of bringing checkpoints to a target: an archive, a witness, a time-stamp authority.',
    labelNames: ['target'],
    registers: [registry],
    async collect() {
      this.reset()
      for (const { target, failures } of (await targets()) ?? []) this.set({ target }, failures)
    },
  })
  addGauge(
    registry,
    'notifications_unaccounted',
    'Alarm: notifications of the last two days that lack a delivery, or have one that is over without a word of how.',
    inBackground(RECOUNT_EVERY_MS, () => countUnaccounted(pool)),
  )
}
