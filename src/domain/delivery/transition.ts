import type { Channel, ChannelTraits } from '../channel.js'
import type { Json } from '../evidence/canonical-json.js'
import { type CancelReason, type DeliveryStatus, type Failure, isUnknown, isUnsettled, type TakenParts } from './status.js'

export type FactType =
  | 'released' // a waiting step goes after all
  | 'reopened' // a step that was not needed waits again
  | 'processed' // the carrier took the message into production
  | 'prepared' // the carrier has produced the message
  | 'sent'
  | 'delivered'
  | 'read'
  | 'confirmed'
  | 'link opened'
  | 'answered'
  | 'failed'
  | 'cancelled'
  | 'postponed' // the rules of contact do not allow it now
  | 'retried' // an attempt failed, the next one is planned
  | 'uncertain' // the bytes left, no answer came
  | 'unresolved' // no program can find out whether it was sent: a person decides
  | 'again' // this message ended without reaching anybody, another one follows
  | 'revived' // an operator ordered another attempt
  | 'recorded' // the recording of a call is stored here
  | 'note' // recorded as evidence, changes nothing (automated access, delay report)

export interface Fact {
  channel: Channel
  type: FactType
  at: Date
  source: string
  /** For people and proofs. Only the members that are listed here change the status. */
  data: {
    failure?: Failure
    failureDetail?: string
    dead?: boolean
    /** The attempt is repeated because its worker is gone: its outcome is unknown. */
    interrupted?: boolean
    /** The restoration that found the database to be a copy, where this made the outcome unknown; the decision about the outcome names it too. */
    restored?: number
    /** The attempt is repeated because the carrier never took the message: no outcome is unknown any more. */
    notTaken?: boolean
    cancelReason?: CancelReason
    answer?: string
    answerId?: string | null
    /** All ids under which the same answer may be known already. */
    answerIds?: string[]
    /** Which message of the delivery a report is about. */
    ordinal?: number
    part?: number
    parts?: number
    /** The report names the message by our tag or reference alone, which every copy of the message bears. */
    tagged?: boolean
    /** The parts that the carrier took, of a message whose other parts have an unknown outcome. */
    taken?: { parts: number[]; total: number }
    carrier?: string
    segments?: number
    trackingCode?: string
    /** The time that a carrier gives to an entry of its history: with the words it identifies the entry. */
    reportedAt?: string
    /** SHA-256. */
    recording?: string
    /** The fact that a note would have been, and why the fact does not count. */
    claimed?: FactType
    because?: Objection
    /** The earlier time that the source named, where the chain already held later events. The status shows this time. */
    occurredAt?: string
    [member: string]: Json | undefined
  }
}

export type Objection =
  | 'read before'
  | 'confirmed before'
  | 'delivered before'
  | 'another copy'
  | 'not delivered'
  | 'another message'
  | 'another recipient'
  | 'not asked for'

type Traits = Pick<ChannelTraits, 'producedFirst' | 'readAfterDelivery'>

/**
 * The fact as it counts. What contradicts an act of the recipient, or claims one that cannot have happened yet, becomes a note
 * with its circumstances: whoever can write to an address of ours must not undo a confirmation.
 */
export function weighFact(status: DeliveryStatus, fact: Fact, traits: Traits): Fact {
  const because = mayBecomeNote(fact, traits) ? objectionTo(status, fact) : null
  return because === null ? fact : { ...fact, type: 'note', data: { ...fact.data, claimed: fact.type, because } }
}

/** Whether some status makes a note of the fact. */
export const mayBecomeNote = ({ type }: Fact, { readAfterDelivery }: Traits): boolean =>
  type === 'failed' || type === 'again' || (readAfterDelivery === true && (type === 'read' || type === 'confirmed'))

