import { type Static, Type } from 'typebox'
import { findModule, moduleOf } from '../../channels/registry.js'
import type { Channel } from '../../domain/channel.js'
import { brazilianIso } from '../../domain/text/dates.js'
import { type AnnouncedFact, DEFAULT_PAYLOAD_VERSION, type PayloadVersion, payloadVersions } from '../../domain/webhook.js'
import type { DisabledReason, WebhookEndpoint } from '../../store/webhook/endpoints.js'
import type { AttemptDetails, Interests } from '../../webhooks/endpoints.js'
import { wireStatuses } from '../../webhooks/payload.js'
import { channelName, isoDate, listOrNull, textOrNull, uuid } from './wire.js'

type WireStatus = (typeof wireStatuses)[AnnouncedFact]

export const factOfWireStatus = Object.fromEntries(Object.entries(wireStatuses).map(([fact, name]) => [name, fact])) as Record<
  WireStatus,
  AnnouncedFact
>

const statusName = Type.Unsafe<WireStatus>({ type: 'string', enum: Object.values(wireStatuses) })

/** The events, of the account and the mode of its token, that an endpoint or a listener gets. */
export const interests = {
  versao: Type.Optional(
    Type.Unsafe<PayloadVersion | null>({
      type: ['string', 'null'],
      enum: [...payloadVersions, null],
      description: `O formato dos avisos. Padrão: ${DEFAULT_PAYLOAD_VERSION}.`,
    }),
  ),
  canais: listOrNull<string>(channelName, { description: 'Vazia: todos os canais.' }),
  situacoes: listOrNull<WireStatus>(statusName, { description: 'Vazia: todas as situações.' }),
}
const interestsSchema = Type.Object(interests)

export const readInterests = ({ versao, canais, situacoes }: Static<typeof interestsSchema>): Interests => ({
  version: versao ?? DEFAULT_PAYLOAD_VERSION,
  channels: readChannels(canais ?? []),
  statuses: readStatuses(situacoes ?? []),
})

/** An empty list means all of them. */
export const readChannels = (names: readonly string[]): Channel[] | null =>
  names.length === 0 ? null : [...new Set(names.map(name => findModule(name)!.channel))]

export const readStatuses = (names: readonly WireStatus[]): AnnouncedFact[] | null =>
  names.length === 0 ? null : [...new Set(names.map(name => factOfWireStatus[name]))]

const endpointMembers = {
  id: uuid('O identificador do webhook.'),
  url: Type.String({ description: 'Para onde vão os avisos.' }),
  versao: Type.String({ enum: [...payloadVersions], description: 'O formato dos avisos.' }),
  canais: Type.Array(channelName, { description: 'Vazia: todos os canais.' }),
  situacoes: Type.Array(statusName, { description: 'Vazia: todas as situações.' }),
  ativo: Type.Boolean({ description: 'false: nada é entregue, e o que acontece fica guardado.' }),
  motivo: textOrNull('Por que está desativado: manual, 410 ou falhas.'),
  aviso: textOrNull('O que há de errado e como reparar.'),
  falhandoDesde: textOrNull('Primeira falha desde a última entrega.'),
  segredoAnteriorAte: textOrNull('Até quando o segredo anterior também assina.'),
  pendentes: Type.Integer({ description: 'Mensagens que ainda esperam entrega; a contagem para em 10.000.' }),
  pendenteDesde: textOrNull('Quando foi criada a mais antiga das que foram contadas.'),
  criadoEm: isoDate('Criação'),
}
export const endpointSchema = Type.Object(endpointMembers)
export const endpointWithSecretSchema = Type.Object({
  ...endpointMembers,
  segredo: Type.String({ description: 'Mostrado só nesta resposta. Guarde-o.', examples: ['whsec_…'] }),
})

export const disabledReasons: Record<DisabledReason, string> = { manual: 'manual', gone: '410', failing: 'falhas' }
const repairs: Record<DisabledReason, string | null> = {
  manual: null,
  gone: 'Desativado porque o servidor respondeu 410. Corrija a url, ative-o e peça o reenvio desde a data em que parou.',
  failing: 'Suspenso depois de cinco dias de falhas. Corrija o servidor, ative-o e peça o reenvio desde a data em que parou.',
}

