import { afterEach, expect } from 'vitest'
import { laneQueue } from '../../../src/app/worker/lanes.js'
import { packContent } from '../../../src/channels/pack-content.js'
import { type Carrier, type Provider, type Receipt, SendError } from '../../../src/channels/provider.js'
import type { Channel } from '../../../src/domain/channel.js'
import type { Recorder } from '../../../src/domain/delivery/change.js'
import type { SentContent } from '../../../src/domain/delivery/sent-content.js'
import type { Queue } from '../../../src/domain/queue.js'
import { Lane } from '../../../src/engine/deliver/lane.js'
import type { LaneOptions } from '../../../src/engine/deliver/lane-options.js'
import { startLanes } from '../../../src/engine/deliver/worker.js'
import { createRecorder } from '../../../src/engine/record/recorder.js'
import type { EngineTiming } from '../../../src/engine/timing.js'
import { Wakes } from '../../../src/runtime/wake.js'
import type { Claim } from '../../../src/store/delivery/claims.js'
import type { Pool } from '../../../src/store/postgres.js'
import { brokenChains } from '../evidence/chain.js'

/** A carrier's side that a test scripts; the engine before it is the real one. */
export interface Parcel {
  notification: string
  reference: string
  attempt: number
}

export type Script = (parcel: Parcel, signal: AbortSignal) => Promise<Partial<Receipt>> | Partial<Receipt>

export class ScriptedCarrier implements Carrier<Parcel> {
  readonly got: Parcel[] = []
  find?: NonNullable<Carrier<Parcel>['find']>
  lacks?: NonNullable<Carrier<Parcel>['lacks']>
  repeatAfterMs?: number
  readonly #script: Script

  constructor(script: Script = () => ({})) {
    this.#script = script
  }

  /** What is kept of a parcel; by default nothing. */
  contentOf = (_: Parcel): SentContent | null => null

  async send(parcel: Parcel, signal: AbortSignal): Promise<Receipt> {
    this.got.push(parcel)
    return { references: [], answer: '250 OK', delivered: false, ...(await this.#script(parcel, signal)) }
  }

  async close(): Promise<void> {}
}

export const refused = (kind: SendError['kind'], retryAfterMs?: number): SendError =>
  new SendError(kind, `Motivo: ${kind}`, { answer: `answer ${kind}`, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) })

const provider = (
  name: string,
  channel: Channel,
  whenUnknown: Provider<Parcel>['whenUnknown'],
  timeoutMs: number,
): Provider<Parcel> => ({
  name,
  channel,
  whenUnknown,
  timeoutMs,
  open: () => Promise.reject(new Error('not used')),
})

export interface TestLane {
  name?: string
  channel?: Channel
  whenUnknown?: Provider<Parcel>['whenUnknown']
  timeoutMs?: number
  carrier: Carrier<Parcel>
  options?: Partial<LaneOptions<Parcel>>
}

export interface TestWorker {
  lanes: Lane<unknown>[]
  recorder: Recorder
  wakes: Wakes<Queue>
  stop(): Promise<void>
}

const prepareParcel = async (claim: Claim): Promise<Parcel> => ({
  notification: claim.notification,
  reference: claim.reference,
  attempt: claim.attempt,
})

/** Looks at the queue that find nothing cost a query; between them a test would wait. */
export const QUICK_TIMING = { pollMs: 50, reapMs: 100, closedMs: 20, busyMs: 100 } as const

/** A worker in this process, with lanes in order of preference. */
export function startTestWorker(
  pool: Pool,
  lanes: readonly TestLane[],
  leaseMs = 30_000,
  timing: Partial<EngineTiming> = {},
  leases: Pool = pool,
): TestWorker {
  const wakes = new Wakes<Queue>()
  const recorder = createRecorder(pool, Date.now, wakes)
  const group = lanes.map(
    ({ name = 'scripted', channel = 'email', whenUnknown = 'safe', timeoutMs = 2_000, carrier, options = {} }, rank) =>
      new Lane<Parcel>({
        provider: provider(name, channel, whenUnknown, timeoutMs),
        carrier,
        identity: name,
        mode: 'live',
        rank,
        carriers: lanes.length,
        concurrency: 20,
        retryDelaysMs: [50, 50, 50],
        leaseMs,
        settleMs: 50,
        timing: QUICK_TIMING,
        clock: Date.now,
        ...laneQueue(pool, { onError: () => {} }),
        record: change => recorder.record(change),
        pack: packContent,
        prepare: prepareParcel,
        onError: () => {},
        ...options,
      }),
  ) as unknown as Lane<unknown>[]
  const running = startLanes({
    pool,
    leases,
    clock: Date.now,
    wakes,
    recorder,
    lanes: [group],
    timing: { ...QUICK_TIMING, leaseMs, ...timing },
    onError: () => {},
  })
  return { lanes: group, recorder, wakes, stop: () => running.stop() }
}

/** Starts workers that end with their test; `workers`: those of the test that runs. To be called once in a file. */
export function workersForTests(pool: Pool): { workers: TestWorker[]; work(...lanes: TestLane[]): TestWorker } {
  const workers: TestWorker[] = []
  afterEach(() => endWork(pool, ...workers.splice(0)))
  const work = (...lanes: TestLane[]): TestWorker => {
    const worker = startTestWorker(pool, lanes)
    workers.push(worker)
    return worker
  }
  return { workers, work }
}

/** After a test: its workers stop, every chain is whole, and nothing is left that the next test's worker would take. */
export async function endWork(pool: Pool, ...workers: ({ stop(): Promise<unknown> } | undefined)[]): Promise<void> {
  await Promise.all(workers.map(worker => worker?.stop()))
  expect(await brokenChains(pool)).toEqual([])
  await pool.query("update delivery set state = 'cancelled', lease_owner = null where state <> 'done'")
}