function objectionTo(status: DeliveryStatus, { type, data }: Fact): Objection | null {
  const { deliveredAt, readAt, confirmedAt, resent } = status
  if (type === 'again') return resent && data.tagged === true ? 'another copy' : null
  if (type !== 'failed') return deliveredAt === null ? 'not delivered' : null
  if (confirmedAt !== null) return 'confirmed before'
  // A person may open a message and then see that it is for somebody else.
  if (readAt !== null && data.failure !== 'stranger') return 'read before'
  if (!resent || data.failure !== 'undelivered') return null
  // One copy that ended says nothing of the other one, which may have arrived or may be on its way.
  if (deliveredAt !== null) return 'delivered before'
  return data.tagged === true ? 'another copy' : null
}

/**
 * The status after a fact; null: the fact changes nothing (a report that came twice, or too late). The same function computes the
 * status columns when a fact is recorded, and again from the stored events for comparison.
 */
export function applyFact(status: DeliveryStatus, reported: Fact, traits: Traits): DeliveryStatus | null {
  const weighed = weighFact(status, reported, traits)
  const base = withoutImpliedSending(status, weighed, traits)
  const fact = { ...weighed, at: dateOf(base, weighed) }
  const next = withConsequences(base, advance(base, fact, traits), fact, traits)
  const { trackingCode } = fact.data
  // A report that changes nothing else may still be the first one with the tracking code.
  return trackingCode === undefined || status.trackingCode !== null ? next : { ...(next ?? status), trackingCode }
}

/** A proof undoes the failure of the same message that it contradicts, and a new message starts without unknown outcomes. */
function withConsequences(
  before: DeliveryStatus,
  next: DeliveryStatus | null,
  fact: Fact,
  traits: Traits,
): DeliveryStatus | null {
  if (next === null) return null
  const made = traits.producedFirst === true ? produced(next, fact.at) : next
  const known = made.ordinal > before.ordinal ? { ...made, unknownCount: 0, resent: false } : made
  return isDisproved(before, known, fact) ? { ...known, failure: null, failureDetail: null, failedAt: null } : known
}

/** A message that was sent had been produced, whether or not the carrier reported it. */
function produced(status: DeliveryStatus, at: Date): DeliveryStatus {
  const { sentAt, processedAt, preparedAt } = status
  if (sentAt === null || (processedAt !== null && preparedAt !== null)) return status
  return { ...status, processedAt: processedAt ?? at, preparedAt: preparedAt ?? at }
}

/**
 * A report of delivery implies that the message was sent, by then at the latest. A report of an earlier sending that comes after it
 * has the true date, which takes the place of the implied ones.
 */
function withoutImpliedSending(status: DeliveryStatus, fact: Fact, { producedFirst = false }: Traits): DeliveryStatus {
  const { sentAt, deliveredAt, processedAt, preparedAt } = status
  const implied = deliveredAt?.getTime()
  if (fact.type !== 'sent' || !producedFirst || implied === undefined || sentAt?.getTime() !== implied) return status
  const unlessImplied = (date: Date | null): Date | null => (date?.getTime() === implied ? null : date)
  const bare = {
    ...status,
    sentAt: null,
    processedAt: unlessImplied(processedAt),
    preparedAt: unlessImplied(preparedAt),
  }
  return dateOf(bare, fact).getTime() < implied ? bare : status
}

/** The facts that disprove a failure: a message that was taken was not refused, and one that arrived was not lost on its way. */
const DISPROOFS: Partial<Record<Failure, readonly FactType[]>> = {
  rejected: ['processed', 'prepared', 'sent', 'delivered', 'read', 'confirmed'],
  undelivered: ['delivered', 'read', 'confirmed'],
}

/** Only by a proof about the latest message and about the whole of it: one part that arrived proves nothing about the others. */
const isDisproved = (before: DeliveryStatus, next: DeliveryStatus, { type, data }: Fact): boolean =>
  next.failure !== null &&
  DISPROOFS[next.failure]?.includes(type) === true &&
  isAboutLatest(before, data) &&
  (data.part === undefined || (type === 'delivered' && next.deliveredAt !== null))

