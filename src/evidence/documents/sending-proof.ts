import { moduleOf } from '../../channels/registry.js'
import { gradeLabels, gradeOf } from '../../domain/evidence/grade.js'
import type { Verification } from '../../domain/evidence/verification-code.js'
import { hideLinksIn } from '../../domain/recipient/link.js'
import { brazilianDate } from '../../domain/text/dates.js'
import { cutText } from '../../domain/text/text.js'
import type { Dossier } from '../../store/evidence/dossier.js'
import { cut } from './event-details.js'
import {
  channelOf,
  contextOf,
  eventOf,
  gradeTextOf,
  isSimulatedDossier,
  labelOf,
  momentOf,
  senderOf,
  statusOf,
  wasSent,
  wasUsed,
} from './facts-of.js'
import type { Cell, DocumentContent, Fact, Section } from './sections.js'

/** A page must hold everything about its channel. */
const MAX_STEPS = 8
const MAX_VALUE = 110
const MAX_ATTACHMENTS = 3
const MAX_FILE_NAME = 60
/** On a page that is full. */
const SHORT_FILE_NAME = 18
/** A page has room for so many lines of facts, steps and explanations, with a title of one line. */
const MAX_LINES = 30
/** The characters of a line, if all letters are wide. */
const LINE = 45
const LABEL_LINE = 24

/** The steps of a message that a short proof tells; the report tells every event. */
const STEPS = [
  'processed',
  'prepared',
  'sent',
  'delivered',
  'read',
  'link opened',
  'confirmed',
  'answered',
  'failed',
  'recorded',
  'uncertain',
  'unresolved',
]

/** The sending proof: a page for each channel that was used. */
export function makeSendingProof(dossier: Dossier, verification: Verification, signature: string): DocumentContent {
  const used = dossier.deliveries.filter(wasUsed)
  return {
    kind: 'Comprovante de envio',
    title: titleOf(dossier),
    reference: dossier.id,
    simulated: isSimulatedDossier(dossier),
    verification,
    ...brandOf(senderOf(dossier)),
    sections: used.flatMap((delivery, place): Section[] => [
      ...(place === 0 ? [] : [{ kind: 'page' } as const]),
      ...pageOf(dossier, delivery, signature),
    ]),
  }
}

const titleOf = ({ subject }: Dossier): string => cut(hideLinksIn(subject ?? 'Notificação'), 90)

const brandOf = ({ color, name, details }: ReturnType<typeof senderOf>) => ({ color, sender: { name, details } })

/** null: some channel was sent, so that there is a proof. */
export function whyNoSendingProof({ deliveries }: Dossier): string | null {
  if (deliveries.some(wasSent)) return null
  const isOver = deliveries.every(({ failure, state }) => failure !== null || state === 'cancelled')
  return isOver
    ? 'Não há envio a comprovar: nenhum canal desta notificação foi enviado. O laudo mostra o que foi tentado.'
    : 'Ainda não há o que comprovar: nenhum canal desta notificação foi enviado.'
}

function pageOf(dossier: Dossier, delivery: Dossier['deliveries'][number], signature: string): Section[] {
  const events = dossier.events.filter(event => channelOf(event) === delivery.channel && STEPS.includes(event.type))
  const rows = events.map((event): Cell[] => [
    { text: cut(labelOf(event), 80), strong: true },
    { text: momentOf(event) },
    { text: cut(gradeTextOf(event, dossier).text, 110) },
  ])
  const linesWith = (facts: readonly Fact[]): number => linesOf(facts, rows, titleOf(dossier))
  const whole = factsOf(dossier, delivery, MAX_FILE_NAME)
  const facts = linesWith(whole) <= MAX_LINES ? whole : factsOf(dossier, delivery, SHORT_FILE_NAME)
  return [
    { kind: 'title', title: titleOf(dossier) },
    { kind: 'status', ...statusOf(delivery) },
    { kind: 'facts', rows: facts },
    { kind: 'heading', title: 'O que aconteceu, e de quem é a palavra' },
    ...tableOf(rows),
    ...legendOf(events, dossier, MAX_LINES - linesWith(facts)),
    { kind: 'bottom' },
    { kind: 'verification', text: `O laudo desta notificação traz todos os eventos e como conferi-los. ${signature}` },
  ]
}

