import type { Json } from './canonical-json.js'
import type { Channel } from './notification.js'
import { type DeliveryState, type DeliveryStatus, type Failure, isUnknown, type TakenParts } from './status.js'

/**
 * How facts change a delivery. Events are the facts, the status columns are their sum: the same function writes the
 * columns as facts arrive and rebuilds them from the events for comparison.
 */
export type FactType =
  | 'released' // a waiting step goes after all
  | 'reopened' // a step that was not needed waits again
  | 'processed' // a letter was taken into production
  | 'prepared' // a letter is ready for the post
  | 'sent'
  | 'delivered'
  | 'read'
  | 'confirmed'
  | 'link opened'
  | 'answered'
  | 'failed'
  | 'cancelled'
  | 'retried' // an attempt failed, the next one is planned
  | 'uncertain' // the bytes left, no answer came
  | 'unresolved' // no program can find out whether it was sent: a person decides
  | 'again' // this message ended without reaching anybody, another one follows
  | 'revived' // a person had it tried again
  | 'recorded' // the recording of a call is in our hands
  | 'note' // recorded as evidence, changes nothing (automated access, delay report)

export interface Fact {
  channel: Channel
  type: FactType
  at: Date
  source: string
  /** Why and how, for people and proofs; only these members matter to the status. */
  data: {
    failure?: Failure
    failureDetail?: string
    dead?: boolean
    /** Of an attempt that is repeated: its worker is gone, and nobody knows whether it was sent. */
    interrupted?: boolean
    /** Of an attempt that is repeated: the carrier says that it never took this message, so no outcome is unknown any more. */
    notTaken?: boolean
    cancelReason?: 'not needed' | 'finalized'
    answer?: string
    /** The carrier's name for an answer. */
    answerId?: string | null
    /** All the names under which it may be known already. */
    answerIds?: string[]
    /** Of a report: which message it speaks of. */
    ordinal?: number
    part?: number
    parts?: number
    /** Of a send without an answer: the parts whose answers came. */
    taken?: { parts: number[]; total: number }
    provider?: string
    /** In how many parts it left. */
    segments?: number
    trackingCode?: string
    /** SHA-256 of a call's recording. */
    recording?: string
    /** When it happened by whoever told of it, where the chain had gone on since: the status bears this date. */
    occurredAt?: string
    [member: string]: Json | undefined
  }
}

/** The status after a fact, or null when the fact tells nothing new (a report that came twice, or late). */
export function applyFact(status: DeliveryStatus, told: Fact): DeliveryStatus | null {
  const fact = { ...told, at: dateOf(status, told) }
  const next = settled(status, advance(status, fact), fact)
  const { trackingCode } = fact.data
  if (trackingCode === undefined || status.trackingCode !== null) return next
  // A report whose step is known already may still be the first to name the code.
  return { ...(next ?? status), trackingCode }
}

/** A refusal was none when the same message is known to have been taken, and a new message has no unknown outcomes yet. */
function settled(before: DeliveryStatus, next: DeliveryStatus | null, fact: Fact): DeliveryStatus | null {
  if (next === null) return null
  const known = next.ordinal > before.ordinal ? { ...next, doubts: 0 } : next
  return known.failure === 'rejected' && provesTaken(before, known, fact)
    ? { ...known, failure: null, failureDetail: null, failedAt: null }
    : known
}

/** Each of these says that the carrier, or the recipient, has the message. */
const PROOFS: readonly FactType[] = ['processed', 'sent', 'delivered', 'read', 'confirmed']

/** Of the latest message, and of the whole of it: one part that arrived says nothing of the others. */
const provesTaken = (before: DeliveryStatus, next: DeliveryStatus, { type, data }: Fact): boolean =>
  PROOFS.includes(type) &&
  isAboutLatest(before, data) &&
  (data.part === undefined || (type === 'delivered' && next.deliveredAt !== null))

/**
 * A letter handed over at ten was delivered at ten, even if an e-mail was opened at eleven and the post asked at noon. But no
 * step comes before those that it needs, whatever a carrier's clock says.
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

/** Whether a fact, by the status after it, says something of the whole message: of a part alone the sender need not hear. */
export const isOfWhole = ({ type, data }: Fact, { sentAt, deliveredAt }: DeliveryStatus): boolean =>
  data.part === undefined || (type === 'delivered' ? deliveredAt !== null : type !== 'sent' || sentAt !== null)

