import type { Channel } from './notification.js'

/** What became of a notification on one channel, and the Portuguese words for it. */
export type DeliveryState = 'waiting' | 'queued' | 'sending' | 'uncertain' | 'unresolved' | 'done' | 'dead' | 'cancelled'

/** Nobody knows whether it was sent: a program still finds out (uncertain), or only a person can (unresolved). */
export const isUnknown = (state: DeliveryState): boolean => state === 'uncertain' || state === 'unresolved'

export type Failure =
  | 'validation' // the e-mail address failed the check made before sending
  | 'rejected' // the carrier refused the message, or it could not be made
  | 'bounced' // an e-mail came back
  | 'undelivered' // the carrier took it and could not deliver
  | 'no-answer'
  | 'busy'
  | 'machine'
  | 'stranger' // whoever opened it says that they are not the recipient
  | 'returned' // a letter came back; the detail says why

export interface DeliveryStatus {
  channel: Channel
  state: DeliveryState
  /** An SMS that stands in for the e-mail (typeSend '1'): every other wait is a step of the account's sequence. */
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
  /** not needed: an earlier step did it; finalized: the sender ended the sequence. */
  cancelReason: 'not needed' | 'finalized' | null
  failure: Failure | null
  /** A reason's code for failed validations, otherwise a Portuguese reason. */
  failureDetail: string | null
  answers: Answer[]
  /** Of a letter; of a call, the SHA-256 of its recording. */
  trackingCode: string | null
  /** Which of several messages to the same recipient this is: a call after a busy one is a new message. */
  ordinal: number
  /** How often nobody knew whether it was sent. */
  doubts: number
  /** The delivered parts of a message that travels in several. */
  parts: number[]
  /** Those that are known to be with the carrier while nobody can tell of the others; null: there is no such doubt. */
  taken: TakenParts | null
}

export interface TakenParts {
  /** The provider that took them: no other can complete them. */
  by: string
  parts: number[]
  total: number
}

export interface Answer {
  text: string
  /** The carrier's name for it, so that one that is told twice counts once. */
  id: string | null
}

/** A delivery that nothing has happened to yet. */
export const newStatus = (
  channel: Channel,
  state: DeliveryState,
  acceptedAt: Date,
  isFallback: boolean = false,
): DeliveryStatus => ({
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
  ordinal: 1,
  doubts: 0,
  parts: [],
  taken: null,
})

export interface Step {
  label: string
  at: Date
}

/** Why an e-mail address fails before anything is sent: a short label and the whole sentence. */
export const validationFailures: Record<string, { label: string; description: string }> = {
  syntax: { label: 'Endereço inválido', description: 'O endereço de e-mail não segue as regras do domínio e não pode existir.' },
  'domain-missing': { label: 'Domínio inexistente', description: 'O domínio do endereço de e-mail não existe.' },
  'no-exchanger': {
    label: 'Domínio não recebe e-mail',
    description: 'O domínio do endereço não tem servidor que receba e-mails.',
  },
  disposable: { label: 'E-mail descartável', description: 'O endereço é de um serviço de e-mails descartáveis.' },
  suppressed: {
    label: 'Endereço suprimido',
    description: 'O endereço devolveu um envio anterior em definitivo, reclamou de um envio desta conta ou é de outra pessoa.',
  },
}

const failureLabels: Record<Channel, Partial<Record<Failure, string>>> = {
  email: { validation: 'Falha na validação', bounced: 'Devolvido' },
  sms: { undelivered: 'Não entregue' },
  whatsapp: { undelivered: 'Não entregue' },
  voice: { 'no-answer': 'Não atendida', busy: 'Ocupado', machine: 'Caixa postal', rejected: 'Falha na chamada' },
  letter: { rejected: 'Falha no processamento', returned: 'Devolvida', undelivered: 'Extraviada' },
}

function failureLabel(status: DeliveryStatus): string {
  if (status.failure === 'stranger') return 'Não é o destinatário'
  const label = failureLabels[status.channel][status.failure!] ?? 'Falha no envio'
  return status.failure === 'returned' && status.failureDetail !== null ? `${label}: ${status.failureDetail}` : label
}

/** The one line that says where a delivery stands. */
export function describe(status: DeliveryStatus): string {
  if (status.failure !== null) return failureLabel(status)
  if (isUnknown(status.state)) return 'Em verificação'
  if (status.cancelReason !== null) return cancelLabel(status)
  if (status.state === 'waiting' && status.isFallback) return 'Aguardando o e-mail'
  return topRung(status).label(status)
}

/** Why it failed, where more is known than the line above says; null: nothing is, or it did not fail. */
export function explainFailure(status: DeliveryStatus): string | null {
  const { failure, failureDetail } = status
  if (failure === null || failureDetail === null) return null
  const reason = failure === 'validation' ? validationFailures[failureDetail]?.description : failureDetail
  return reason === undefined || describe(status).endsWith(reason) ? null : reason
}

/** The same line, with the moment since when it holds. */
export const lastStep = (status: DeliveryStatus): Step => ({ label: describe(status), at: status[topRung(status).date]! })

/** Every step that happened, oldest first. Same moment: the higher one is the later one; sorting is stable. */
export const timeline = (status: DeliveryStatus): Step[] =>
  rungs
    .flatMap(({ date, label }) => (status[date] === null ? [] : [{ label: label(status), at: status[date] }]))
    .sort((a, b) => a.at.getTime() - b.at.getTime())

interface Rung {
  date: 'acceptedAt' | 'sentAt' | 'deliveredAt' | 'readAt' | 'confirmedAt' | 'answeredAt' | 'cancelledAt' | 'failedAt'
  label(status: DeliveryStatus): string
}

/** The steps, lowest first: a delivery receipt may come in after the reading, and the reading stands. */
const rungs: readonly Rung[] = [
  { date: 'acceptedAt', label: () => 'Processado' },
  { date: 'sentAt', label: () => 'Enviado' },
  { date: 'deliveredAt', label: () => 'Entregue' },
  { date: 'readAt', label: ({ channel }) => (channel === 'sms' ? 'Lido (acessou o link)' : 'Lido') },
  { date: 'confirmedAt', label: () => 'Confirmou o recebimento' },
  { date: 'answeredAt', label: () => 'Respondido' },
  { date: 'cancelledAt', label: cancelLabel },
  { date: 'failedAt', label: status => (status.failure === null ? '' : failureLabel(status)) },
]

const topRung = (status: DeliveryStatus): Rung => rungs.findLast(({ date }) => status[date] !== null)!

function cancelLabel(status: DeliveryStatus): string {
  if (status.cancelReason === 'finalized') return 'Finalizado'
  return status.isFallback ? 'Não enviado: e-mail entregue' : 'Não enviado: não foi necessário'
}
