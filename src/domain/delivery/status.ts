import type { Channel, ChannelTraits } from '../channel.js'

export const deliveryStates = ['waiting', 'queued', 'sending', 'uncertain', 'unresolved', 'done', 'dead', 'cancelled'] as const
export type DeliveryState = (typeof deliveryStates)[number]

/** Nobody knows whether it was sent: a program still finds out (uncertain), or only a person can (unresolved). */
export const isUnknown = (state: DeliveryState): boolean => state === 'uncertain' || state === 'unresolved'

/** The delivery is in the queue, an attempt runs, or the outcome of an attempt is unknown. */
export const isUnsettled = (state: DeliveryState): boolean => state === 'queued' || state === 'sending' || isUnknown(state)

export type Failure =
  | 'validation' // the e-mail address failed the check made before sending
  | 'rejected' // the carrier refused the message, or it could not be made
  | 'bounced' // an e-mail came back
  | 'undelivered' // the carrier took it and could not deliver
  | 'no-answer'
  | 'busy'
  | 'machine'
  | 'stranger' // whoever opened it says that they are not the recipient
  | 'returned' // it came back; the detail says why

/** not needed: an earlier step did it; finalized: the sender ended the sequence; repeated: the person has got the same message. */
export type CancelReason = 'not needed' | 'finalized' | 'repeated'

export interface DeliveryStatus {
  channel: Channel
  state: DeliveryState
  /** The delivery is the fallback for another channel; every other wait is a step of the account's sequence. */
  isFallback: boolean
  acceptedAt: Date
  processedAt: Date | null
  preparedAt: Date | null
  sentAt: Date | null
  deliveredAt: Date | null
  readAt: Date | null
  confirmedAt: Date | null
  linkOpenedAt: Date | null
  answeredAt: Date | null
  failedAt: Date | null
  cancelledAt: Date | null
  cancelReason: CancelReason | null
  failure: Failure | null
  /** A reason's code for failed validations, otherwise a Portuguese reason. */
  failureDetail: string | null
  answers: Answer[]
  /** The code by which the post follows a registered letter. */
  trackingCode: string | null
  /** The SHA-256 of the recording of a call, in hexadecimal digits. */
  recording: string | null
  /** Which of several messages to the same recipient this is: a call after a busy one is a new message. */
  ordinal: number
  /** How many attempts of this message ended with an unknown outcome. */
  unknownCount: number
  /** This message goes, or went, once more although a carrier may have it already: reports may be about either copy. */
  resent: boolean
  /** The delivered parts of a message that travels in several. */
  parts: number[]
  /** The parts that a carrier is known to have while the outcome of the others is unknown; null: there are none. */
  taken: TakenParts | null
}

export interface TakenParts {
  /** The carrier that took the parts: no other carrier can complete them. */
  by: string
  parts: number[]
  total: number
}

/** `id` is the carrier's, so that an answer that is reported twice counts once. */
type Answer = { text: string; id: string | null }

export const newStatus = (channel: Channel, state: DeliveryState, acceptedAt: Date, isFallback = false): DeliveryStatus => ({
  channel,
  state,
  isFallback,
  acceptedAt,
  processedAt: null,
  preparedAt: null,
  sentAt: null,
  deliveredAt: null,
  readAt: null,
  confirmedAt: null,
  linkOpenedAt: null,
  answeredAt: null,
  failedAt: null,
  cancelledAt: null,
  cancelReason: null,
  failure: null,
  failureDetail: null,
  answers: [],
  trackingCode: null,
  recording: null,
  ordinal: 1,
  unknownCount: 0,
  resent: false,
  parts: [],
  taken: null,
})

export type Step = { label: string; at: Date }

export function failureLabel(
  { failure, failureDetail }: Pick<DeliveryStatus, 'failure' | 'failureDetail'>,
  { labels }: ChannelTraits,
): string {
  if (failure === 'stranger') return 'Não é o destinatário'
  const label = labels.failures[failure!] ?? 'Falha no envio'
  return failure === 'returned' && failureDetail !== null ? `${label}: ${failureDetail}` : label
}

/** The present state of a delivery in one line. */
export function describe(status: DeliveryStatus, traits: ChannelTraits): string {
  if (status.failure !== null) return failureLabel(status, traits)
  if (isUnknown(status.state)) return UNKNOWN_LABEL
  if (status.cancelReason !== null) return cancelLabel(status, traits)
  if (status.state === 'waiting' && status.isFallback && traits.labels.waiting !== undefined) return traits.labels.waiting
  return highestLevel(status).label(status, traits)
}

/** Why it failed, where more is known than the description says; null: nothing more is known, or it did not fail. */
export function explainFailure(status: DeliveryStatus, traits: ChannelTraits): string | null {
  const { failure, failureDetail } = status
  if (failure === null || failureDetail === null) return null
  const { explain = () => failureDetail } = traits.labels
  const reason = explain(failure, failureDetail)
  return reason === null || describe(status, traits).endsWith(reason) ? null : reason
}

/** A status, and since when its outcome is unknown; null: the outcome is known. */
export type DatedStatus = DeliveryStatus & { unknownSince: Date | null }

/** The description, and since when it is valid. */
export function lastStep(status: DatedStatus, traits: ChannelTraits): Step {
  return unknownStep(status) ?? { label: describe(status, traits), at: status[highestLevel(status).date]! }
}

const UNKNOWN_LABEL = 'Em verificação'

const unknownStep = ({ state, failure, unknownSince }: DatedStatus): Step | null =>
  isUnknown(state) && failure === null && unknownSince !== null ? { label: UNKNOWN_LABEL, at: unknownSince } : null

/** Every step that happened, oldest first. Of two steps at the same moment the higher level comes last; sorting is stable. */
export const timeline = (status: DatedStatus, traits: ChannelTraits): Step[] =>
  levels
    .flatMap(({ date, label }) => (status[date] === null ? [] : [{ label: label(status, traits), at: status[date] }]))
    .concat(unknownStep(status) ?? [])
    .sort((a, b) => a.at.getTime() - b.at.getTime())

interface Level {
  date: 'acceptedAt' | 'sentAt' | 'deliveredAt' | 'readAt' | 'confirmedAt' | 'answeredAt' | 'cancelledAt' | 'failedAt'
  label(status: DeliveryStatus, traits: ChannelTraits): string
}

/** The levels of a status, lowest first. A delivery receipt that arrives after the reading does not lower the status. */
const levels: readonly Level[] = [
  { date: 'acceptedAt', label: () => 'Processado' },
  { date: 'sentAt', label: () => 'Enviado' },
  { date: 'deliveredAt', label: () => 'Entregue' },
  { date: 'readAt', label: (_, { labels }) => labels.read ?? 'Lido' },
  { date: 'confirmedAt', label: () => 'Confirmou o recebimento' },
  { date: 'answeredAt', label: () => 'Respondido' },
  { date: 'cancelledAt', label: cancelLabel },
  { date: 'failedAt', label: (status, traits) => (status.failure === null ? '' : failureLabel(status, traits)) },
]

const highestLevel = (status: DeliveryStatus): Level => levels.findLast(({ date }) => status[date] !== null)!

function cancelLabel({ cancelReason, isFallback }: DeliveryStatus, { labels }: ChannelTraits): string {
  if (cancelReason === 'finalized') return 'Finalizado'
  if (cancelReason === 'repeated') return 'Não enviado: mensagem repetida'
  return (isFallback ? labels.notNeeded : undefined) ?? 'Não enviado: não foi necessário'
}