/**
 * The date of a fact in the status. A letter delivered at ten has that date, even if the tracking was read at noon and the chain
 * holds an event of eleven. But no date is earlier than the dates of the steps before it, whatever a carrier's clock says.
 */
export function dateOf(status: DeliveryStatus, { type, at, data: { occurredAt } }: Fact): Date {
  if (occurredAt === undefined) return at
  const { acceptedAt, processedAt, preparedAt, sentAt, deliveredAt, readAt } = status
  const before = [acceptedAt, processedAt, preparedAt, sentAt]
  if (type === 'read' || type === 'confirmed') before.push(deliveredAt)
  if (type === 'confirmed') before.push(readAt)
  const earliest = Math.max(...before.map(date => date?.getTime() ?? 0))
  return new Date(Math.min(at.getTime(), Math.max(Date.parse(occurredAt), earliest)))
}

/** Whether a fact is about the whole message, by the status after it. A fact about one part alone is not announced. */
export const isOfWhole = ({ type, data }: Fact, { sentAt, deliveredAt }: DeliveryStatus): boolean =>
  data.part === undefined || (type === 'delivered' ? deliveredAt !== null : type !== 'sent' || sentAt !== null)

function advance(status: DeliveryStatus, fact: Fact, traits: Traits): DeliveryStatus | null {
  const { at, data } = fact
  switch (fact.type) {
    case 'note':
      return status
    case 'retried':
      if (!awaitsOutcome(status)) return null
      return queuedAgain(status, data.notTaken ? 0 : status.unknownCount + (data.interrupted ? 1 : 0))
    case 'postponed':
      return isQueuedOrSending(status) && status.failure === null ? { ...status, state: 'queued' } : null
    case 'released':
      return status.state === 'waiting' || status.cancelReason === 'not needed'
        ? { ...status, state: 'queued', cancelReason: null, cancelledAt: null }
        : null
    case 'uncertain':
      return awaitsOutcome(status) ? leftUnknown(status, fact) : null
    case 'unresolved':
      if (status.state === 'uncertain') return { ...status, state: 'unresolved' }
      return data.restored !== undefined && isStillToBeSent(status) ? leftInCopy(status) : null
    case 'again':
      return status.failure === null && status.deliveredAt === null && isAboutLatest(status, data)
        ? { ...withSentDate(status, fact, traits), state: 'queued', ordinal: status.ordinal + 1, parts: [], taken: null }
        : null
    case 'revived':
      return mayRevive(status) ? revived(status) : null
    case 'processed':
      return isAboutLatest(status, data) && (status.processedAt === null || awaitsOutcome(status)) ? processed(status, at) : null
    case 'prepared':
      if (!isAboutLatest(status, data) || (status.preparedAt !== null && !awaitsOutcome(status))) return null
      return { ...processed(status, at), preparedAt: status.preparedAt ?? at }
    case 'cancelled':
      return status.state === 'waiting' || isFinalizedAfterNotNeeded(status, data) || isRepetition(status, data)
        ? { ...status, state: 'cancelled', cancelReason: data.cancelReason!, cancelledAt: at }
        : null
    case 'reopened':
      if (data.restored !== undefined) return status.state === 'unresolved' ? { ...status, state: 'waiting' } : null
      return status.cancelReason === 'not needed' ? { ...status, state: 'waiting', cancelReason: null, cancelledAt: null } : null
    case 'sent':
      return isAboutLatest(status, data) && (status.sentAt === null || awaitsOutcome(status))
        ? takenByCarrier(status, fact)
        : null
    case 'delivered':
      return status.deliveredAt === null ? delivered(status, fact) : null
    case 'read':
      return status.readAt === null ? { ...sent(status, at), deliveredAt: status.deliveredAt ?? at, readAt: at } : null
    case 'confirmed':
      return status.confirmedAt === null
        ? { ...sent(status, at), deliveredAt: status.deliveredAt ?? at, readAt: status.readAt ?? at, confirmedAt: at }
        : null
    case 'link opened':
      return status.linkOpenedAt === null ? { ...sent(status, at), linkOpenedAt: at } : null
    case 'answered':
      // A message on its way must still be sent: the answer is to an earlier message.
      return answered(isQueuedOrSending(status) ? status : sent(status, at), fact)
    case 'failed':
      return status.failure === null && isAboutLatest(status, data) && !wasAlreadyDelivered(status, data)
        ? failed(withSentDate(status, fact, traits), fact)
        : null
    case 'recorded':
      // The recording of an earlier call is kept as evidence; the status is about the latest call.
      if (!isAboutLatest(status, data)) return status
      return status.recording === data.recording ? null : { ...sent(status, at), recording: data.recording ?? null }
  }
}