const isoOrNull = (date: Date | null): string | null => (date === null ? null : brazilianIso(date))

export const endpointToWire = (endpoint: WebhookEndpoint): Static<typeof endpointSchema> => ({
  id: endpoint.id,
  url: endpoint.url,
  versao: endpoint.version,
  canais: (endpoint.channels ?? []).map(channel => moduleOf(channel).wire),
  situacoes: (endpoint.statuses ?? []).map(status => wireStatuses[status]),
  ativo: endpoint.disabledAt === null,
  motivo: endpoint.disabledReason && disabledReasons[endpoint.disabledReason],
  aviso: warning(endpoint),
  falhandoDesde: isoOrNull(endpoint.failingSince),
  segredoAnteriorAte: isoOrNull(endpoint.previousSecretUntil),
  pendentes: endpoint.waiting,
  pendenteDesde: isoOrNull(endpoint.oldestWaiting),
  criadoEm: brazilianIso(endpoint.createdAt),
})

function warning({ disabledReason, failingSince }: WebhookEndpoint): string | null {
  if (disabledReason !== null) return repairs[disabledReason]
  if (failingSince === null) return null
  return `As entregas falham desde ${brazilianIso(failingSince)}. Depois de cinco dias assim o webhook é suspenso.`
}

const states: Record<string, string> = {
  queued: 'na_fila',
  sending: 'em_entrega',
  done: 'entregue',
  dead: 'esgotada',
  held: 'guardada',
}

export const attemptSchema = Type.Object({
  id: Type.Integer({ description: 'O número da tentativa, para pedir a página seguinte.' }),
  mensagem: Type.String({ format: 'uuid', description: 'O webhook-id; peça o reenvio por ele.' }),
  tentativa: Type.Integer({ description: 'A quantas tentativas desta mensagem, a partir de 1.' }),
  em: isoDate('Quando começou'),
  duracaoMs: Type.Integer({ description: 'Quanto durou, em milissegundos.' }),
  recebido: Type.Boolean({ description: 'true: o servidor respondeu que recebeu.' }),
  erro: textOrNull('Por que falhou.'),
  notificationID: Type.String({ description: 'O idEmail da notificação.' }),
  canal: channelName,
  estado: Type.String({ enum: Object.values(states), description: 'Da mensagem, agora.' }),
  requisicao: Type.Object(
    {
      url: Type.String({ description: 'Para onde foi.' }),
      cabecalhos: Type.String({ description: 'Um por linha, sem a assinatura.' }),
      corpo: textOrNull('O aviso. null: o evento foi apagado.'),
    },
    { description: 'O que foi enviado.' },
  ),
  resposta: Type.Unsafe<{ status: number; cabecalhos: string; corpo: string } | null>({
    type: ['object', 'null'],
    description: 'O que o servidor respondeu. null: não houve resposta.',
    properties: {
      status: Type.Integer({ description: 'O código HTTP.' }),
      cabecalhos: Type.String({ description: 'Um por linha.' }),
      corpo: Type.String({ description: 'O começo do corpo.' }),
    },
    required: ['status', 'cabecalhos', 'corpo'],
  }),
})

export const attemptToWire = (attempt: AttemptDetails): Static<typeof attemptSchema> => ({
  id: attempt.id,
  mensagem: attempt.message,
  tentativa: attempt.attempt,
  em: brazilianIso(attempt.at),
  duracaoMs: attempt.durationMs,
  recebido: attempt.error === null,
  erro: attempt.error,
  notificationID: attempt.notification,
  canal: moduleOf(attempt.channel).wire,
  estado: states[attempt.state]!,
  requisicao: {
    url: attempt.url,
    cabecalhos: [
      'content-type: application/json',
      `webhook-id: ${attempt.message}`,
      `webhook-timestamp: ${Math.floor(attempt.at.getTime() / 1_000)}`,
      'webhook-signature: v1,***',
    ].join('\n'),
    corpo: attempt.requestBody,
  },
  resposta:
    attempt.status === null
      ? null
      : { status: attempt.status, cabecalhos: attempt.responseHeaders ?? '', corpo: attempt.responseBody ?? '' },
})
