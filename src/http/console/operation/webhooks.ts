import type { FastifyInstance, FastifyRequest } from 'fastify'
import { moduleOf } from '../../../channels/registry.js'
import type { Channel } from '../../../domain/channel.js'
import type { Clock } from '../../../domain/clock.js'
import { refuse } from '../../../domain/errors.js'
import { readId } from '../../../domain/id.js'
import type { Scope } from '../../../domain/scope.js'
import { readIso } from '../../../domain/text/dates.js'
import type { AnnouncedFact } from '../../../domain/webhook.js'
import { actorOf } from '../../../engine/console/sign-in.js'
import { recordAudit } from '../../../store/audit.js'
import { findEndpointScope, type ListedEndpoint, listAllEndpoints, MOST_WAITING } from '../../../store/console/webhooks.js'
import type { Pool } from '../../../store/postgres.js'
import type { EndpointChanges } from '../../../store/webhook/endpoints.js'
import {
  type ActParts,
  type AttemptDetails,
  act as actOn,
  createEndpoint,
  type EndpointParts,
  editEndpoint,
  removeEndpoint,
  replayOne,
  rotateEndpoint,
  showAttempts,
  testEndpoint,
} from '../../../webhooks/endpoints.js'
import { type WebhookFormat, wireStatuses } from '../../../webhooks/payload.js'
import { replaySpan, type TakeReplayTurn } from '../../../webhooks/replay.js'
import { type Place, readChannel, refuseValue } from '../../channel-name.js'
import { factOfWireStatus } from '../../gw/webhook-wire.js'
import { accountNames, everyone, route, scopeOf, senders, visibleAccounts } from '../route.js'
import { done } from '../wire.js'
import * as wire from './webhooks-schema.js'

export interface ConsoleWebhookOptions extends EndpointParts {
  pool: Pool
  clock: Clock
  format: WebhookFormat
  takeReplayTurn: TakeReplayTurn
}

type ById = { Params: { id: string } }

const ATTEMPTS_PER_PAGE = 25

/** The endpoints that get the events of accounts, the attempts, and replays. */
export function addConsoleWebhooks(app: FastifyInstance, options: ConsoleWebhookOptions): void {
  const { pool } = options

  /** The endpoint of a path, if the person may see its account. */
  async function targetOf(request: FastifyRequest<ById>): Promise<[Scope, string]> {
    const id = readId(request.params.id) ?? refuse('webhookMissing')
    const accounts = (await visibleAccounts(pool, request.operator)).map(account => account.id)
    return [(await findEndpointScope(pool, accounts, id)) ?? refuse('webhookMissing'), id]
  }

  /** The act and its entry in the log of actions, in one transaction. */
  const act = <T>(
    { operator }: FastifyRequest<ById>,
    [scope, id]: [Scope, string],
    action: string,
    work: (parts: ActParts) => Promise<T>,
    detail: Record<string, unknown> = {},
  ): Promise<T> =>
    actOn(options, async parts => {
      const result = await work(parts)
      await recordAudit(parts.pool, {
        actor: actorOf(operator),
        action: `webhook ${action}`,
        subject: id,
        detail: { ...scope, ...detail },
      })
      return result
    })

  addEndpoints(app, options)

  app.put<ById & { Body: wire.WebhookChanges }>(
    '/console/api/webhooks/:id',
    route(senders, { body: wire.webhookChanges, response: { 200: done } }),
    async request => {
      const target = await targetOf(request)
      const changes = readChanges(request.body)
      await act(request, target, 'edit', parts => editEndpoint(parts, ...target, changes), { fields: Object.keys(changes) })
      return { done: true }
    },
  )
  app.delete<ById>('/console/api/webhooks/:id', route(senders, { response: { 200: done } }), async request => {
    const target = await targetOf(request)
    await act(request, target, 'delete', parts => removeEndpoint(parts, ...target))
    return { done: true }
  })
  app.post<ById>(
    '/console/api/webhooks/:id/rotate',
    route(senders, { response: { 200: wire.webhookSecret } }),
    async (request): Promise<wire.WebhookSecret> => {
      const target = await targetOf(request)
      const { secret } = await act(request, target, 'rotate', parts => rotateEndpoint(parts, ...target))
      return { id: target[1], secret }
    },
  )
  app.post<ById>('/console/api/webhooks/:id/test', route(senders, { response: { 200: wire.testedWebhook } }), async request => {
    const target = await targetOf(request)
    return { message: await act(request, target, 'test', parts => testEndpoint(parts, ...target, options.clock())) }
  })
  app.get<ById & { Querystring: wire.AttemptsQuery }>(
    '/console/api/webhooks/:id/attempts',
    route(everyone, { querystring: wire.attemptsQuery, response: { 200: wire.attemptsPage } }),
    async (request): Promise<wire.AttemptsPage> => {
      const { before = '', failed } = request.query
      if (!/^\d*$/.test(before)) refuse('notAttempt', 'before')
      const question = { message: null, failedOnly: failed === 'true', limit: ATTEMPTS_PER_PAGE }
      const target = await targetOf(request)
      const found = await showAttempts(pool, options.format, ...target, {
        ...question,
        before: before === '' ? null : Number(before),
      })
      const cursor = found.length < ATTEMPTS_PER_PAGE ? null : String(found.at(-1)!.id)
      return { rows: found.map(toAttempt), cursor }
    },
  )
  app.post<ById & { Body: wire.ReplayOrder }>(
    '/console/api/webhooks/:id/replay',
    route(senders, { body: wire.replayOrder, response: { 200: wire.replayed } }),
    async (request): Promise<wire.Replayed> => {
      const { message, since, missedOnly = true } = request.body
      if ((message === undefined) === (since === undefined)) refuse('replayWhat')
      const target = await targetOf(request)
      if (message !== undefined) {
        const id = readId(message) ?? refuse('webhookMessageMissing')
        await act(request, target, 'replay', parts => replayOne(parts, ...target, id), { message: id })
        return { messages: 1 }
      }
      const span = { since: readIso(since!) ?? refuse('badMoment', 'since'), until: new Date(options.clock()), missedOnly }
      const replay = async () => {
        // A long replay is many transactions: its order is on record before the first of them.
        await act(request, target, 'replay', async () => {}, { ...span })
        return replaySpan(pool, ...target, span, () => request.answer.closed)
      }
      return { messages: await options.takeReplayTurn(target[0], replay) }
    },
  )
}