function advance(status: DeliveryStatus, fact: Fact): DeliveryStatus | null {
  const { at, data } = fact
  switch (fact.type) {
    case 'note':
      return status
    case 'retried':
      return isUnderWay(status) ? { ...status, state: 'queued', doubts: doubtsAfterRetry(status, data) } : null
    case 'released':
      return status.state === 'waiting' || status.cancelReason === 'not needed'
        ? { ...status, state: 'queued', cancelReason: null, cancelledAt: null }
        : null
    case 'uncertain':
      return isUnderWay(status) ? doubted(status, fact) : null
    case 'unresolved':
      return status.state === 'uncertain' ? { ...status, state: 'unresolved' } : null
    case 'again':
      return status.failure === null && status.deliveredAt === null && isAboutLatest(status, data)
        ? { ...reported(status, fact), state: 'queued', ordinal: status.ordinal + 1, parts: [], taken: null }
        : null
    case 'revived':
      return status.state === 'dead' || isUnknown(status.state) || wasRefused(status) ? revived(status) : null
    case 'processed':
      return isAboutLatest(status, data) && (status.processedAt === null || isUnderWay(status)) ? processed(status, at) : null
    case 'prepared':
      return status.preparedAt === null ? { ...processed(status, at), preparedAt: at } : null
    case 'cancelled':
      return status.state === 'waiting' || (status.cancelReason === 'not needed' && data.cancelReason === 'finalized')
        ? { ...status, state: 'cancelled', cancelReason: data.cancelReason!, cancelledAt: at }
        : null
    case 'reopened':
      return status.cancelReason === 'not needed' ? { ...status, state: 'waiting', cancelReason: null, cancelledAt: null } : null
    case 'sent':
      return isAboutLatest(status, data) && (status.sentAt === null || isUnderWay(status)) ? accepted(status, fact) : null
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
      // Whatever is on its way goes on: the answer is to an earlier message.
      return answered(isOnItsWay(status) ? status : sent(status, at), fact)
    case 'failed':
      return status.failure === null && isAboutLatest(status, data) && !wasHeard(status, data)
        ? failed(reported(status, fact), fact)
        : null
    case 'recorded':
      // Of a call that another one followed: kept as evidence, the status speaks of the latest.
      if (!isAboutLatest(status, data)) return status
      return status.trackingCode === data.recording ? null : { ...sent(status, at), trackingCode: data.recording ?? null }
  }
}

function doubtsAfterRetry({ doubts }: DeliveryStatus, { interrupted, notTaken }: Fact['data']): number {
  if (notTaken === true) return 0
  return interrupted === true ? doubts + 1 : doubts
}

/** The carrier has it: nobody sends it again. */
const processed = (status: DeliveryStatus, at: Date): DeliveryStatus => ({
  ...status,
  state: 'done',
  processedAt: status.processedAt ?? at,
})

/** A letter that was posted had been made, whether anybody told of it or not. */
const made = (status: DeliveryStatus, at: Date): DeliveryStatus =>
  status.channel === 'letter' ? { ...processed(status, at), preparedAt: status.preparedAt ?? at } : status

const sent = (status: DeliveryStatus, at: Date): DeliveryStatus => ({
  ...made(status, at),
  state: 'done',
  sentAt: status.sentAt ?? at,
  taken: null,
})

/** The carrier has it, or one part of it. */
function accepted(status: DeliveryStatus, fact: Fact): DeliveryStatus | null {
  const { part, parts = 1 } = fact.data
  // What another carrier delivered of it does not complete this one's.
  if (part === undefined) return sent(isAnother(status.taken, fact.data) ? { ...status, parts: [] } : status, fact.at)
  const next = take(status, fact, [part], parts)
  return next === status ? null : next
}

function doubted(status: DeliveryStatus, fact: Fact): DeliveryStatus {
  const { parts, total } = fact.data.taken ?? { parts: [], total: 1 }
  const known = parts.length === 0 ? status : take(status, fact, parts, total)
  return known.state === 'done' ? known : { ...known, state: 'uncertain', doubts: status.doubts + 1 }
}

