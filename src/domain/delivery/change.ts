import type { CarrierSource } from './carrier-source.js'
import type { PackedContent } from './sent-content.js'
import type { Fact } from './transition.js'

/** One fact about a delivery that is to be recorded, and the conditions under which the fact still counts. */
export type Change = LearnedFact | CarrierReported | AttemptOutcome | Resolution | OperatorDecision | SequenceDecision

interface FactOf {
  notification: string
  fact: Fact
}

/** A fact that is true whatever the state of the delivery. */
export interface LearnedFact extends FactOf {
  kind: 'fact'
  /** For a note that may come again and again, and for a fact that may become one. */
  noteLimit?: NoteLimit
  /** The recipient is somebody else: from the commit of the fact on the account does not send there any more. */
  suppresses?: 'stranger'
}

/** It counts only where the message that it names was given to the carrier that tells it. */
export interface CarrierReported extends FactOf {
  kind: 'report'
  by: CarrierSource
  noteLimit: NoteLimit
  /** The carrier's names for the message, one per part; none where the report does not tell them. */
  names: readonly (string | null)[]
  /** How long to wait before the next message, where the report asks for one. */
  delayMs?: number
}

/**
 * The outcome of an attempt. It counts only while the attempt holds its lease: a worker that was thought dead must not overwrite
 * its successor. Two things count anyway: the carrier's references, and that the carrier took a message whose outcome was unknown.
 */
export interface AttemptOutcome extends FactOf {
  kind: 'attempt'
  fence: Fence
  /** How long until the delivery is sent again, or its unknown outcome is looked at. */
  delayMs?: number
  /** The carrier is known not to have taken the message: another carrier may take it before the delay is over. */
  failover?: boolean
  references?: CarrierReferences
  /** The recipient's server took the message. It counts even without the lease, because no later report repeats it. */
  delivered?: Fact
  /** The outcome is unknown and only a person can find it out. */
  unresolved?: Fact
  /** What the carrier got, or may have got. Kept in any case: where the fact is not recorded, a note states it. */
  content?: PackedContent
  /** Nothing of the message left: it does not count as a contact with the person. */
  unreached?: boolean
  /** The fact says that the recipient's mailbox does not exist: from its commit on the account does not send there any more. */
  suppresses?: boolean
}

/** The result of looking for an unknown outcome. It counts only while this attempt is the latest and the delivery is in this state. */
export interface Resolution extends FactOf {
  kind: 'resolution'
  state: 'queued' | 'uncertain'
  attempt: number
  ordinal: number
  delayMs?: number
  references?: CarrierReferences
  /** Any carrier may take the delivery from now on, although another carrier may have it already. */
  toAnyCarrier?: boolean
}

/**
 * A person's decision. 'retry' sends the delivery at once, with any carrier; 'sent' and 'failed' count only while the outcome is
 * unknown, 'release' and 'cancel' only while the step waits, because otherwise there is nothing to decide.
 */
export interface OperatorDecision extends FactOf {
  kind: 'operator'
  decision: 'retry' | 'sent' | 'failed' | 'release' | 'cancel'
}

/** A decision about a step of the sequence that follows from the facts of other channels. */
interface SequenceDecision extends FactOf {
  kind: 'decision'
  /** When the step is due, from now; null leaves its date alone. */
  delayMs: number | null
}

/** An attempt, and the owner of the claim that holds it. */
export type Fence = { owner: string; attempt: number; ordinal: number }

/** The carrier's names for a message, one per part; null where the carrier did not tell it. A carrier's names are unique. */
export interface CarrierReferences {
  carrier: string
  names: readonly (string | null)[]
}

/**
 * Bounds the notes of one source in the chain of one notification, or anybody could make the chain grow without end. The last note
 * that is kept is marked (lastNote). Facts that change the status are always recorded.
 */
export interface NoteLimit {
  most: number
  /** Whether a note with the same words as an earlier one is dropped. */
  once: boolean
}

/**
 * noted: the fact does not count, and at most a note tells of it; last note: no further notes of its source are kept; fenced: the
 * change came too late to count; foreign: the message was never given to the carrier that reports on it; unknown: there is no such
 * delivery.
 */
export type ChangeOutcome = 'recorded' | 'noted' | 'last note' | 'nothing new' | 'fenced' | 'foreign' | 'unknown'

export interface Recorder {
  record(change: Change): Promise<ChangeOutcome>
}
