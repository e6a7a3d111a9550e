import type { ChannelTraits } from '../channel.js'
import { failureLabel } from './status.js'
import type { Fact, FactType, Objection } from './transition.js'

/** The events of a notification in words, for its timeline. */
const labels: Readonly<Record<Exclude<FactType, 'note' | 'failed'> | 'accepted', string>> = {
  accepted: 'Aceita para processamento',
  released: 'Etapa liberada para envio',
  reopened: 'Etapa volta a esperar',
  processed: 'Em produção na operadora',
  prepared: 'Produzida pela operadora',
  sent: 'Enviado',
  delivered: 'Entregue',
  read: 'Lido',
  confirmed: 'Confirmou o recebimento',
  'link opened': 'Acessou o link',
  answered: 'Respondido',
  cancelled: 'Etapa cancelada',
  postponed: 'Espera pelas regras de contato',
  retried: 'Tentativa sem sucesso: outra está marcada',
  uncertain: 'Em verificação: não se sabe se a operadora recebeu',
  unresolved: 'Em verificação: uma pessoa decide',
  again: 'Sem sucesso: outra mensagem está marcada',
  revived: 'Retomado por um operador',
  recorded: 'Gravação guardada',
}

const objections: Readonly<Record<Objection, string>> = {
  'read before': 'já havia leitura',
  'confirmed before': 'o recebimento já estava confirmado',
  'delivered before': 'a mensagem, enviada mais de uma vez, já havia sido entregue',
  'another copy': 'pode falar de outra cópia da mensagem, enviada mais de uma vez',
  'not delivered': 'a entrega ainda não era conhecida',
  'another message': 'fala de outra mensagem',
  'another recipient': 'é de outro endereço',
  'not asked for': 'não foi pedido',
}

/** `traits`: of the event's channel; the first event has none. `data`: empty where it was erased. */
export function labelEvent(type: FactType | 'accepted', data: Fact['data'], traits: ChannelTraits | null): string {
  if (type === 'note') return labelNote(data, traits)
  if (type === 'failed') return traits === null ? 'Falhou' : labelFailure(data, traits)
  return type === 'read' ? (traits?.labels.read ?? labels.read) : labels[type]
}

const labelFailure = ({ failure = 'rejected', failureDetail }: Fact['data'], traits: ChannelTraits): string =>
  failureLabel({ failure, failureDetail: failureDetail ?? null }, traits)

/** The order is that of what says most. */
function labelNote(data: Fact['data'], traits: ChannelTraits | null): string {
  const { claimed, because } = data
  if (claimed !== undefined) {
    const what = labelEvent(claimed, data, traits)
    return because === undefined ? `Não contou: ${what}` : `Não contou: ${what} (${objections[because]})`
  }
  if (data.right === false) return 'Resposta errada à pergunta'
  if (data.complaint !== undefined) return 'Reclamação do destinatário'
  if (data.forwarded !== undefined) return data.forwarded === true ? 'Resposta encaminhada' : 'Resposta não encaminhada'
  if (data.content !== undefined) return 'Conteúdo guardado como saiu'
  if (data.receipt !== undefined) return 'Aviso de recebimento guardado'
  if (data.automated === true) return data.reply === true ? 'Resposta automática' : 'Acesso automático'
  return 'Anotação'
}
