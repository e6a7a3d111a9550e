import type { FastifyInstance, FastifyRequest } from 'fastify'
import { refuse } from '../../../domain/errors.js'
import { readId } from '../../../domain/id.js'
import { actorOf } from '../../../engine/console/sign-in.js'
import { recordAudit } from '../../../store/audit.js'
import { findOwned } from '../../../store/console/notification.js'
import type { SignedIn } from '../../../store/console/sessions.js'
import { type Pool, transaction } from '../../../store/postgres.js'
import { asDownload } from '../../download.js'
import { handleError } from '../../errors.js'
import { pathId } from '../../gw/wire.js'
import { contentPage, UNSHOWN } from '../../recipient/content.js'
import type { ContentCleaner } from '../../recipient/content-cleaner.js'
import { SHOWN_CONTENT } from '../notifications/notification.js'
import { operatorsOnly, route, scopeOf, senders } from '../route.js'
import { done } from '../wire.js'
import { createSimulatorClient, SimulatorRefusal } from './simulator-client.js'
import {
  actionSchema,
  faultsSchema,
  inboxSchema,
  messageSchema,
  type SetFaults,
  type SimulatedInbox,
  type SimulatedMessage,
  type Simulator,
  type SimulatorAction,
  type SimulatorQuery,
  simulatorQuery,
  simulatorSchema,
} from './simulator-schema.js'
import {
  type ChannelAnswer,
  channelNamed,
  type DetailAnswer,
  type MessageAnswer,
  toChannel,
  toDetail,
  toMessage,
} from './simulator-wire.js'

export interface SimulatorOptions {
  pool: Pool
  cleaner: Pick<ContentCleaner, 'clean'>
  publicUrl(): string
  /** Where the simulator's API is; null: it is off. */
  simulator: string | null
}

type ById = { Params: { id: string } }

/** null: all, and messages of no account. */
const accountsOf = ({ account }: SignedIn): string[] | null => (account === null ? null : [account])

const MOST_LISTED = 200
/** All that the simulator keeps. */
const MOST_KEPT = 10_000
/** What the browser shows or plays. Everything else is saved, and never shown in our origin. */
const SHOWN: readonly string[] = ['application/pdf', 'audio/wav']

