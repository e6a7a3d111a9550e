import { modesOf, providerOf, simulatedName } from '../../channels/carrier-name.js'
import type { ChannelDelivery, World } from '../../channels/channel-runtime.js'
import type { CarrierEvent, Provider } from '../../channels/provider.js'
import { moduleOf } from '../../channels/registry.js'
import type { Mode } from '../../domain/access/token.js'
import type { Channel } from '../../domain/channel.js'
import type { Clock } from '../../domain/clock.js'
import type { CarrierSource } from '../../domain/delivery/carrier-source.js'
import type { Recorder } from '../../domain/delivery/change.js'
import { OperatorError } from '../../domain/errors.js'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../domain/units.js'
import { createContactGate } from '../../engine/deliver/contact-gate.js'
import { Lane } from '../../engine/deliver/lane.js'
import type { LaneOptions } from '../../engine/deliver/lane-options.js'
import { retryWhileUnavailable } from '../../engine/record/recorder.js'
import type { EngineTiming } from '../../engine/timing.js'
import { QueueFront } from '../../runtime/queue-front.js'
import { returnRate, takeRate } from '../../store/carrier/rates.js'
import { passDelivery, putBackClaims, putBackDelivery } from '../../store/delivery/claim-returns.js'
import {
  type Claim,
  type ClaimQuestion,
  claimDeliveries,
  claimFailovers,
  findFront,
  lastServed,
} from '../../store/delivery/claims.js'
import type { IdMonths } from '../../store/months.js'
import type { Pool } from '../../store/postgres.js'
import { readRate } from '../carrier-rate.js'

/** A channel with its carriers, from which its lanes are made. */
export interface ChannelWiring<Message> extends Pick<ChannelDelivery<Message>, 'prepare' | 'memory' | 'suppresses'> {
  channel: Channel
  provider(url: URL, world: World): Provider<Message>
  /** The identity of a real carrier (carrier-name.ts). */
  identify(url: URL): string
  concurrency(url: URL): number
  /** The operator's carriers, the preferred one first. */
  carriers: readonly URL[]
  sendsContent?: boolean
}

export interface LaneParts {
  pool: Pool
  /** The months of the notifications that may have work; null: all. */
  openMonths?: () => IdMonths | null
  /** How many searches of the whole queue were requested. */
  askedForAll?: () => number
  clock: Clock
  recorder: Recorder
  pack: LaneOptions<unknown>['pack']
  simulatorUrl: string | null
  /** The simulated carrier of a channel; null: there is no simulator, or it has none. */
  simulatorAddress(name: string): Promise<URL | null>
  /** Whether any channel has a real carrier. */
  hasCarriers: boolean
  leaseMs: number
  timing?: LaneTiming
  trace: LaneOptions<unknown>['trace']
  takeEvents(source: CarrierSource, events: readonly CarrierEvent[]): Promise<void>
  onError(error: unknown, what: string): void
  onFailed?: LaneOptions<unknown>['onFailed']
  traceAttempt?: LaneOptions<unknown>['traceAttempt']
}

/** Shorter times for tests. `settleMs` and `retryDelaysMs`: in place of those below. */
export interface LaneTiming extends Partial<EngineTiming> {
  settleMs?: number
  retryDelaysMs?: readonly number[]
}

/** A day of attempts: most outages end within minutes, some within hours. */
const RETRY_DELAYS_MS = [
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  30 * MINUTE_MS,
  ...Array<number>(22).fill(HOUR_MS),
]
const SETTLE_MS = 10 * MINUTE_MS
/** Simulated carriers are quick, and so are retries to them. */
const SIMULATED_RETRY_DELAYS_MS = [200, 500, SECOND_MS, 2 * SECOND_MS, 5 * SECOND_MS, ...Array<number>(20).fill(10 * SECOND_MS)]
/** A simulated carrier's report may be late on a busy machine. A settle time that ends before the report would send the message twice. */
const SIMULATED_SETTLE_MS = 30 * SECOND_MS

/**
 * One group of lanes per mode. Live messages go to the simulator only where no channel has a carrier: beside real ones, a
 * channel that was forgotten must not say that it delivered.
 */
export async function openLanes<Message>(wiring: ChannelWiring<Message>, parts: LaneParts): Promise<Lane<unknown>[][]> {
  const { hasCarriers } = parts
  const address = await parts.simulatorAddress(wiring.channel)
  const simulated = address === null ? [] : [address]
  const groups: [Mode, readonly URL[], boolean][] = [
    ['live', hasCarriers ? wiring.carriers : simulated, !hasCarriers],
    ['test', simulated, true],
  ]
  const planned = groups
    .filter(([, urls]) => urls.length > 0)
    .map(([mode, urls, isSimulated]) => planLanes(wiring, parts, mode, urls, isSimulated))
  return Promise.all(planned.map(group => Promise.all(group.map(lane => openLane(wiring, parts, lane)))))
}

