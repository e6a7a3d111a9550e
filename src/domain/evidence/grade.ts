import { addressGroup, isAddress } from '../access/address-range.js'
import { SIMULATED } from '../delivery/carrier-source.js'
import type { Json } from './canonical-json.js'

/**
 * Who answers for an event. The order is that of what it proves about the recipient: the words before 'device' prove nothing of it.
 *
 * - sender: what the sender, or anybody else, could have caused
 * - gateway: what this program did or saw itself
 * - operator: what a person of the operation decided
 * - carrier: what a carrier told over the connection that we share with it
 * - signed carrier: the same, with a signature that was verified
 * - device: whoever has the recipient's link, or their mailbox, opened the message there
 * - answer: the same, by somebody who knew the answer to the sender's question
 * - reply: what was written from the recipient's own number or address
 */
export const gradeWords = ['sender', 'gateway', 'operator', 'carrier', 'signed carrier', 'device', 'answer', 'reply'] as const
export type GradeWord = (typeof gradeWords)[number]

export interface Grade {
  word: GradeWord
  /** Why the act is taken for a program's (robot.ts); null: nothing says so. */
  automated: readonly string[] | null
}

export interface GradedEvent {
  type: string
  source: string
  /** null: it was erased. */
  data: { readonly [member: string]: Json | undefined } | null
}

/** What the grade of an event depends on, beside the event. */
export interface GradeContext {
  /** The address from which the notification was sent; null: it was erased. */
  senderAddress: string | null
  /** The content is shown after the answer to a question only. */
  hasQuestion: boolean
}

/** The acts of the recipient: no others can be graded 'device' or higher. */
export const isRecipientsAct = ({ word }: Grade): boolean => word === 'device' || word === 'answer' || word === 'reply'

/** The steps of the recipient's pages that are reached with the right answer only, where there is a question. */
const BEHIND_THE_QUESTION = ['message', 'confirm', 'receipt', 'file']

export function gradeOf(event: GradedEvent, context: GradeContext): Grade {
  const { type, source, data } = event
  if (source === 'operator') return graded('operator')
  if (source === 'api') return graded(type === 'accepted' ? 'gateway' : 'sender')
  if (source === 'recipient') return gradeVisit(event, context)
  if (source.startsWith('report:')) return gradeReport(event)
  if (!isCarrier(source)) return graded('gateway')
  if (type === 'answered') return graded('reply')
  if (type === 'unresolved') return graded('gateway')
  return graded(saysCarrier(type, data) ? 'carrier' : 'gateway')
}

/** Attempts and replies have the carrier's identity as their source; a recording is fetched from one. */
const isCarrier = (source: string): boolean => source.includes(':') || source.startsWith(SIMULATED) || source === 'recording'

/** Whether an event comes from a simulated carrier: nothing of it happened in the world. */
export const isSimulated = ({ source, data }: GradedEvent): boolean =>
  [source.replace(/^report:/, ''), data?.carrier].some(name => typeof name === 'string' && name.startsWith(SIMULATED))

const graded = (word: GradeWord, automated: readonly string[] | null = null): Grade => ({ word, automated })

/**
 * An access to the recipient's link. The address decides first: an access from where the notification was sent, or from an address
 * that its account had registered, may be the sender's. Erased data could have said so.
 */
function gradeVisit({ type, data }: GradedEvent, { senderAddress, hasQuestion }: GradeContext): Grade {
  if (data === null) return graded('sender')
  const signals = Array.isArray(data.signals) ? data.signals.filter(signal => typeof signal === 'string') : []
  const automated = signals.length > 0 ? signals : data.automated === true ? [] : null
  if (data.fromSender === true || senderAddress === null || !isElsewhere(data.address, senderAddress))
    return graded('sender', automated)
  if (automated !== null) return graded('device', automated)
  return graded(hasQuestion && provesAnswer(type, data) ? 'answer' : 'device')
}

/** An IPv6 host takes new addresses of its network every day. An address that cannot be compared is not known to be another's. */
const isElsewhere = (address: Json | undefined, senders: string): boolean =>
  typeof address === 'string' && isAddress(address) && isAddress(senders) && addressGroup(address) !== addressGroup(senders)

function provesAnswer(type: string, { by, right, locked }: NonNullable<GradedEvent['data']>): boolean {
  if (by === 'reply') return right !== false && locked !== true
  return typeof by === 'string' && BEHIND_THE_QUESTION.includes(by) && type !== 'failed'
}