/** /console/api/simulator: the simulated recipients' inbox, what they do, and the failures of their carriers. */
export function addSimulator(app: FastifyInstance, options: SimulatorOptions): void {
  const { pool, cleaner } = options
  const client = options.simulator === null ? null : createSimulatorClient(options.simulator)
  const requireClient = () => client ?? refuse('simulatorMissing')

  /** Messages hold recipients' links: a sender sees those of its own account alone. null: also those of no account. */
  async function ofAccounts(messages: MessageAnswer[], accounts: readonly string[] | null): Promise<MessageAnswer[]> {
    if (accounts === null) return messages
    const ids = messages.flatMap(({ idEmail }) => (idEmail === null ? [] : [idEmail]))
    const own = await findOwned(pool, accounts, ids)
    return messages.filter(({ idEmail }) => idEmail !== null && own.has(idEmail))
  }

  async function requireMessage({ params, operator }: { params: ById['Params']; operator: SignedIn }): Promise<DetailAnswer> {
    const id = pathId(params.id, 'contentMissing')
    const found = await requireClient().get<DetailAnswer>(`messages/${id}`)
    return (await ofAccounts([found], accountsOf(operator))).length === 1 ? found : refuse('contentMissing')
  }

  const note = (request: FastifyRequest, action: string, subject: string, detail: Record<string, unknown> = {}) =>
    // Before the act, which is another program's: none goes without its entry.
    transaction(pool, db => recordAudit(db, { actor: actorOf(request.operator), action, subject, detail }))

  app.register(async scope => {
    scope.setErrorHandler((error, request, reply) =>
      error instanceof SimulatorRefusal ? reply.code(error.body.statusCode).send(error.body) : handleError(error, request, reply),
    )
    scope.get(
      '/console/api/simulator',
      route(senders, { response: { 200: simulatorSchema } }),
      async (): Promise<Simulator> => ({
        channels: (await requireClient().get<ChannelAnswer[]>('channels')).map(toChannel),
      }),
    )
    scope.get<{ Querystring: SimulatorQuery }>(
      '/console/api/simulator/messages',
      route(senders, { querystring: simulatorQuery, response: { 200: inboxSchema } }),
      async (request): Promise<SimulatedInbox> => {
        const { query, operator } = request
        const accounts = query.account ? (await scopeOf(pool, request)).accounts : accountsOf(operator)
        // Which of them are of these accounts, the simulator does not know.
        const asked = new URLSearchParams({ limit: String(accounts === null ? MOST_LISTED : MOST_KEPT) })
        if (query.to) asked.set('to', query.to)
        if (query.channel) asked.set('channel', channelNamed(query.channel))
        if (query.notification) asked.set('idEmail', readId(query.notification) ?? refuse('notificationMissing'))
        const found = await requireClient().get<MessageAnswer[]>(`messages?${asked}`)
        return { messages: (await ofAccounts(found, accounts)).slice(0, MOST_LISTED).map(toMessage) }
      },
    )
    scope.get<ById>(
      '/console/api/simulator/messages/:id',
      route(senders, { response: { 200: messageSchema } }),
      async (request): Promise<SimulatedMessage> => {
        const found = await requireMessage(request)
        const channels = await requireClient().get<ChannelAnswer[]>('channels')
        return toDetail(found, channels.find(({ channel }) => channel === found.channel)!, options.publicUrl())
      },
    )
    scope.get<ById>('/console/api/simulator/messages/:id/page', route(senders), async (request, reply) => {
      const { html = null } = await requireMessage(request)
      if (html === null) return refuse('contentMissing')
      return reply
        .type('text/html; charset=utf-8')
        .header('content-security-policy', SHOWN_CONTENT)
        .send(contentPage((await cleaner.clean(html)) ?? UNSHOWN))
    })
    scope.get<{ Params: { id: string; '*': string } }>(
      '/console/api/simulator/messages/:id/files/*',
      { ...route(senders), exposeHeadRoute: false },
      async (request, reply) => {
        const path = request.params['*']
        if (!/^[a-z0-9.-]+(\/\d{1,6})?$/.test(path) || path.includes('..')) return refuse('contentMissing')
        const { id } = await requireMessage(request)
        const { type, bytes } = await requireClient().file(`messages/${id}/${path}`)
        if (SHOWN.includes(type)) return reply.type(type).send(bytes)
        return asDownload(reply, 'application/octet-stream', path.replace('/', '-')).send(bytes)
      },
    )
    scope.post<ById & { Body: SimulatorAction }>(
      '/console/api/simulator/messages/:id/actions',
      route(senders, { body: actionSchema, response: { 200: done } }),
      async request => {
        const { id } = await requireMessage(request)
        await note(request, 'simulator act', id, { action: request.body.action })
        await requireClient().call('POST', `messages/${id}/actions`, request.body)
        return { done: true }
      },
    )
    scope.put<{ Body: SetFaults }>(
      '/console/api/simulator/faults',
      route(operatorsOnly, { body: faultsSchema, response: { 200: done } }),
      async request => {
        const { channel, values } = request.body
        const name = channelNamed(channel)
        const simulator = requireClient()
        await note(request, 'simulator faults', channel, values)
        await simulator.call('PUT', 'faults', { [name]: values })
        return { done: true }
      },
    )
    scope.delete('/console/api/simulator/messages', route(operatorsOnly, { response: { 200: done } }), async request => {
      const simulator = requireClient()
      await note(request, 'simulator clear', 'messages')
      await simulator.call('DELETE', 'messages')
      return { done: true }
    })
  })
}
