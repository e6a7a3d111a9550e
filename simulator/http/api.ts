import type { FastifyInstance, FastifyReply } from 'fastify'
import { refuse } from '../../src/domain/errors.js'
import { brazilianIso } from '../../src/domain/text/dates.js'
import { channelOf, findChannel, type SimulatedChannel } from '../channel.js'
import { requireGateway } from '../gateway-key.js'
import type { Filter, Inbox, StoredMessage } from '../inbox.js'
import type { Message, Report } from '../message.js'
import { SimulatorError } from '../simulator-error.js'
import { type Query, readNumber, readObject, readText } from './readers.js'

export interface ApiParts {
  /** Shared with the gateway. */
  key: string
  inbox: Inbox
  channels: readonly SimulatedChannel[]
}

type ById = { Params: { id: string } }

const MAX_WAIT_MS = 60_000
const MAX_LISTED = 10_000
const MAX_REPLY = 10_000

/** The API for programs: the gateway, tests and the console. */
export function addApi(app: FastifyInstance, { key, inbox, channels }: ApiParts): void {
  const summarize = (message: Message) => ({ ...summarizeMessage(message), ...channelOf(channels, message).summarize(message) })

  app.get('/simulator/messages', async (request, reply) => {
    const query = request.query as Query
    const limit = readNumber(query, 'limit', 1_000, MAX_LISTED)
    const messages = await inbox.wait(readFilter(query), readWait(query), closeSignal(reply))
    return messages.slice(0, limit).map(summarize)
  })
  app.delete('/simulator/messages', async () => {
    inbox.clear()
    return { message: 'Mensagens apagadas.' }
  })
  app.get<ById>('/simulator/messages/:id', async ({ params }) => {
    const stored = findStored(inbox, params.id)
    const { message } = stored
    const own = await channelOf(channels, message).detail(stored)
    return { ...summarize(message), answer: message.answer, ...own, reports: message.reports.map(describeReport) }
  })
  app.get<{ Params: { id: string; '*': string } }>('/simulator/messages/:id/*', async ({ params }, reply) => {
    const stored = findStored(inbox, params.id)
    const file = await channelOf(channels, stored.message).file(stored, params['*'])
    if (file === null) throw new SimulatorError(404, 'Esta mensagem não tem esse arquivo.')
    if (file.downloadName !== undefined) {
      reply.headers({
        'content-disposition': `attachment; filename*=UTF-8''${encodeURIComponent(file.downloadName.toWellFormed())}`,
        'content-security-policy': "sandbox; default-src 'none'",
      })
    }
    return reply.type(file.type).send(file.bytes)
  })
  app.post<ById>('/simulator/messages/:id/actions', async ({ params, body }, reply) => {
    const { message } = findStored(inbox, params.id)
    const { action, text } = readObject(body)
    if (text !== undefined && typeof text !== 'string') return refuse('notText', 'text')
    const channel = channelOf(channels, message)
    return reply.code(202).send(describeReport(await channel.act(message, readAction(channel, action), readReply(text))))
  })

  const faults = () => Object.fromEntries(channels.map(({ channel, faults }) => [channel, faults.shown]))
  app.get('/simulator/faults', async () => faults())
  app.put('/simulator/faults', async ({ body }) => {
    const given = Object.entries(readObject(body))
    const known = channels.map(({ channel }) => channel)
    if (given.length === 0) return refuse('required', known.join(' ou '))
    // All switches are read before the first one is set, so that a refused request changes nothing.
    const wanted = given.map(([name, value]) => {
      const channel = findChannel(channels, name)
      if (channel === undefined) throw new SimulatorError(400, `O campo ${name} não existe. Use um destes: ${known.join(', ')}.`)
      return { channel, faults: channel.faults.read(value, name) }
    })
    for (const { channel, faults } of wanted) channel.faults.set(faults)
    return faults()
  })

  // A client can surely reach the simulator at the address that it has just used.
  app.get('/simulator/carriers', async request => {
    requireGateway(request, key)
    return Object.assign({}, ...channels.map(channel => channel.carriers(`${request.protocol}://${request.host}`)))
  })
  app.get('/simulator/fates', async () =>
    channels.flatMap(({ channel, fates }) =>
      fates.list.map(({ name, address, meaning, does }) => ({ channel, name, address, meaning, does })),
    ),
  )
  app.get('/simulator/channels', async () =>
    channels.map(({ channel, actions, reportLabels, fates, faults }) => ({
      channel,
      actions,
      reportLabels,
      fates: fates.list,
      faults: { fields: faults.fields, values: faults.shown },
    })),
  )
  app.get('/simulator/log', async () =>
    inbox.log.map(({ names, ...entry }) => ({ ...entry, ...names, receivedAt: brazilianIso(entry.receivedAt) })),
  )
  app.delete('/simulator/log', async () => {
    inbox.clearLog()
    return { message: 'Registro vazio.' }
  })
}