function factsOf(dossier: Dossier, delivery: Dossier['deliveries'][number], longestName: number): Fact[] {
  const { name, identity } = senderOf(dossier)
  const accepted = dossier.events[0]?.data as { contentSha256?: string } | null
  const facts: (Fact | null)[] = [
    { label: 'Canal', value: moduleOf(delivery.channel).label },
    { label: 'Destinatário', value: joined([dossier.recipientName, delivery.recipient]) || 'apagado' },
    { label: 'Remetente', value: joined([name, ...identity]) },
    { label: 'Identificador', value: dossier.id, machine: true },
    dossier.customId === null ? null : { label: 'Referência do remetente', value: dossier.customId },
    { label: 'Aceita em', value: `${brazilianDate(dossier.acceptedAt)} (horário de Brasília)` },
    delivery.trackingCode === null ? null : { label: 'Código de rastreio', value: delivery.trackingCode },
    accepted?.contentSha256 === undefined ? null : { label: 'SHA-256 do conteúdo', value: accepted.contentSha256, machine: true },
    ...dossier.attachments.slice(0, MAX_ATTACHMENTS).map(({ name: file, sha256 }) => ({
      label: `Anexo: ${file.length > longestName ? `${cutText(file, longestName - 1)}…` : file}`,
      value: sha256,
      machine: true,
    })),
    dossier.attachments.length > MAX_ATTACHMENTS
      ? { label: 'Anexos', value: `mais ${dossier.attachments.length - MAX_ATTACHMENTS}, listados no laudo` }
      : null,
  ]
  return facts.filter(fact => fact !== null).map(fact => ({ ...fact, value: cut(hideLinksIn(fact.value), MAX_VALUE) }))
}

const joined = (texts: readonly (string | null)[]): string => [...new Set(texts.filter(Boolean))].join(' · ')

/** At most: how many lines the page takes without the explanations. */
const linesOf = (facts: readonly Fact[], rows: readonly Cell[][], title: string): number =>
  2 * Math.ceil(title.length / LINE) +
  facts.reduce((lines, { label, value, machine }) => {
    const ownLines = machine === true ? 1 : Math.ceil(value.length / LINE)
    return lines + Math.max(ownLines, Math.ceil(label.length / LABEL_LINE))
  }, 0) +
  Math.min(rows.length, MAX_STEPS) * 1.5

/** What the words in the last column mean, for those that the page has room for; the report explains them all. */
function legendOf(events: Dossier['events'], dossier: Dossier, room: number): Section[] {
  const words = new Set(events.map(event => gradeOf(eventOf(event), contextOf(dossier)).word))
  const most = Math.floor(room / 2)
  if (words.size === 0 || most < 1) return []
  const rows = [...words].slice(0, most).map(word => ({ label: gradeLabels[word].short, value: gradeLabels[word].proves }))
  return [
    { kind: 'heading', title: 'O que cada palavra prova' },
    { kind: 'facts', rows },
  ]
}

function tableOf(rows: readonly Cell[][]): Section[] {
  if (rows.length === 0) return [{ kind: 'paragraph', text: 'Nenhum fato foi registrado por este canal até agora.' }]
  const table = { kind: 'table', columns: [5, 4, 7], head: ['Fato', 'Data (Brasília)', 'De quem é a palavra'] } as const
  // The first ones and the latest one: a proof says how it began and how it stands.
  const shown = rows.length <= MAX_STEPS ? rows : [...rows.slice(0, MAX_STEPS - 1), rows.at(-1)!]
  const more = rows.length - shown.length
  return [
    { ...table, rows: shown },
    ...(more === 0 ? [] : [{ kind: 'paragraph', small: true, text: `Mais ${more} fatos deste canal estão no laudo.` } as const]),
  ]
}
