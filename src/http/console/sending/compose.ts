import type { FastifyInstance, FastifyReply } from 'fastify'
import { channelModules, moduleOf } from '../../../channels/registry.js'
import { parseRange } from '../../../domain/access/address-range.js'
import type { Clock } from '../../../domain/clock.js'
import { Refusal, refuse } from '../../../domain/errors.js'
import { planDeliveries, type Sender, type SendRequest } from '../../../domain/notification.js'
import type { Scope } from '../../../domain/scope.js'
import { waitForSendTime } from '../../../domain/send/send-time.js'
import type { Accept } from '../../../engine/accept/accept.js'
import { type AllowedSendOptions, requireAllowedSend } from '../../../engine/accept/allowed-send.js'
import type { Budgets } from '../../../engine/access/budgets.js'
import { type PreviewParts, previewSend } from '../../../engine/console/preview.js'
import { actorOf } from '../../../engine/console/sign-in.js'
import { findRules, listRanges } from '../../../store/accounts/accounts.js'
import { findKeyUse } from '../../../store/notification/notifications.js'
import { spendRequest } from '../../auth.js'
import { errorBody, httpStatusOf } from '../../errors.js'
import { nameOfCondition } from '../../gw/condition-wire.js'
import type { SendReader } from '../../gw/send-reader.js'
import type { Contracts } from '../notifications/notification-search.js'
import { accountOf, clientOf, everyone, route, type SessionOptions, senders } from '../route.js'
import {
  type ComposeForm,
  composeForm,
  type OtherSent,
  otherSentSchema,
  type Preview,
  type PreviewBody,
  previewBody,
  previewSchema,
  type SendBody,
  type Sent,
  sendBody,
  sentSchema,
} from './compose-schema.js'
import { type AccountQuery, accountQuery } from './sequence-schema.js'

export type ComposeOptions = PreviewParts & {
  clock: Clock
  contracts: Contracts
  /** The same acceptance as that of POST /gw/email. */
  send: AllowedSendOptions & { accept: Accept['accept']; reader: SendReader; maxBodyBytes: number }
  /** Those that the API spends. */
  budgets: Budgets
}

/** /console/api/compose: the form of a new notification, its preview, and the send. */
export function addCompose(app: FastifyInstance, options: ComposeOptions & SessionOptions): void {
  const { pool, clock, contracts, send } = options
  const read = async (given: object, scope: Scope) => send.reader.read(Buffer.from(JSON.stringify(given)), true, scope)
  const rulesOf = async ({ account }: Scope) => (await findRules(pool, account)) ?? refuse('accountMissing')

  app.get<{ Querystring: AccountQuery }>(
    '/console/api/compose',
    route(everyone, { querystring: accountQuery, response: { 200: composeForm } }),
    async (request): Promise<ComposeForm> => {
      const { settings } = await rulesOf(await accountOf(pool, request))
      const channels = channelModules.map(({ channel, wire, templates }) => {
        const { part, form } = contracts.get(channel)!
        return {
          channel: wire,
          member: part.member,
          fields: form.map(({ choices, ...field }) => ({ ...field, ...(choices ? { choices: [...choices] } : {}) })),
          template: templates.member,
          values: templates.values,
          needsTemplate: templates.required === true,
        }
      })
      return { channels, canAskQuestion: settings.validation }
    },
  )

  app.post<{ Querystring: AccountQuery; Body: PreviewBody }>(
    '/console/api/compose/preview',
    route(everyone, { querystring: accountQuery, body: previewBody, response: { 200: previewSchema } }),
    async (request): Promise<Preview> => {
      const scope = await accountOf(pool, request)
      const rules = await rulesOf(scope)
      try {
        const { request: asked } = await read(request.body.request, scope)
        requireAllowedSend(asked, { mode: scope.mode, settings: rules.settings }, send)
        return { problem: null, deliveries: await show(asked, scope, rules) }
      } catch (error) {
        // Somebody who is still writing has made no mistake yet: what is missing is told beside the preview.
        if (!(error instanceof Refusal) || error.kind !== 'invalid') throw error
        return { problem: error.message, deliveries: [] }
      }
    },
  )

  async function show(asked: SendRequest, scope: Scope, rules: Sender['rules']): Promise<Preview['deliveries']> {
    const now = new Date(clock())
    const startMs = waitForSendTime(asked.sendAt, now)
    const planned = planDeliveries(asked, rules, new Map(), moduleOf, startMs)
    const shown = await previewSend(options, scope, asked, now)
    return shown.map(({ channel, shown: message }, index) => {
      const { waitMs, condition } = planned[index]!
      const isRefused = 'refused' in message
      return {
        channel: moduleOf(channel).wire,
        message: isRefused ? null : (message as NonNullable<Preview['deliveries'][number]['message']>),
        problem: isRefused ? String(message.refused.reason ?? message.refused.failureDetail ?? '') : null,
        dueAt: startMs === 0 ? null : new Date(now.getTime() + waitMs).toISOString(),
        waitMinutes: (waitMs - startMs) / 60_000,
        condition: nameOfCondition(condition),
      }
    })
  }

  app.post<{ Querystring: AccountQuery; Body: SendBody }>(
    '/console/api/compose/send',
    {
      ...route(senders, { querystring: accountQuery, body: sendBody, response: { 200: sentSchema, 422: otherSentSchema } }),
      bodyLimit: send.maxBodyBytes,
    },
    async (request, reply): Promise<Sent | FastifyReply> => {
      const { operator, body } = request
      const scope = await accountOf(pool, request)
      const { address } = clientOf(request, options)
      const { settings } = await rulesOf(scope)
      const ranges = (await listRanges(pool, scope.account)).map(parseRange)
      // A script with a person's cookie must not send more than one with a token of the account.
      await spendRequest(options.budgets, reply, { ...scope, settings, ranges }, address)
      if (!/^[\w-]{16,64}$/.test(body.key)) throw new Refusal('badIdempotencyKey')
      const { request: asked, bodySha256 } = await read(body.request, scope)
      const readSender = async (): Promise<Sender> => {
        const { settings, sequence, revision } = await rulesOf(scope)
        const rules = { settings, sequence, revision }
        return { ...scope, token: `console:${operator.id}`, actor: actorOf(operator), address, rules }
      }
      const idempotency = { key: `console-${body.key}`, bodySha256: bodySha256! }
      try {
        const { id } = await send.accept({ request: asked, sender: await readSender(), idempotency, readSender })
        return { id }
      } catch (error) {
        if (!(error instanceof Refusal) || error.code !== 'keyReused') throw error
        // The answer to the first message was lost, and the person changed the message before sending it again.
        const use = (await findKeyUse(pool, scope, idempotency.key)) ?? refuse('keyReused')
        const status = httpStatusOf[error.kind]
        return reply.code(status).send({ ...errorBody(status, error.message), accepted: use.notification } satisfies OtherSent)
      }
    },
  )
}