/** Parts that are known to be with the carrier: all of them are a message that was sent, fewer must not hide what is missing. */
function take(status: DeliveryStatus, { at, data }: Fact, parts: readonly number[], total: number): DeliveryStatus {
  if (total === 1 || !isUnderWay(status)) return sent(status, at)
  const { taken } = status
  const isSame = taken !== null && !isAnother(taken, { ...data, segments: total })
  const known = [...new Set([...(isSame ? taken.parts : []), ...parts])].sort((a, b) => a - b)
  if (known.length === total) return sent(status, at)
  if (isSame) return known.length === taken.parts.length ? status : { ...status, taken: { ...taken, parts: known } }
  return { ...status, parts: [], taken: { by: data.provider ?? '', parts: known, total } }
}

/** Whether this speaks of a message that those parts do not belong to: of another carrier, or cut otherwise. */
const isAnother = (taken: TakenParts | null, { provider = taken?.by, segments = taken?.total }: Fact['data']): boolean =>
  taken !== null && (provider !== taken.by || segments !== taken.total)

const isOnItsWay = ({ state }: DeliveryStatus): boolean => state === 'queued' || state === 'sending'

const isUnderWay = ({ state, failure }: DeliveryStatus): boolean =>
  failure === null && (state === 'queued' || state === 'sending' || isUnknown(state))

/** What is told of an earlier message no longer matters once another one follows it. */
const isAboutLatest = (status: DeliveryStatus, { ordinal }: Fact['data']): boolean =>
  ordinal === undefined || ordinal >= status.ordinal

/**
 * Whatever a carrier tells of a message says that it had got it, even where it overtakes the answer to the send. But a letter
 * is sent when it is posted.
 */
const reported = (status: DeliveryStatus, { at, data }: Fact): DeliveryStatus =>
  data.ordinal === undefined || status.sentAt !== null || status.channel === 'letter' ? status : { ...status, sentAt: at }

/** A call that somebody listened to was answered, whatever is told of its end. */
const wasHeard = ({ deliveredAt }: DeliveryStatus, { failure }: Fact['data']): boolean =>
  deliveredAt !== null && (failure === 'no-answer' || failure === 'busy' || failure === 'machine')

/** A message in parts has arrived when all of them have. */
function delivered(status: DeliveryStatus, fact: Fact): DeliveryStatus | null {
  const { at, data } = fact
  const { part = 1, parts = 1 } = data
  if (parts === 1) return { ...sent(status, at), parts: [], deliveredAt: at }
  // Parts of an earlier message do not complete the one that followed it.
  if (status.parts.includes(part) || !isAboutLatest(status, data)) return null
  const known = take(status, fact, [part], parts)
  const arrived = [...known.parts, part].sort((a, b) => a - b)
  return { ...known, parts: arrived, deliveredAt: arrived.length === parts ? at : null }
}

/** Somebody who writes a thousand times must not make every lookup heavy. */
const MAX_ANSWERS = 100

function answered(status: DeliveryStatus, { at, data }: Fact): DeliveryStatus | null {
  const { answer = '', answerId = null, answerIds = answerId === null ? [] : [answerId] } = data
  const isKnown = status.answers.some(({ id }) => id !== null && answerIds.includes(id))
  if (status.answers.length >= MAX_ANSWERS || isKnown) return null
  return { ...status, answeredAt: status.answeredAt ?? at, answers: [...status.answers, { text: answer, id: answerId }] }
}

/** The carrier never took it: what was taken and failed later had its message. */
const wasRefused = ({ failure, sentAt, processedAt }: DeliveryStatus): boolean =>
  failure === 'rejected' && sentAt === null && processedAt === null

/** What is dead was refused, and is a new message when it goes again; what is uncertain keeps its reference. */
const revived = (status: DeliveryStatus): DeliveryStatus => ({
  ...status,
  state: 'queued',
  ...(isUnknown(status.state) ? {} : { ordinal: status.ordinal + 1, parts: [], taken: null }),
  failure: null,
  failureDetail: null,
  failedAt: null,
})

function failed(status: DeliveryStatus, { at, data }: Fact): DeliveryStatus {
  const state: DeliveryState = data.dead === true ? 'dead' : 'done'
  return { ...status, state, failure: data.failure ?? 'rejected', failureDetail: data.failureDetail ?? null, failedAt: at }
}
