import { moduleOf } from '../../channels/registry.js'
import { labelEvent } from '../../domain/delivery/event-label.js'
import { type DatedStatus, describe, explainFailure, isUnknown } from '../../domain/delivery/status.js'
import type { FactType, Fact as RecordedFact } from '../../domain/delivery/transition.js'
import {
  type GradedEvent,
  gradeContext,
  gradeLabels,
  gradeOf,
  isRecipientsAct,
  isSimulated,
  labelSignal,
} from '../../domain/evidence/grade.js'
import { hideLinks } from '../../domain/recipient/link.js'
import { brandColor, brandName, senderDetails, senderLines, showDetail } from '../../domain/send/sender.js'
import { brazilianDate } from '../../domain/text/dates.js'
import type { Dossier } from '../../store/evidence/dossier.js'
import { describeData } from './event-details.js'
import type { EventEntry } from './sections.js'

type LoggedData = RecordedFact['data'] & { channel?: string }

export const eventOf = ({ type, source, data }: Dossier['events'][number]): GradedEvent => ({
  type,
  source,
  data: data as GradedEvent['data'],
})

export const channelOf = ({ data }: Dossier['events'][number]): string | null => {
  const channel = (data as { channel?: unknown } | null)?.channel
  return typeof channel === 'string' ? channel : null
}

/** When something happened: the source may have named an earlier time than that of the record. */
export function momentOf({ at, data }: Dossier['events'][number]): string {
  const occurredAt = (data as { occurredAt?: unknown } | null)?.occurredAt
  return brazilianDate(new Date(typeof occurredAt === 'string' ? occurredAt : at))
}

export const contextOf = ({ events, question }: Dossier) =>
  gradeContext(events[0] === undefined ? undefined : eventOf(events[0]), question !== null)

export const isSimulatedDossier = ({ mode, events }: Dossier): boolean =>
  mode === 'test' || events.some(event => isSimulated(eventOf(event)))

export function labelOf(event: Dossier['events'][number]): string {
  const channel = channelOf(event)
  const data = hideLinks((event.data ?? {}) as LoggedData)
  const label = labelEvent(event.type as FactType | 'accepted', data, channel === null ? null : moduleOf(channel))
  return label === PLAIN_NOTE ? nameNote(event) : label
}

const PLAIN_NOTE = labelEvent('note', {}, null)

/** A note that says nothing else is at least named by who told it. */
const nameNote = ({ source }: Dossier['events'][number]): string =>
  source === 'recipient' ? 'Acesso ao link' : source.startsWith('report:') ? 'Aviso da operadora' : PLAIN_NOTE

export function gradeTextOf(event: Dossier['events'][number], dossier: Dossier): { text: string; tone: EventEntry['tone'] } {
  const grade = gradeOf(eventOf(event), contextOf(dossier))
  const { short: name } = gradeLabels[grade.word]
  const short = isSimulated(eventOf(event)) ? `${name} (simulada)` : name
  if (grade.automated !== null) {
    const signals = grade.automated.map(labelSignal).join('; ')
    return { text: `${short} · tido como ato de um programa${signals === '' ? '' : `: ${signals}`}`, tone: 'machine' }
  }
  return { text: short, tone: isRecipientsAct(grade) ? 'recipient' : 'plain' }
}

export function entryOf(event: Dossier['events'][number], dossier: Dossier): EventEntry {
  const channel = channelOf(event)
  const { text, tone } = gradeTextOf(event, dossier)
  return {
    seq: event.seq,
    at: brazilianDate(new Date(event.at)),
    label: labelOf(event),
    channel: channel === null ? '' : moduleOf(channel).label,
    grade: `De quem é a palavra: ${text}`,
    tone,
    ...describeData(event.data as Parameters<typeof describeData>[0]),
  }
}

export const senderOf = ({ sender: { name, settings } }: Dossier) => ({
  name: brandName(settings, name),
  details: senderLines(settings),
  /** Who it is by law: name and CNPJ. */
  identity: senderDetails(settings)
    .slice(0, 2)
    .filter(({ label }) => label === '' || label === 'CNPJ')
    .map(showDetail),
  color: brandColor(settings),
})

/** The status of a channel: in a line, why, and whether it is an end. */
export function statusOf(status: DatedStatus): { text: string; note: string; tone: 'good' | 'bad' | 'open' } {
  const module = moduleOf(status.channel)
  const text = describe(status, module)
  if (status.failure !== null) return { text, note: explainFailure(status, module) ?? '', tone: 'bad' }
  const reached = status.deliveredAt ?? status.readAt ?? status.confirmedAt ?? status.answeredAt
  if (reached !== null) return { text, note: '', tone: 'good' }
  if (status.state === 'cancelled') return { text, note: 'Nada foi enviado por este canal.', tone: 'open' }
  if (isUnknown(status.state))
    return { text, note: 'Não se sabe se a operadora recebeu a mensagem: isto ainda é apurado.', tone: 'open' }
  const note =
    status.sentAt === null
      ? 'Em andamento: ainda não há prova de envio por este canal.'
      : 'Em andamento: o envio está provado, a entrega ainda não.'
  return { text, note, tone: 'open' }
}

/** The message left: only then is there anything to prove. */
export const wasSent = ({ sentAt, deliveredAt }: DatedStatus): boolean => sentAt !== null || deliveredAt !== null

/** Attempted or ended, so that a document has something to say of the channel. */
export const wasUsed = (status: DatedStatus): boolean =>
  wasSent(status) || status.processedAt !== null || status.failure !== null || status.unknownSince !== null
