import type { DeliveryMemory, Refused } from '../../channels/channel-runtime.js'
import type { Carrier, Provider } from '../../channels/provider.js'
import type { Mode } from '../../domain/access/token.js'
import type { Clock } from '../../domain/clock.js'
import type { Recorder } from '../../domain/delivery/change.js'
import type { Fact } from '../../domain/delivery/transition.js'
import type { RateGrant } from '../../store/carrier/rates.js'
import type { CallEnd } from '../../store/carrier/totals.js'
import type { HeldDelivery, Taker } from '../../store/delivery/claim-returns.js'
import type { Claim, ClaimQuestion } from '../../store/delivery/claims.js'
import type { EngineTiming } from '../timing.js'
import type { ContactGate } from './contact-gate.js'
import type { ContentPacker } from './content-packer.js'
import type { FailureNote } from './failed-attempt.js'

/** The spans of one attempt, where traces are switched on. */
export interface AttemptSpan {
  called(durationMs: number, result: CallEnd): void
  end(): void
}

/** undefined: this notification is not traced. */
export type AttemptTrace = (claim: Claim, carrier: string) => AttemptSpan | undefined

/** Everything that a lane (lane.ts) is given. */
export interface LaneOptions<Message> {
  provider: Provider<Message>
  carrier: Carrier<Message>
  /** The carrier's identity, stored with every attempt (channels/carrier-name.ts). */
  identity: string
  mode: Mode
  /** The place among the carriers of the channel and mode, the preferred one being 0, and how many there are. */
  rank: number
  carriers: number
  concurrency: number
  /** The message carries the notification's content: a claim brings it along. */
  sendsContent?: boolean
  /**
   * Of a carrier that takes only so many messages per second. Booked before anything is claimed: a delivery that waits for the rate
   * waits in the queue, where every node can take it.
   */
  rate?: { perSecond: number; take(want: number): Promise<RateGrant>; giveBack(count: number): Promise<void> }
  /** The waits between attempts. When they are used up the delivery is dead. */
  retryDelaysMs: readonly number[]
  leaseMs: number
  /** How long the carrier is given to report on an attempt whose answer was lost, before anything is done about it. */
  settleMs: number
  timing?: Partial<EngineTiming>
  clock: Clock
  claim(question: ClaimQuestion): Promise<Claim[]>
  /** Claims deliveries that another carrier failed to take. */
  claimFailovers(question: ClaimQuestion): Promise<Claim[]>
  /** Gives a claimed delivery to another lane; false: the claim no longer holds it. */
  pass(held: HeldDelivery, to: Taker): Promise<boolean>
  /** Puts a claimed delivery back into the queue, as if it had not been claimed. `planned`: a rule of contact puts it off. */
  putBack(held: HeldDelivery, delayMs: number, planned?: boolean): Promise<void>
  /** Puts everything back that these claims took. */
  putBackClaims(owners: readonly string[]): Promise<void>
  record: Recorder['record']
  /** Makes of a message that left what is stored of it. */
  pack: ContentPacker['pack']
  /** Makes the message for the carrier, or says why there can be none. */
  prepare(claim: Claim): Promise<Message | Refused>
  /** Says whether a message may leave now. Lanes to a real carrier of a channel with rules of contact have it. */
  contact?: ContactGate
  /** Whether a fact says that the recipient does not exist. */
  suppresses?(fact: Fact): boolean
  /** Bounds the memory that messages hold; shared by the lanes of a channel and mode. */
  memory?: DeliveryMemory
  onError(error: unknown, what: string): void
  traceAttempt?: AttemptTrace | undefined
  /** Called with every attempt that failed, for the log: without personal data. */
  onFailed?(attempt: FailureNote): void
  /**
   * Called at every point of a delivery, so that fault drills can kill the process exactly there. claimed: the attempt is committed;
   * sending: the carrier is about to be called; answered: it answered; recorded: the outcome is committed.
   */
  trace?(point: 'claimed' | 'sending' | 'answered' | 'recorded'): void
}