function addEndpoints(app: FastifyInstance, options: ConsoleWebhookOptions): void {
  const { pool, clock } = options
  app.get<{ Querystring: wire.WebhooksQuery }>(
    '/console/api/webhooks',
    route(everyone, { querystring: wire.webhooksQuery, response: { 200: wire.webhooksSchema } }),
    async (request): Promise<wire.Webhooks> => {
      const { accounts, mode } = await scopeOf(pool, request)
      const found = await listAllEndpoints(pool, accounts, mode)
      const names = await accountNames(pool, found)
      return { rows: found.map(endpoint => toRow(endpoint, names)), statuses: Object.values(wireStatuses) }
    },
  )
  app.post<{ Body: wire.NewWebhook }>(
    '/console/api/webhooks',
    route(senders, { body: wire.newWebhook, response: { 200: wire.webhookSecret } }),
    async ({ operator, body }): Promise<wire.WebhookSecret> => {
      const { mode, url, version } = body
      const { accounts } = await scopeOf(pool, { operator, query: { account: body.account || refuse('accountMissing'), mode } })
      const scope = { account: accounts[0]!, mode }
      const draft = { url, version, channels: readChannels(body.channels), statuses: readStatuses(body.statuses) }
      const create = async (parts: ActParts) => {
        const made = await createEndpoint(parts, scope, draft, clock())
        // Without its query, which often bears the receiver's own secret.
        const { origin, pathname } = new URL(made.endpoint.url)
        await recordAudit(parts.pool, {
          actor: actorOf(operator),
          action: 'webhook create',
          subject: made.endpoint.id,
          detail: { ...scope, url: origin + pathname },
        })
        return made
      }
      const { endpoint, secret } = await actOn(options, create)
      return { id: endpoint.id, secret }
    },
  )
}

/** An empty list means all of them. */
const readChannels = (names: readonly string[]): Channel[] | null =>
  names.length === 0 ? null : [...new Set(names.map((name, index) => readChannel(name, { field: `channels[${index}]` })))]

const readStatuses = (names: readonly string[]): AnnouncedFact[] | null =>
  names.length === 0 ? null : [...new Set(names.map((name, index) => readStatus(name, { field: `statuses[${index}]` })))]

const readStatus = (name: string, place: Place): AnnouncedFact =>
  Object.hasOwn(factOfWireStatus, name)
    ? factOfWireStatus[name as keyof typeof factOfWireStatus]
    : refuseValue(place, Object.values(wireStatuses))

function readChanges({ url, version, channels, statuses, active }: wire.WebhookChanges): EndpointChanges {
  const changes: EndpointChanges = {
    ...(url === undefined ? {} : { url }),
    ...(version === undefined ? {} : { version }),
    ...(channels === undefined ? {} : { channels: readChannels(channels) }),
    ...(statuses === undefined ? {} : { statuses: readStatuses(statuses) }),
    ...(active === undefined ? {} : { active }),
  }
  return Object.keys(changes).length === 0 ? refuse('webhookNothingToChange') : changes
}

const iso = (date: Date | null): string | null => date?.toISOString() ?? null

const toRow = (endpoint: ListedEndpoint, names: ReadonlyMap<string, string>): wire.Webhook => ({
  id: endpoint.id,
  account: endpoint.account,
  accountName: names.get(endpoint.account) ?? '',
  url: endpoint.url,
  version: endpoint.version,
  channels: (endpoint.channels ?? []).map(channel => moduleOf(channel).wire),
  statuses: (endpoint.statuses ?? []).map(status => wireStatuses[status]),
  active: endpoint.disabledAt === null,
  reason: endpoint.disabledReason,
  failingSince: iso(endpoint.failingSince),
  previousSecretUntil: iso(endpoint.previousSecretUntil),
  waiting: endpoint.waiting,
  more: endpoint.waiting >= MOST_WAITING,
  oldestWaiting: iso(endpoint.oldestWaiting),
  createdAt: endpoint.createdAt.toISOString(),
  last:
    endpoint.lastAt === null
      ? null
      : { at: endpoint.lastAt.toISOString(), status: endpoint.lastStatus, error: endpoint.lastError },
})

const toAttempt = (attempt: AttemptDetails): wire.WebhookAttempt => ({
  id: attempt.id,
  message: attempt.message,
  attempt: attempt.attempt,
  at: attempt.at.toISOString(),
  durationMs: attempt.durationMs,
  status: attempt.status,
  error: attempt.error,
  // A test event is of no notification and names its own message.
  notification: attempt.notification === attempt.message ? null : attempt.notification,
  channel: moduleOf(attempt.channel).wire,
  state: attempt.state as wire.WebhookAttempt['state'],
  url: attempt.url,
  requestBody: attempt.requestBody,
  responseHeaders: attempt.responseHeaders,
  responseBody: attempt.responseBody,
})
