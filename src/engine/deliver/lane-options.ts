import type { Carrier, Provider } from '../../channels/provider.js'
import type { Recorder } from '../../domain/change.js'
import type { Clock } from '../../domain/clock.js'
import type { Mode } from '../../domain/token.js'
import type { Fact } from '../../domain/transition.js'
import type { ByteBudget } from '../../runtime/byte-budget.js'
import type { PaceGrant } from '../../store/carrier-rates.js'
import type { HeldDelivery, Taker } from '../../store/claim-returns.js'
import type { Claim, ClaimQuestion } from '../../store/claims.js'

/** What a lane is made of (engine/lane.ts). */
export interface LaneOptions<Message> {
  provider: Provider<Message>
  /** The name of this carrier's attempts of other times (channels/carrier-name.ts). */
  formerly?: string
  carrier: Carrier<Message>
  /** Whose references these are: two carriers may give two messages the same name. */
  carrierKey: string
  mode: Mode
  /** Its place among the carriers of its channel and mode, the preferred one being 0, and how many there are. */
  rank: number
  carriers: number
  concurrency: number
  /** Of a carrier that takes so many messages per second and no more. */
  pace?: LanePace
  /** Waits between tries; when they are used up the delivery is dead. */
  retryDelaysMs: readonly number[]
  leaseMs: number
  /** How long the carrier is given to tell of a send whose answer was lost, before anything is done about it. */
  settleMs: number
  /** How long what is under way may take once the worker stops. */
  stopMs?: number
  clock: Clock
  claim(question: ClaimQuestion): Promise<Claim[]>
  /** The same of what another carrier failed to take. */
  claimDetours(question: ClaimQuestion): Promise<Claim[]>
  /** Gives a claimed delivery to another lane; false: it is no longer ours to give. */
  pass(held: HeldDelivery, to: Taker): Promise<boolean>
  /** Leaves a claimed delivery in the queue, as if it had not been claimed. */
  putBack(held: HeldDelivery, delayMs: number): Promise<void>
  /** The same of all that these claims took. */
  putBackClaims(owners: readonly string[]): Promise<void>
  record: Recorder['record']
  /** From a claim to a message for the carrier, or the fact that there can be none. */
  prepare(claim: Claim): Promise<Message | Refused>
  /** Bounds what is held in memory; shared by all lanes whose messages may be large. */
  memory?: LaneMemory
  onError(error: unknown, what: string): void
  /** Told where a delivery stands, so that fault drills can strike exactly there. */
  trace?(point: TracePoint): void
}

export interface LaneMemory {
  budget: ByteBudget
  /** The bytes that a message holds until it is sent; 0: too few to count. */
  weigh(claim: Claim): number
}

/** Booked before anything is claimed: what waits for a carrier's rate waits in the queue, not in the hands of one node. */
interface LanePace {
  take(want: number): Promise<PaceGrant>
  giveBack(count: number): Promise<void>
}

/** claimed and journalled; about to hand over; the carrier answered; the outcome is committed. */
type TracePoint = 'claimed' | 'sending' | 'answered' | 'recorded'

/** Why a delivery cannot be sent at all. */
export interface Refused {
  refused: Fact['data']
}