/** Reports reach us in the carrier's callbacks, over its connection, or as messages to a return address. */
function gradeReport({ type, source, data }: GradedEvent): Grade {
  const kind = source.slice('report:'.length)
  if (kind === 'mdn') {
    // A receipt that a mailbox sends by itself, or that nobody asked for, shows no person.
    if (data === null || data.because !== undefined) return graded('sender')
    return graded('device', data.automated === true ? ['automatic receipt'] : null)
  }
  if (kind === 'reply') return graded(type === 'answered' ? 'reply' : 'sender')
  if (kind === 'automatic') return graded('device', ['automatic reply'])
  if (kind === 'unreadable') return graded('sender')
  // A report about another message or recipient may have been written by anybody who knows the return address.
  if (data?.because === 'another message' || data?.because === 'another recipient') return graded('sender')
  return graded(data?.signed === true ? 'signed carrier' : 'carrier')
}

/** Facts that only the carrier's own words establish; those of a failure may be ours, for example that no connection was made. */
function saysCarrier(type: string, data: GradedEvent['data']): boolean {
  if (type === 'failed' || type === 'retried' || type === 'uncertain')
    return typeof data?.answer === 'string' && !OWN_WORDS.test(data.answer)
  return true
}

/** How SendError words a failure for which there is no answer of the carrier. */
const OWN_WORDS = /^(temporary|throttled|permanent|uncertain): /

/** The context of a notification's events, from its first one. */
export const gradeContext = (accepted: GradedEvent | undefined, hasQuestion: boolean): GradeContext => {
  const address = accepted?.data?.address
  return { senderAddress: typeof address === 'string' ? address : null, hasQuestion }
}

/** A grade for programs, and in words for people: short for lists, and what it proves. */
export const gradeLabels: Readonly<Record<GradeWord, { wire: string; short: string; proves: string }>> = {
  sender: {
    wire: 'remetente',
    short: 'Remetente ou qualquer pessoa',
    proves:
      'O próprio remetente, ou qualquer outra pessoa, pode ter causado isto. Não prova ato do destinatário. Vale, por exemplo, para acessos vindos dos endereços de rede do remetente.',
  },
  gateway: {
    wire: 'sistema',
    short: 'Registro próprio',
    proves: 'Este sistema fez ou viu isto, e o registrou no momento. Prova o que o sistema fez, não o que o destinatário fez.',
  },
  operator: {
    wire: 'operador',
    short: 'Pessoa da operação',
    proves: 'Uma pessoa que administra o sistema decidiu ou informou isto. Prova que ela o registrou.',
  },
  carrier: {
    wire: 'operadora',
    short: 'Operadora',
    proves:
      'A operadora que transportou a mensagem o informou pela conexão que mantém com o sistema, sem assinatura. Prova o que ela informou, e quando.',
  },
  'signed carrier': {
    wire: 'operadora-assinada',
    short: 'Operadora, com assinatura',
    proves:
      'A operadora o informou numa mensagem com código de autenticação (HMAC), conferido na chegada. Prova que quem informou conhece a chave da operadora.',
  },
  device: {
    wire: 'aparelho',
    short: 'Aparelho do destinatário',
    proves:
      'Alguém com acesso à mensagem do destinatário a abriu: o link, que só ele recebeu, ou a imagem do e-mail. Indica leitura no aparelho ou na caixa dele; não identifica a pessoa.',
  },
  answer: {
    wire: 'resposta-certa',
    short: 'Destinatário, pela resposta certa',
    proves:
      'Além de ter o link do destinatário, a pessoa deu a resposta certa à pergunta do remetente. Indica que foi quem conhece essa resposta.',
  },
  reply: {
    wire: 'resposta',
    short: 'Resposta do destinatário',
    proves:
      'Uma mensagem escrita a partir do número ou endereço para o qual a notificação foi enviada. Indica que quem usa esse contato a recebeu e respondeu.',
  },
}

/** The signals of a program in words for people. */
const signalLabels: Readonly<Record<string, string>> = {
  method: 'método incomum',
  'no user agent': 'não disse que programa é',
  scanner: 'é um verificador de links',
  'prefetching proxy': 'intermediário que carrega imagens antes do leitor',
  'prefetch header': 'carregamento antecipado',
  'too soon': 'cedo demais depois do envio',
  'no page': 'formulário que não veio de uma página nossa',
  'too soon after the page': 'rápido demais para uma pessoa',
  trap: 'preencheu o que as pessoas não veem',
  'steered browser': 'navegador comandado por um programa',
  'not a navigation': 'um script no lugar de uma página',
  'bare client': 'programa com nome de navegador',
  'automatic receipt': 'recibo automático',
  'automatic reply': 'resposta automática',
}

export const labelSignal = (signal: string): string => signalLabels[signal] ?? signal
