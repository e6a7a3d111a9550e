import type { FactDetail } from '../../channels/channel.js'
import { moduleOf } from '../../channels/registry.js'
import type { Json } from '../../domain/evidence/canonical-json.js'
import { hideLinks } from '../../domain/recipient/link.js'
import { brazilianDate, readIso } from '../../domain/text/dates.js'
import { cutText } from '../../domain/text/text.js'
import type { EventEntry, Fact } from './sections.js'

type Details = Pick<EventEntry, 'facts' | 'raw'>
type Data = { readonly [member: string]: Json }

/** What an event's data says, member by member, for people. A member that has no words here is shown under its own name. */
export function describeData(data: Data | null): Details {
  if (data === null)
    return { facts: [{ label: 'Dados', value: 'apagados, como a lei permite; o hash continua na cadeia' }], raw: [] }
  const { channel, ...members } = hideLinks(data)
  const explained = typeof channel === 'string' ? moduleOf(channel).explainFacts : undefined
  const facts: Fact[] = []
  const raw: { label: string; lines: readonly string[] }[] = []
  for (const [name, value] of Object.entries(members)) {
    if (HIDDEN.includes(name) || isEmpty(value) || (name === 'failureDetail' && value === members.reason)) continue
    for (const detail of explained?.[name]?.(value) ?? describeMember(name, value)) {
      if ('lines' in detail) raw.push({ label: detail.label, lines: cutLines(detail.lines) })
      else facts.push({ ...detail, value: cut(detail.value) })
    }
  }
  return { facts, raw }
}

/** Said elsewhere: in the label and the grade of the event, or in the parts of the document about the whole notification. */
const HIDDEN = [
  'account',
  'token',
  'answerIds',
  'claimed',
  'because',
  'signed',
  'automated',
  'dead',
  'deliveries',
  'attachments',
  'signals',
]
const isEmpty = (value: Json): boolean => value === null || value === '' || (Array.isArray(value) && value.length === 0)

/** What carriers and browsers say may be long; the bundle has it whole. */
const MAX_VALUE = 600
const MAX_LINES = 60
const MAX_LINE = 1_000

export const cut = (text: string, most = MAX_VALUE): string => (text.length <= most ? text : `${cutText(text, most)}… [cortado]`)

export function cutLines(lines: readonly string[]): string[] {
  const kept = lines.slice(0, MAX_LINES).map(line => cut(line, MAX_LINE))
  return lines.length > MAX_LINES ? [...kept, `[mais ${lines.length - MAX_LINES} linhas]`] : kept
}

const LABELS: Readonly<Record<string, string>> = {
  mode: 'Modo',
  customId: 'Referência do remetente',
  recipientName: 'Nome do destinatário',
  subject: 'Assunto',
  contentSha256: 'SHA-256 do conteúdo',
  carrier: 'Operadora (conexão)',
  reference: 'Nossa referência',
  attempt: 'Tentativa',
  answer: 'Resposta como veio',
  answerId: 'Identificador da resposta',
  reply: 'Texto recebido',
  reason: 'Motivo',
  failureDetail: 'Motivo da falha',
  ordinal: 'Mensagem nº',
  part: 'Parte',
  parts: 'De partes',
  tagged: 'Reconhecida só pela marca da mensagem',
  taken: 'Partes aceitas',
  segments: 'Partes',
  trackingCode: 'Código de rastreio',
  recording: 'SHA-256 da gravação',
  size: 'Tamanho (bytes)',
  seconds: 'Duração (segundos)',
  by: 'Ato',
  address: 'Endereço de rede',
  userAgent: 'Programa usado',
  fromSender: 'Rede do remetente',
  right: 'Resposta certa',
  try: 'Tentativa de resposta',
  locked: 'Bloqueado',
  lockedUntil: 'Bloqueado até',
  occurredAt: 'Aconteceu em',
  reportedAt: 'Hora dada pela operadora',
  status: 'Código de situação',
  diagnostic: 'Diagnóstico',
  finalRecipient: 'Destinatário final',
  action: 'Ação informada',
  disposition: 'Disposição',
  complaint: 'Reclamação',
  from: 'De',
  to: 'Para',
  files: 'Arquivos',
  forwarded: 'Encaminhada',
  optOut: 'Pediu para não receber mais',
  delayMs: 'Próxima tentativa em',
  until: 'Espera até',
  rule: 'Regra',
  earlier: 'Envio anterior',
  cancelReason: 'Por quê',
  interrupted: 'Interrompida',
  resolved: 'Apurada depois',
  lastNote: 'Última anotação guardada',
  unreadable: 'Ilegível',
  condition: 'Condição',
  'content.sha256': 'SHA-256 do enviado',
  'content.size': 'Tamanho do enviado',
  'content.type': 'Tipo do enviado',
  'content.hidden': 'Bytes encobertos',
  'content.secret': 'Compromisso com eles',
  'content.message.sha256': 'SHA-256 da mensagem original',
  'content.message.size': 'Tamanho da mensagem original',
  'content.message.type': 'Tipo da mensagem original',
  'original.sha256': 'SHA-256 do que chegou',
  'original.size': 'Tamanho do que chegou',
  'said.sha256': 'SHA-256 do que se falou',
  'said.size': 'Tamanho do que se falou',
  'receipt.sha256': 'SHA-256 do aviso de recebimento',
  'receipt.size': 'Tamanho do aviso de recebimento',
  'receipt.type': 'Tipo do aviso de recebimento',
}

