import { Counter, Gauge, type Metric, type Registry } from 'prom-client'
import { CALL_SECONDS } from '../../engine/deliver/call-meter.js'
import { readStates } from '../../store/carrier/health.js'
import { type CarrierTotal, callEnds, readTotals } from '../../store/carrier/totals.js'
import type { Pool } from '../../store/postgres.js'
import { readStarts, readWorkers } from '../../store/processes.js'
import { cacheRead } from './reads.js'

const LABELS = ['channel', 'mode', 'carrier'] as const

/** Adds the metrics of carriers and workers, as the workers report them to the database: the same on every node. */
export function addCarrierMetrics(registry: Registry, pool: Pool, version: string): void {
  const registers = [registry]
  const totals = cacheRead(() => readTotals(pool))
  const states = cacheRead(() => readStates(pool))
  const workers = cacheRead(() => readWorkers(pool))
  const starts = cacheRead(() => readStarts(pool))

  new Counter({
    name: 'carteiro_carrier_calls_total',
    help: 'Calls to a carrier by their end: sent (it took the message), temporary, throttled, permanent (it refused), uncertain (no answer).',
    labelNames: [...LABELS, 'result'],
    registers,
    async collect() {
      this.reset()
      for (const total of (await totals()) ?? [])
        for (const result of callEnds) this.inc({ ...labelsOf(total), result }, total[result])
    },
  })
  registry.registerMetric(callHistogram(totals))
  new Gauge({
    name: 'carteiro_carrier_workers',
    help: 'Workers by how they see a carrier: open, paused (by its circuit breaker, or because it asked for it), closed (not connected).',
    labelNames: [...LABELS, 'state'],
    registers,
    async collect() {
      this.reset()
      for (const seen of (await states()) ?? [])
        for (const state of ['open', 'paused', 'closed'])
          this.inc({ ...labelsOf(seen), state }, state === seen.state ? seen.workers : 0)
    },
  })
  new Gauge({
    name: 'carteiro_carrier_rate_limit',
    help: 'Messages a second that the operator allows a carrier (rate= in its URL).',
    labelNames: LABELS,
    registers,
    async collect() {
      this.reset()
      for (const seen of (await states()) ?? []) if (seen.rate !== null) this.set(labelsOf(seen), seen.rate)
    },
  })
  new Gauge({
    name: 'carteiro_workers',
    help: 'Workers that reported within the last 30 seconds, by version.',
    labelNames: ['version'],
    registers,
    async collect() {
      this.reset()
      const found = await workers()
      // That there is none must be a number too: an alarm cannot compare with nothing.
      if (found !== null) this.set({ version }, 0)
      for (const worker of found ?? []) this.inc({ version: worker.version })
    },
  })
  const addWorkerGauge = (name: string, help: string, member: 'memoryBytes' | 'inFlight') =>
    new Gauge({
      name: `carteiro_worker_${name}`,
      help,
      labelNames: ['worker'],
      registers,
      async collect() {
        this.reset()
        for (const worker of (await workers()) ?? []) this.set({ worker: worker.id.slice(0, 8) }, worker[member])
      },
    })
  addWorkerGauge('memory_bytes', 'Resident memory of a worker.', 'memoryBytes')
  addWorkerGauge('in_flight', 'Deliveries that a worker holds.', 'inFlight')
  new Counter({
    name: 'carteiro_worker_cpu_seconds_total',
    help: 'Processor time of a worker.',
    labelNames: ['worker'],
    registers,
    async collect() {
      this.reset()
      for (const worker of (await workers()) ?? []) this.inc({ worker: worker.id.slice(0, 8) }, worker.cpuSeconds)
    },
  })
  new Counter({
    name: 'carteiro_process_starts_total',
    help: 'Starts of processes of the installation, by role. One that rises by itself is a process that crashes.',
    labelNames: ['role'],
    registers,
    async collect() {
      this.reset()
      for (const { role, starts: count } of (await starts()) ?? []) this.inc({ role }, count)
    },
  })
}

const labelsOf = ({ channel, mode, carrier }: Pick<CarrierTotal, (typeof LABELS)[number]>) => ({ channel, mode, carrier })

/** Its counts come from the database; a Histogram of the library only counts itself. */
function callHistogram(totals: () => Promise<CarrierTotal[] | null>): Metric {
  const name = 'carteiro_carrier_call_seconds'
  const about = { name, help: 'How long calls to a carrier took.', type: 'histogram', aggregator: 'sum' }
  const valuesOf = (total: CarrierTotal) => {
    const labels = labelsOf(total)
    let below = 0
    const buckets = [...CALL_SECONDS, '+Inf'].map((le, place) => {
      below += total.durations[place] ?? 0
      return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: below }
    })
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels, value: total.seconds },
      { metricName: `${name}_count`, labels, value: below },
    ]
  }
  const get = async () => ({ ...about, values: ((await totals()) ?? []).flatMap(valuesOf) })
  return { ...about, get, reset: () => {} } as unknown as Metric
}