/** The lanes of a group with the identities of their carriers, before any carrier is called. */
function planLanes<Message>(
  wiring: ChannelWiring<Message>,
  { simulatorUrl, hasCarriers, takeEvents }: LaneParts,
  mode: Mode,
  urls: readonly URL[],
  simulated: boolean,
) {
  const { channel } = wiring
  const identityOf = (url: URL): string => {
    const identity = wiring.identify(url)
    return simulated ? simulatedName(providerOf(identity)) : identity
  }
  const planned = urls.map((url, rank) => {
    const identity = identityOf(url)
    const others = urls.filter(other => other !== url && isSameAccount(other, url)).map(identityOf)
    const source = { channel, carriers: [identity, ...others], modes: modesOf(simulated, hasCarriers) }
    const world: World = {
      mode,
      carrier: identity,
      simulatorUrl: simulated ? simulatorUrl : null,
      onEvents: events => takeEvents(source, events),
    }
    return { mode, simulated, url, world, provider: wiring.provider(url, world), identity, rank, carriers: urls.length }
  })
  const twin = planned.find(({ identity, rank }) => planned.some(other => other.identity === identity && other.rank < rank))
  if (twin === undefined) return planned
  // Two lanes to one carrier would both resolve the unknown outcomes of either.
  const { protocol, host } = twin.url
  throw new OperatorError(
    `${channel.toUpperCase()}_URL nomeia duas vezes a mesma operadora (${protocol}//${host}, com a mesma conta). ` +
      'Deixe uma só; para mais conexões, use as opções dela.',
  )
}

/**
 * A company with several servers reports over any of them, whichever the message was sent over. Only an equal user and password
 * prove that it is one company.
 */
const isSameAccount = (a: URL, b: URL): boolean =>
  a.protocol === b.protocol && a.username !== '' && a.password !== '' && a.username === b.username && a.password === b.password

interface QueueParts {
  openMonths?: LaneParts['openMonths'] | undefined
  askedForAll?: LaneParts['askedForAll'] | undefined
  onError(error: unknown): void
}

/** A lane's access to the queue. */
export const laneQueue = (
  pool: Pool,
  parts: QueueParts,
): Pick<LaneOptions<unknown>, 'claim' | 'claimFailovers' | 'pass' | 'putBack' | 'putBackClaims'> => ({
  claim: claimInTurn(pool, parts),
  claimFailovers: question => claimFailovers(pool, { ...question, months: parts.openMonths?.() ?? null }),
  pass: (held, to) => passDelivery(pool, held, to),
  // Repeated, because an expired lease would make the outcome unknown although nothing was sent.
  putBack: (held, delayMs, planned) => retryWhileUnavailable(() => putBackDelivery(pool, held, delayMs, planned)),
  putBackClaims: owners => putBackClaims(pool, owners),
})

/** Each lane remembers which account it served last, and where its queue begins. */
function claimInTurn(
  pool: Pool,
  { openMonths = () => null, askedForAll: asked = () => 0, onError }: QueueParts,
): (question: ClaimQuestion) => Promise<Claim[]> {
  let after: string | undefined
  let front: QueueFront | undefined
  return question => {
    front ??= new QueueFront({ find: from => findFront(pool, { ...question, months: openMonths() }, from), asked, onError })
    return front.claim(async from => {
      const turn = after === undefined ? {} : { after }
      const claims = await claimDeliveries(pool, { ...question, months: openMonths(), from, ...turn })
      after = lastServed(claims, after)
      return claims
    })
  }
}

async function openLane<Message>(
  wiring: ChannelWiring<Message>,
  {
    pool,
    openMonths,
    askedForAll,
    clock,
    recorder,
    pack,
    leaseMs,
    timing = {},
    trace,
    onError,
    onFailed,
    traceAttempt,
  }: LaneParts,
  { mode, simulated, url, world, provider, rank, carriers, identity }: ReturnType<typeof planLanes<Message>>[number],
): Promise<Lane<unknown>> {
  const perSecond = readRate(url, wiring.channel)
  // Simulated carriers reach nobody, and a first send at night must show its result at once.
  const contact = simulated ? null : createContactGate(moduleOf(wiring.channel), pool, clock)
  const rate = perSecond === null ? null : { carrier: `${wiring.channel}/${identity}`, perSecond }
  const lane = new Lane<Message>({
    provider,
    carrier: await provider.open(url),
    identity,
    mode,
    rank,
    carriers,
    concurrency: wiring.concurrency(url),
    sendsContent: wiring.sendsContent ?? false,
    ...(rate === null
      ? {}
      : {
          rate: {
            perSecond: rate.perSecond,
            take: want => takeRate(pool, rate, want),
            giveBack: count => returnRate(pool, rate, count),
          },
        }),
    retryDelaysMs: timing.retryDelaysMs ?? (simulated ? SIMULATED_RETRY_DELAYS_MS : RETRY_DELAYS_MS),
    leaseMs,
    settleMs: timing.settleMs ?? (simulated ? SIMULATED_SETTLE_MS : SETTLE_MS),
    timing,
    ...(trace === undefined ? {} : { trace }),
    clock,
    ...laneQueue(pool, { openMonths, askedForAll, onError: error => onError(error, 'the front of a queue') }),
    record: recorder.record,
    pack,
    prepare: wiring.prepare(world),
    ...(wiring.memory === undefined ? {} : { memory: wiring.memory(world) }),
    ...(wiring.suppresses === undefined ? {} : { suppresses: wiring.suppresses }),
    ...(contact === null ? {} : { contact }),
    onError,
    ...(onFailed === undefined ? {} : { onFailed }),
    traceAttempt,
  })
  return lane as unknown as Lane<unknown>
}
