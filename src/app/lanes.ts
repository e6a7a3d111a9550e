import { type CarrierNames, kindOf, nameCarriers } from '../channels/carrier-name.js'
import type { CarrierEvent, Provider } from '../channels/provider.js'
import type { Change, Recorder } from '../domain/change.js'
import type { Clock } from '../domain/clock.js'
import { OperatorError } from '../domain/errors.js'
import type { Channel } from '../domain/notification.js'
import type { Mode } from '../domain/token.js'
import { Lane } from '../engine/deliver/lane.js'
import type { LaneMemory, LaneOptions } from '../engine/deliver/lane-options.js'
import { patiently } from '../engine/deliver/worker.js'
import type { CarrierEventSource } from '../engine/record/carrier-events.js'
import { returnPace, takePace } from '../store/carrier-rates.js'
import { passDelivery, putBackClaims, putBackDelivery } from '../store/claim-returns.js'
import { claimDeliveries, claimDetours } from '../store/claims.js'
import type { Pool } from '../store/postgres.js'

/** From a channel's settings to its lanes. */
export interface ChannelWiring<Message> {
  channel: Channel
  /** The operator's carriers, the preferred one first. */
  carriers: readonly URL[]
  /** The provider that speaks to this carrier; what it tells on its own connection goes to `onNews`. */
  provider(url: URL, world: World): Provider<Message>
  prepare(world: World): LaneOptions<Message>['prepare']
  /** Messages on their way at a time, to this carrier. */
  concurrency(url: URL): number
  retryDelaysMs?: readonly number[]
  memory?: LaneMemory
  /** What a recorded fact means for later messages. */
  follow?(change: Change): Promise<void>
  settleMs?: number
}

/** Which carriers a lane talks to: the real ones, or those of a simulator. */
export interface World {
  /** null: the real one. */
  simulatorUrl: string | null
  onEvents(events: readonly CarrierEvent[]): Promise<void>
}

export interface LaneParts {
  pool: Pool
  clock: Clock
  recorder: Recorder
  simulatorUrl: string | null
  /** Of any channel. */
  hasCarriers: boolean
  leaseMs: number
  trace: LaneOptions<unknown>['trace']
  takeCarrierEvents(source: CarrierEventSource, events: readonly CarrierEvent[]): Promise<void>
  onError(error: unknown, what: string): void
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
/** A day of tries: most troubles end within minutes, some within hours. */
const RETRY_DELAYS_MS = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, ...Array<number>(22).fill(HOUR)]
const SETTLE_MS = 10 * MINUTE
const MAX_RATE = 10_000
/** The simulated world runs faster. */
const SIMULATED_RETRY_DELAYS_MS = [200, 500, SECOND, 2 * SECOND, 5 * SECOND, ...Array<number>(20).fill(10 * SECOND)]
/** On a busy machine even simulated carriers take a while to tell of a send, and to look too soon would be to send twice. */
const SIMULATED_SETTLE_MS = 30 * SECOND

/** The name under which references of a kind of carriers are kept: a simulated one's are not the real one's. */
export const carrierKey = (provider: string, simulated: boolean): string => (simulated ? `simulator/${provider}` : provider)

/**
 * One group of lanes per mode. Live messages go to the simulator only where no channel has a carrier: beside real ones, a
 * channel that was forgotten must not say that it delivered.
 */
export async function openLanes<Message>(wiring: ChannelWiring<Message>, parts: LaneParts): Promise<Lane<unknown>[][]> {
  const { simulatorUrl, hasCarriers } = parts
  const simulated = simulatorUrl === null ? [] : [await readSimulated(simulatorUrl, wiring.channel)]
  const groups: [Mode, readonly URL[], boolean][] = [
    ['live', hasCarriers ? wiring.carriers : simulated, !hasCarriers],
    ['test', simulated, true],
  ]
  const planned = groups
    .filter(([, urls]) => urls.length > 0)
    .map(([mode, urls, isSimulated]) => planLanes(wiring, parts, mode, urls, isSimulated))
  return Promise.all(planned.map(group => Promise.all(group.map(lane => openLane(wiring, parts, lane)))))
}

interface PlannedLane<Message> {
  mode: Mode
  simulated: boolean
  url: URL
  world: World
  provider: Provider<Message>
  names: CarrierNames
  /** Its place among those of its channel and mode, and how many they are. */
  rank: number
  carriers: number
}

