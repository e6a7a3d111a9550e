import type { CarrierNews, Provider } from '../channels/provider.js'
import type { Clock } from '../domain/clock.js'
import { OperatorError } from '../domain/errors.js'
import type { Channel } from '../domain/notification.js'
import type { Mode } from '../domain/token.js'
import { Lane, type LaneOptions } from '../engine/lane.js'
import type { NewsSource } from '../engine/news.js'
import type { Recorder } from '../engine/worker.js'
import { claimDeliveries, putBack } from '../store/claims.js'
import type { Pool } from '../store/postgres.js'

/** From a channel's settings to its lanes. */
export interface ChannelWiring<Message> {
  channel: Channel
  /** The operator's carriers, the preferred one first; empty: live messages go to the simulator, where there is one. */
  carriers: readonly URL[]
  /** The provider that speaks to this carrier; what it tells on its own connection goes to `onNews`. */
  provider(url: URL, world: World): Provider<Message>
  prepare(world: World): LaneOptions<Message>['prepare']
  /** Messages on their way at a time, to this carrier. */
  concurrency(url: URL): number
  retryDelaysMs?: readonly number[]
  settleMs?: number
  /** Where the simulated world needs longer than most to tell of a send. */
  simulatedSettleMs?: number
}

/** Which carriers a lane talks to: the real ones, or those of a simulator. */
export interface World {
  /** null: the real one. */
  simulatorUrl: string | null
  onNews(news: readonly CarrierNews[]): Promise<void>
}

export interface LaneParts {
  pool: Pool
  clock: Clock
  recorder: Recorder
  simulatorUrl: string | null
  leaseMs: number
  trace: LaneOptions<unknown>['trace']
  takeNews(source: NewsSource, news: readonly CarrierNews[]): Promise<void>
  onError(error: unknown, what: string): void
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
/** A day of tries: most troubles end within minutes, some within hours. */
const RETRY_DELAYS_MS = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, ...Array<number>(22).fill(HOUR)]
const SETTLE_MS = 10 * MINUTE
/** The simulated world runs faster. */
const SIMULATED_RETRY_DELAYS_MS = [200, 500, SECOND, 2 * SECOND, 5 * SECOND, ...Array<number>(20).fill(10 * SECOND)]
const SIMULATED_SETTLE_MS = 5 * SECOND

/** The name under which a carrier's references are kept: a simulated one's are not the real one's. */
export const carrierKey = (provider: string, simulated: boolean): string => (simulated ? `simulator/${provider}` : provider)

/** One group of lanes per mode; live messages go to the simulator only where no carrier is configured. */
export async function openLanes<Message>(wiring: ChannelWiring<Message>, parts: LaneParts): Promise<Lane<unknown>[][]> {
  const { simulatorUrl } = parts
  const simulated = simulatorUrl === null ? [] : [await readSimulated(simulatorUrl, wiring.channel)]
  const live = wiring.carriers.length > 0 ? wiring.carriers : simulated
  const groups: [Mode, readonly URL[], boolean][] = [
    ['live', live, live === simulated],
    ['test', simulated, true],
  ]
  return Promise.all(
    groups
      .filter(([, urls]) => urls.length > 0)
      .map(([mode, urls, isSimulated]) => Promise.all(urls.map(url => openLane(wiring, parts, mode, url, isSimulated)))),
  )
}

async function openLane<Message>(
  wiring: ChannelWiring<Message>,
  parts: LaneParts,
  mode: Mode,
  url: URL,
  simulated: boolean,
): Promise<Lane<unknown>> {
  const { pool, clock, recorder, simulatorUrl, leaseMs, trace, takeNews, onError } = parts
  const world: World = {
    simulatorUrl: simulated ? simulatorUrl : null,
    onNews: news => takeNews({ carrierKey: key, provider: key, channel: wiring.channel }, news),
  }
  const provider = wiring.provider(url, world)
  const key = carrierKey(provider.name, simulated)
  const lane = new Lane<Message>({
    // What a simulated carrier did, and what its people answer, is never taken for the real one's.
    provider: { ...provider, name: key },
    carrier: await provider.open(url),
    carrierKey: key,
    mode,
    concurrency: wiring.concurrency(url),
    retryDelaysMs: simulated ? SIMULATED_RETRY_DELAYS_MS : (wiring.retryDelaysMs ?? RETRY_DELAYS_MS),
    leaseMs,
    settleMs: simulated ? (wiring.simulatedSettleMs ?? SIMULATED_SETTLE_MS) : (wiring.settleMs ?? SETTLE_MS),
    ...(trace === undefined ? {} : { trace }),
    clock,
    claim: question => claimDeliveries(pool, question),
    putBack: (...given) => putBack(pool, ...given),
    record: recorder.record,
    prepare: wiring.prepare(world),
    onError,
  })
  return lane as unknown as Lane<unknown>
}

/** Where the simulator serves a channel. */
export async function readSimulated(simulatorUrl: string, channel: Channel): Promise<URL> {
  const response = await fetch(`${simulatorUrl}/simulator/carriers`)
  const url = ((await response.json()) as Record<string, string>)[channel]
  if (url === undefined) throw new OperatorError(`O simulador em ${simulatorUrl} não atende o canal ${channel}.`)
  return new URL(url)
}