/** Another attempt of the same message. With an unknown outcome before it, it may be a second copy. */
const queuedAgain = (status: DeliveryStatus, unknownCount: number): DeliveryStatus => ({
  ...status,
  state: 'queued',
  unknownCount,
  resent: unknownCount > 0,
})

/** The carrier has the message: nobody sends it again. */
function processed(status: DeliveryStatus, at: Date): DeliveryStatus {
  return { ...status, state: 'done', processedAt: status.processedAt ?? at }
}

function sent(status: DeliveryStatus, at: Date): DeliveryStatus {
  return { ...status, state: 'done', sentAt: status.sentAt ?? at, taken: null }
}

/** The carrier has the message, or one part of it. */
function takenByCarrier(status: DeliveryStatus, fact: Fact): DeliveryStatus | null {
  const { part, parts = 1 } = fact.data
  // Parts that another carrier delivered do not complete the message of this carrier.
  if (part === undefined) return sent(isAnother(status.taken, fact.data) ? { ...status, parts: [] } : status, fact.at)
  const next = take(status, fact, [part], parts)
  return next === status ? null : next
}

function leftUnknown(status: DeliveryStatus, fact: Fact): DeliveryStatus {
  const { parts, total } = fact.data.taken ?? { parts: [], total: 1 }
  const known = parts.length === 0 ? status : take(status, fact, parts, total)
  return known.state === 'done' ? known : { ...known, state: 'uncertain', unknownCount: status.unknownCount + 1 }
}

/** The carrier has these parts. The message counts as sent only when the carrier has all parts, so that the missing ones are sent. */
function take(status: DeliveryStatus, { at, data }: Fact, parts: readonly number[], total: number): DeliveryStatus {
  if (total === 1 || !awaitsOutcome(status)) return sent(status, at)
  const { taken } = status
  const isSame = taken !== null && !isAnother(taken, { ...data, segments: total })
  const known = [...new Set([...(isSame ? taken.parts : []), ...parts])].sort((a, b) => a - b)
  if (known.length === total) return sent(status, at)
  if (isSame) return known.length === taken.parts.length ? status : { ...status, taken: { ...taken, parts: known } }
  return { ...status, parts: [], taken: { by: data.carrier ?? '', parts: known, total } }
}

/** Whether a fact is about a message that these parts do not belong to: of another carrier, or with another number of parts. */
const isAnother = (taken: TakenParts | null, { carrier = taken?.by, segments = taken?.total }: Fact['data']): boolean =>
  taken !== null && (carrier !== taken.by || segments !== taken.total)

const isFinalizedAfterNotNeeded = ({ cancelReason }: DeliveryStatus, data: Fact['data']): boolean =>
  cancelReason === 'not needed' && data.cancelReason === 'finalized'

/** A repetition is found when its attempt begins, before anything is sent. */
const isRepetition = (status: DeliveryStatus, { cancelReason }: Fact['data']): boolean =>
  cancelReason === 'repeated' && isQueuedOrSending(status) && status.failure === null && status.unknownCount === 0