/** The lanes of a group with their names, before any carrier is called. */
function planLanes<Message>(
  wiring: ChannelWiring<Message>,
  { simulatorUrl, takeCarrierEvents }: LaneParts,
  mode: Mode,
  urls: readonly URL[],
  simulated: boolean,
): PlannedLane<Message>[] {
  const { channel } = wiring
  const carriers = urls.map((url, place) => {
    const world: World = {
      simulatorUrl: simulated ? simulatorUrl : null,
      onEvents(events) {
        const { name } = names[place]!
        return takeCarrierEvents({ carrierKey: kindOf(name), provider: name, channel }, events)
      },
    }
    const provider = wiring.provider(url, world)
    // What a simulated carrier did, and what its people answer, is never taken for the real one's.
    return { url, world, provider: { ...provider, name: carrierKey(provider.name, simulated) } }
  })
  const names = nameCarriers(carriers)
  const twin = names.findIndex(({ name }, place) => names.findIndex(other => other.name === name) !== place)
  if (twin !== -1) throw sameCarrier(channel, urls[twin]!)
  return carriers.map((carrier, place) => ({
    ...carrier,
    mode,
    simulated,
    names: names[place]!,
    rank: place,
    carriers: urls.length,
  }))
}

/** Two lanes to one carrier would both settle what is uncertain of either. */
const sameCarrier = (channel: Channel, { protocol, host }: URL): OperatorError =>
  new OperatorError(
    `${channel.toUpperCase()}_URL nomeia duas vezes a mesma operadora (${protocol}//${host}, com a mesma conta). ` +
      'Deixe uma só; para mais conexões, use as opções dela.',
  )

/** A lane's hands on the queue. */
export const queueOf = (
  pool: Pool,
): Pick<LaneOptions<unknown>, 'claim' | 'claimDetours' | 'pass' | 'putBack' | 'putBackClaims'> => ({
  claim: question => claimDeliveries(pool, question),
  claimDetours: question => claimDetours(pool, question),
  pass: (held, to) => passDelivery(pool, held, to),
  // Nothing of it has left: to leave it to its lease would raise a doubt where there is none.
  putBack: (held, delayMs) => patiently(() => putBackDelivery(pool, held, delayMs)),
  putBackClaims: owners => putBackClaims(pool, owners),
})

async function openLane<Message>(
  wiring: ChannelWiring<Message>,
  { pool, clock, recorder, leaseMs, trace, onError }: LaneParts,
  { mode, simulated, url, world, provider, rank, carriers, names: { name, formerly } }: PlannedLane<Message>,
): Promise<Lane<unknown>> {
  const perSecond = readRate(url, wiring.channel)
  const pace = perSecond === null ? null : { carrier: `${wiring.channel}/${name}`, perSecond }
  const lane = new Lane<Message>({
    provider: { ...provider, name },
    formerly,
    carrier: await provider.open(url),
    carrierKey: kindOf(name),
    mode,
    rank,
    carriers,
    concurrency: wiring.concurrency(url),
    ...(pace === null
      ? {}
      : { pace: { take: want => takePace(pool, pace, want), giveBack: count => returnPace(pool, pace, count) } }),
    retryDelaysMs: simulated ? SIMULATED_RETRY_DELAYS_MS : (wiring.retryDelaysMs ?? RETRY_DELAYS_MS),
    leaseMs,
    settleMs: simulated ? SIMULATED_SETTLE_MS : (wiring.settleMs ?? SETTLE_MS),
    ...(trace === undefined ? {} : { trace }),
    clock,
    ...queueOf(pool),
    record: followed(recorder, wiring, onError),
    prepare: wiring.prepare(world),
    ...(wiring.memory === undefined ? {} : { memory: wiring.memory }),
    onError,
  })
  return lane as unknown as Lane<unknown>
}

/** After the commit: a fact is true whether or not more could be made of it. */
function followed(
  { record }: Recorder,
  { follow }: Pick<ChannelWiring<unknown>, 'follow'>,
  onError: LaneParts['onError'],
): Recorder['record'] {
  if (follow === undefined) return record
  return async change => {
    const outcome = await record(change)
    if (outcome === 'recorded') await follow(change).catch(error => onError(error, 'what follows from a fact'))
    return outcome
  }
}

/** The option that every carrier's URL has: messages per second. */
function readRate(url: URL, channel: Channel): number | null {
  const text = url.searchParams.get('rate')
  if (text === null) return null
  if (/^[1-9]\d{0,4}$/.test(text) && Number(text) <= MAX_RATE) return Number(text)
  throw new OperatorError(
    `${channel.toUpperCase()}_URL: rate deve ser um número inteiro de 1 a ${MAX_RATE} (mensagens por segundo).`,
  )
}

/** Where the simulator serves a channel. */
export async function readSimulated(simulatorUrl: string, channel: Channel): Promise<URL> {
  const response = await fetch(`${simulatorUrl}/simulator/carriers`)
  const url = ((await response.json()) as Record<string, string>)[channel]
  if (url === undefined) throw new OperatorError(`O simulador em ${simulatorUrl} não atende o canal ${channel}.`)
  return new URL(url)
}