/** Members whose values are hashes or identifiers of machines. */
const MACHINE = /sha256|secret|^(reference|carrier|recording|answerId|userAgent|address|answer|diagnostic)$/i

const VALUES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  by: {
    landing: 'abriu a página de entrada',
    open: 'apertou “Abrir a notificação”',
    question: 'viu a pergunta',
    reply: 'respondeu à pergunta',
    message: 'viu a mensagem',
    confirm: 'apertou “Confirmar recebimento”',
    receipt: 'abriu o comprovante',
    'not me': 'informou “Não sou esta pessoa”',
    image: 'o programa de e-mail carregou a imagem da mensagem',
    file: 'baixou um anexo',
    mdn: 'confirmação de leitura',
  },
  cancelReason: {
    'not needed': 'uma etapa anterior bastou',
    finalized: 'o remetente encerrou a régua',
    repeated: 'a pessoa já tinha recebido a mesma mensagem',
  },
  rule: {
    hours: 'horário de contato',
    day: 'dia da semana',
    holiday: 'feriado',
    perDay: 'limite de contatos por dia',
    repeat: 'mesma mensagem em andamento',
  },
  mode: { live: 'produção', test: 'teste (simulado)' },
}

function describeMember(name: string, value: Json, label = LABELS[name] ?? name): FactDetail[] {
  if (name === 'failure') return []
  if (name === 'fromSender')
    return value === true ? [{ label, value: 'o acesso veio de um endereço registrado pelo remetente' }] : []
  if (name === 'delayMs') return [{ label, value: `${Math.round(Number(value) / 1_000)} s` }]
  if (typeof value === 'string') return describeText(name, value, label)
  if (typeof value === 'number') return [{ label, value: String(value) }]
  if (typeof value === 'boolean') return [{ label, value: value ? 'sim' : 'não' }]
  if (Array.isArray(value)) return describeList(value, label)
  if (value === null) return []
  return Object.entries(value).flatMap(([member, inner]) =>
    isEmpty(inner) ? [] : describeMember(`${name}.${member}`, inner, LABELS[`${name}.${member}`] ?? `${label}: ${member}`),
  )
}

function describeText(name: string, text: string, label: string): FactDetail[] {
  const lines = text.split(/\r?\n/)
  if (lines.length > 2) return [{ label, lines }]
  const known = VALUES[name]?.[text] ?? text
  const date = /T\d\d:/.test(known) ? readIso(known) : null
  if (date !== null) return [{ label, value: brazilianDate(date) }]
  return [{ label, value: known, ...(MACHINE.test(name) ? { machine: true } : {}) }]
}

function describeList(items: readonly Json[], label: string): FactDetail[] {
  const texts = items.map(item => (typeof item === 'string' ? item : JSON.stringify(item)))
  return texts.length > 3 ? [{ label, lines: texts }] : [{ label, value: texts.join('; ') }]
}