const isQueuedOrSending = ({ state }: DeliveryStatus): boolean => state === 'queued' || state === 'sending'

const awaitsOutcome = ({ failure, state }: DeliveryStatus): boolean => failure === null && isUnsettled(state)

const isStillToBeSent = (status: DeliveryStatus): boolean =>
  status.failure === null && (isQueuedOrSending(status) || status.state === 'waiting')

/** In the copy of a database it was still to be sent, and nobody knows whether it was sent after the copy was made. */
const leftInCopy = (status: DeliveryStatus): DeliveryStatus => ({
  ...status,
  state: 'unresolved',
  unknownCount: status.unknownCount + 1,
})

/** A report about an earlier message no longer matters once another message follows it. */
const isAboutLatest = (status: DeliveryStatus, { ordinal }: Fact['data']): boolean =>
  ordinal === undefined || ordinal >= status.ordinal

/**
 * Any report of a carrier about a message says that the carrier had got it, even where the report overtakes the answer to the
 * send. But a message that is produced first is sent later.
 */
const withSentDate = (status: DeliveryStatus, { at, data }: Fact, { producedFirst = false }: Traits): DeliveryStatus =>
  data.ordinal === undefined || status.sentAt !== null || producedFirst ? status : { ...status, sentAt: at }

/** A call that was heard is not a failed one, whatever the carrier reports later about its end. */
const wasAlreadyDelivered = ({ deliveredAt }: DeliveryStatus, { failure }: Fact['data']): boolean =>
  deliveredAt !== null && (failure === 'no-answer' || failure === 'busy' || failure === 'machine')

function delivered(status: DeliveryStatus, fact: Fact): DeliveryStatus | null {
  const { at, data } = fact
  const { part = 1, parts = 1 } = data
  if (parts === 1) return { ...sent(status, at), parts: [], deliveredAt: at }
  // Parts of an earlier message do not complete the message that followed it.
  if (status.parts.includes(part) || !isAboutLatest(status, data)) return null
  const known = take(status, fact, [part], parts)
  const arrived = [...known.parts, part].sort((a, b) => a - b)
  return { ...known, parts: arrived, deliveredAt: arrived.length === parts ? at : null }
}

/** A recipient who answers a thousand times must not make every status lookup slow. */
const MAX_ANSWERS = 100

function answered(status: DeliveryStatus, { at, data }: Fact): DeliveryStatus | null {
  const { answer = '', answerId = null, answerIds = answerId === null ? [] : [answerId] } = data
  const isKnown = status.answers.some(({ id }) => id !== null && answerIds.includes(id))
  if (status.answers.length >= MAX_ANSWERS || isKnown) return null
  return { ...status, answeredAt: status.answeredAt ?? at, answers: [...status.answers, { text: answer, id: answerId }] }
}

/** A message that was taken and failed later is not refused. */
const wasRefused = ({ failure, sentAt, processedAt }: DeliveryStatus): boolean =>
  failure === 'rejected' && sentAt === null && processedAt === null

/** Whether a person may order another attempt. */
export const mayRevive = (status: DeliveryStatus): boolean =>
  status.state === 'dead' || isUnknown(status.state) || wasRefused(status)

/** A refused message becomes a new message when it is sent again; one with unknown outcome keeps its reference, so that a duplicate can be recognised. */
const revived = (status: DeliveryStatus): DeliveryStatus => ({
  ...queuedAgain(status, status.unknownCount),
  ...(isUnknown(status.state) ? {} : { ordinal: status.ordinal + 1, parts: [], taken: null }),
  failure: null,
  failureDetail: null,
  failedAt: null,
})

function failed(status: DeliveryStatus, { at, data }: Fact): DeliveryStatus {
  const { dead = false, failure = 'rejected', failureDetail = null } = data
  return { ...status, state: dead ? 'dead' : 'done', failure, failureDetail, failedAt: at }
}