export function findStored(inbox: Inbox, id: string): StoredMessage {
  const stored = inbox.find(id.toLowerCase())
  if (stored === null) throw new SimulatorError(404, 'Mensagem não encontrada: ela não chegou, ou deu lugar a mais novas.')
  return stored
}

export const readAction = ({ actions }: SimulatedChannel, value: unknown): string =>
  typeof value === 'string' && Object.hasOwn(actions, value)
    ? value
    : refuse('notOneOf', 'action', Object.keys(actions).join(', '))

/** A blank text counts as absent. */
export function readReply(text: string | undefined): string | undefined {
  if (text !== undefined && text.length > MAX_REPLY) return refuse('tooLong', 'text', '10.000')
  return text === undefined || text.trim() === '' ? undefined : text
}

function readFilter(query: Query): Filter {
  const filter: Filter = {}
  const idEmail = readText(query, 'idEmail')
  if (idEmail !== undefined) filter.notification = idEmail.toLowerCase()
  for (const name of ['to', 'subject', 'channel'] as const) {
    const text = readText(query, name)
    if (text !== undefined) filter[name] = text
  }
  const since = readText(query, 'since')
  if (since !== undefined) {
    // A plus sign that was not escaped in the query arrives as a blank.
    filter.since = new Date(since.replace(' ', '+'))
    if (!/^\d{4}-\d\d-\d\dT/.test(since) || Number.isNaN(filter.since.getTime())) return refuse('wrongValue', 'since')
  }
  return filter
}

/** 500ms, 10s, 1m; a number without a unit is in seconds. */
function readWait(query: Query): number {
  const text = readText(query, 'wait')
  if (text === undefined) return 0
  const [, number, unit = 's'] = /^(\d{1,6})(ms|s|m)?$/.exec(text) ?? refuse('wrongValue', 'wait')
  const ms = Number(number) * { ms: 1, s: 1_000, m: 60_000 }[unit as 'ms' | 's' | 'm']
  if (ms > MAX_WAIT_MS) throw new SimulatorError(400, 'O campo wait vai até 60s. Repita a consulta para esperar mais.')
  return ms
}

/** Aborted when the client closes the connection. */
function closeSignal(reply: FastifyReply): AbortSignal {
  const closed = new AbortController()
  reply.raw.once('close', () => closed.abort())
  return closed.signal
}

const summarizeMessage = ({ id, channel, notification, from, fromName, to, subject, reference, receivedAt }: Message) => ({
  id,
  idEmail: notification,
  channel,
  from,
  fromName,
  to,
  subject,
  reference,
  receivedAt: brazilianIso(receivedAt),
})

const describeReport = ({ id, type, status, state, at, doneAt, detail }: Report) => ({
  id,
  type,
  status,
  state,
  at: brazilianIso(at),
  doneAt: doneAt === null ? null : brazilianIso(doneAt),
  detail,
})
