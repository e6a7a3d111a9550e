import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import type { ChannelContract } from '../../channels/channel-contract.js'
import { channelModules } from '../../channels/registry.js'
import type { Channel } from '../../domain/channel.js'
import { deliveryStates } from '../../domain/delivery/status.js'
import { refuse } from '../../domain/errors.js'
import { readId } from '../../domain/id.js'
import type { Scope } from '../../domain/scope.js'
import { brazilianIso, readDay, readIso } from '../../domain/text/dates.js'
import { countCharacters, isStorable } from '../../domain/text/text.js'
import type { FoundNotification } from '../../store/notification/found-notifications.js'
import { PAGE_SIZE, type Search, searchNotifications } from '../../store/notification/search.js'
import type { Pool } from '../../store/postgres.js'
import { wireStatuses } from '../../webhooks/payload.js'
import { readChannel, refuseValue } from '../channel-name.js'
import { codeSchema, lastStepSchema, toLast } from './status.js'
import { factOfWireStatus } from './webhook-wire.js'
import { channelName, statusCode, textOrNull, uuid } from './wire.js'

export interface SearchOptions {
  pool: Pool
  contracts: ReadonlyMap<Channel, ChannelContract>
}

const MAX_CUSTOM_ID_CHARACTERS = 255
const statusNames: readonly string[] = [...Object.values(wireStatuses), ...deliveryStates]
const moment = 'Um dia de Brasília (2026-07-18) ou um momento em ISO 8601 com fuso.'

const parameter = (description: string) => Type.Optional(Type.String({ description }))
const querySchema = Type.Object({
  customID: parameter('A referência dada no envio, inteira.'),
  recipient: parameter(
    'O contato do canal, inteiro: o e-mail, o número (só dígitos) ou o `name` dado ao canal. Não procura em `nameTo`.',
  ),
  channel: parameter(`Um canal: ${channelModules.map(({ wire }) => wire).join(', ')}.`),
  status: parameter(
    `O que já aconteceu (${Object.values(wireStatuses).join(', ')}) ou o estado de agora (${deliveryStates.join(', ')}).`,
  ),
  from: parameter(`Aceitas desde. ${moment}`),
  to: parameter(`Aceitas até: um dia conta inteiro, um momento não conta. ${moment}`),
  cursor: parameter('O `cursor` da página anterior.'),
})
type Query = Static<typeof querySchema>

const deliverySchema = Type.Object({
  canal: channelName,
  destinatario: textOrNull('null: foi apagado, ou não foi dado.'),
  estado: Type.Unsafe<string>({
    type: 'string',
    enum: [...deliveryStates],
    description: 'O estado do envio por este canal, agora.',
  }),
  ...lastStepSchema.properties,
})
const foundSchema = Type.Object({
  idEmail: uuid('O identificador que o envio devolveu.'),
  codEmail: codeSchema,
  customID: textOrNull('A referência dada no envio.'),
  nameTo: textOrNull('null: foi apagado.'),
  subject: textOrNull('null: foi apagado.'),
  criadoEm: Type.String({ description: 'Quando foi aceita.' }),
  canais: Type.Array(deliverySchema, { description: 'Os canais do envio, cada um com a sua situação.' }),
})
const pageSchema = Type.Object({
  data: Type.Array(foundSchema, { description: 'As notificações desta página.' }),
  cursor: textOrNull('Para pedir a página seguinte; null: não há mais.'),
  statusCode,
})

/** GET /gw/notifications: the notifications of the caller's account and mode, newest first. */
export function addSearch(app: FastifyInstance, { pool, contracts }: SearchOptions): void {
  app.get<{ Querystring: Query }>(
    '/gw/notifications',
    {
      schema: {
        summary: 'Lista e busca as notificações da conta, da mais nova à mais antiga',
        description: `Até ${PAGE_SIZE.notifications} por página. Canal, situação e destinatário se referem ao mesmo envio. Numa busca por algo raro uma página pode vir curta ou vazia com \`cursor\`: a seguinte continua.`,
        tags: ['Situação'],
        querystring: querySchema,
        response: { 200: pageSchema },
      },
    },
    async request => {
      const found = await searchNotifications(pool, readSearch(request.query, request.caller, contracts))
      return { data: found.notifications.map(toWire), cursor: found.next, statusCode: 200 }
    },
  )
}

const toWire = ({ id, code, customId, recipientName, subject, acceptedAt, deliveries }: FoundNotification) => ({
  idEmail: id,
  codEmail: code,
  customID: customId,
  nameTo: recipientName,
  subject,
  criadoEm: brazilianIso(acceptedAt),
  canais: channelModules.flatMap(({ channel, wire }) =>
    deliveries
      .filter(delivery => delivery.channel === channel)
      .map(delivery => ({ canal: wire, destinatario: delivery.recipient, estado: delivery.state, ...toLast(delivery) })),
  ),
})

/** An empty parameter counts as absent. */
function readSearch(query: Query, { account, mode }: Scope, contracts: SearchOptions['contracts']): Search {
  const given = (name: keyof Query): string | null => {
    const text = query[name] ?? ''
    if (!isStorable(text)) refuse('badParameter', name)
    return text === '' ? null : text
  }
  const read = <T>(name: keyof Query, reader: (text: string) => T): T | null => {
    const text = given(name)
    return text === null ? null : reader(text)
  }
  const channel = read('channel', text => readChannel(text, { parameter: 'channel' }))
  const search = {
    scope: { account, mode },
    customId: read('customID', readCustomId),
    recipients: read('recipient', text => readRecipient(text, channel, contracts)),
    channel,
    status: read('status', readStatus),
    fromMs: read('from', text => readMoment(text, 'from', 'start')),
    toMs: read('to', text => readMoment(text, 'to', 'end')),
    before: read('cursor', text => readId(text) ?? refuse('badCursor')),
  }
  if (search.fromMs !== null && search.toMs !== null && search.toMs <= search.fromMs) refuse('emptySpan')
  return search
}

const readCustomId = (text: string): string =>
  countCharacters(text) > MAX_CUSTOM_ID_CHARACTERS
    ? refuse('tooLongParameter', 'customID', String(MAX_CUSTOM_ID_CHARACTERS))
    : text

export function readStatus(name: string): NonNullable<Search['status']> {
  if (!statusNames.includes(name)) refuseValue({ parameter: 'status' }, statusNames)
  const state = deliveryStates.find(known => known === name)
  return state === undefined ? { fact: factOfWireStatus[name as keyof typeof factOfWireStatus] } : { state }
}

/** The recipient as each channel stores it: what is a number to one channel may be a name to another. */
function readRecipient(text: string, channel: Channel | null, contracts: SearchOptions['contracts']): string[] {
  const asked = [...contracts].filter(([name]) => channel === null || name === channel).map(([, contract]) => contract)
  const forms = new Set(asked.flatMap(({ readContact }) => readContact(text)?.toLowerCase() ?? []))
  const kinds = [...new Set(asked.map(({ contactKind }) => contactKind))].join(', ')
  return forms.size === 0 ? refuse('badContact', kinds) : [...forms]
}

export function readMoment(text: string, field: string, edge: 'start' | 'end'): number {
  // A plus sign that was not encoded arrives as a blank.
  const at = readDay(text)?.[edge] ?? readIso(text.replace(' ', '+')) ?? refuse('badSearchMoment', field)
  return at.getTime()
}
