import type { FastifyInstance } from 'fastify'
import type { KeptFor } from '../../../channels/channel-config.js'
import { channels, findModule, moduleOf } from '../../../channels/registry.js'
import type { Clock } from '../../../domain/clock.js'
import { explainFailure, lastStep } from '../../../domain/delivery/status.js'
import { refuse } from '../../../domain/errors.js'
import { readId } from '../../../domain/id.js'
import { maskAddress } from '../../../domain/recipient/mask.js'
import { type RetentionSettings, retentionSettings } from '../../../domain/retention.js'
import { isStorable } from '../../../domain/text/text.js'
import { actorOf } from '../../../engine/console/sign-in.js'
import type { Repair } from '../../../engine/unknown/operator-decision.js'
import { listAccounts } from '../../../store/accounts/accounts.js'
import { removeSuppression } from '../../../store/accounts/suppressions.js'
import { recordAudit } from '../../../store/audit.js'
import { findOwned } from '../../../store/console/notification.js'
import {
  listAllSuppressions,
  listLatestCheckpoints,
  listStuck,
  MOST_LISTED,
  readLoad,
  type StuckDelivery,
  type SuppressionQuestion,
} from '../../../store/console/operations.js'
import type { SignedIn } from '../../../store/console/sessions.js'
import { countRestoredOf } from '../../../store/delivery/restored.js'
import { listTargets } from '../../../store/evidence/checkpoint-targets.js'
import { readLogLag } from '../../../store/evidence/log-head.js'
import { type Pool, transaction } from '../../../store/postgres.js'
import { readChannel } from '../../channel-name.js'
import { decideDelivery } from '../notifications/notification-acts.js'
import { accountNames, everyone, operatorsOnly, overseers, route, scopeOf, senders, visibleAccounts } from '../route.js'
import { done } from '../wire.js'
import { readHolds } from './holds.js'
import * as wire from './operations-schema.js'

export interface OperationsOptions {
  pool: Pool
  clock: Clock
  /** How long the installation keeps what. */
  retention: readonly KeptFor[]
}

const PAGE = 50
const LATEST_CHECKPOINTS = 10

/** The operations screen: the queue, deliveries that wait for a person, suppressions, checkpoints and their targets, terms. */
export function addOperations(app: FastifyInstance, options: OperationsOptions): void {
  addQueue(app, options)
  addDecisions(app, options)
  addSuppressions(app, options)
  const { pool, retention } = options
  app.get(
    '/console/api/operations/evidence',
    route(overseers, { response: { 200: wire.evidenceSchema } }),
    async (): Promise<wire.Evidence> => {
      const [{ size, lagSeconds }, checkpoints, targets] = await Promise.all([
        readLogLag(pool),
        listLatestCheckpoints(pool, LATEST_CHECKPOINTS),
        listTargets(pool),
      ])
      return {
        size,
        lagSeconds,
        checkpoints: checkpoints.map(({ at, ...checkpoint }) => ({ ...checkpoint, at: at.toISOString() })),
        targets: targets.map(({ doneAt, ...target }) => ({ ...target, doneAt: doneAt?.toISOString() ?? null })),
        retention: [...retention, ...(await listTerms(pool))],
      }
    },
  )
}

/** The terms of every account: those that count where it sets none, and its own. */
async function listTerms(pool: Pool): Promise<KeptFor[]> {
  const settings = Object.entries(retentionSettings)
  const row = (what: string, [setting, { default: usual }]: (typeof settings)[number], days: number): KeptFor[] =>
    // 0 as a default refers to another setting, which has a row of its own; a 0 in place of another default means "without end".
    days === 0 && usual === 0 ? [] : [{ what, setting, days: days === 0 ? null : days }]
  const usual = settings.flatMap(entry => row(`Contas: ${entry[1].label.pt}`, entry, entry[1].default))
  const own = (await listAccounts(pool)).flatMap(({ name, settings: set }) =>
    settings.flatMap(entry => {
      const days = set[entry[0] as keyof RetentionSettings]
      return days === entry[1].default ? [] : row(`${name}: ${entry[1].label.pt}`, entry, days)
    }),
  )
  return [...usual, ...own]
}

function addQueue(app: FastifyInstance, { pool }: OperationsOptions): void {
  app.get<{ Querystring: wire.LoadQuery }>(
    '/console/api/operations/queue',
    route(everyone, { querystring: wire.loadQuery, response: { 200: wire.loadSchema } }),
    async (request): Promise<wire.Load> => {
      const { accounts, mode } = await scopeOf(pool, request)
      const [rows, holds, restored] = await Promise.all([
        readLoad(pool, accounts, mode, channels),
        readHolds(pool, accounts),
        countRestoredOf(pool, { accounts, mode }, MOST_LISTED),
      ])
      return {
        holds,
        restored: { count: restored, more: restored >= MOST_LISTED },
        rows: rows.map(({ channel, oldest, ...row }) => ({
          ...row,
          channel: moduleOf(channel).wire,
          more: row.count >= MOST_LISTED,
          oldest: oldest?.toISOString() ?? null,
        })),
      }
    },
  )
  app.get<{ Querystring: wire.StuckQuery }>(
    '/console/api/operations/deliveries',
    route(everyone, { querystring: wire.stuckQuery, response: { 200: wire.stuckPage } }),
    async (request): Promise<wire.StuckPage> => {
      const { state, channel = '', cursor = '' } = request.query
      const scope = await scopeOf(pool, request)
      const found = await listStuck(pool, {
        ...scope,
        state,
        channel: channel === '' ? null : readChannel(channel, { parameter: 'channel' }),
        after: cursor === '' ? null : readStuckCursor(cursor),
        limit: PAGE,
      })
      const names = await accountNames(pool, found)
      const last = found.at(-1)
      return {
        rows: found.map(delivery => toStuck(delivery, state, names)),
        cursor: last === undefined || found.length < PAGE ? null : `${last.notification} ${moduleOf(last.channel).wire}`,
      }
    },
  )
}

function readStuckCursor(cursor: string) {
  const [id = '', name = ''] = cursor.split(' ')
  return { notification: readId(id) ?? refuse('badCursor'), channel: findModule(name)?.channel ?? refuse('badCursor') }
}

const toStuck = (delivery: StuckDelivery, state: wire.StuckRow['state'], names: ReadonlyMap<string, string>): wire.StuckRow => {
  const module = moduleOf(delivery.channel)
  const { label, at } = lastStep(delivery, module)
  const { notification, recipient, recipientName, subject, carrier, reference, attempt } = delivery
  const reason = explainFailure(delivery, module)
  return {
    ...{ notification, channel: module.wire, account: names.get(delivery.account) ?? '', state },
    ...{ recipient, recipientName, subject, label, reason, carrier, reference, attempts: attempt, at: at.toISOString() },
  }
}

function addDecisions(app: FastifyInstance, { pool, clock }: OperationsOptions): void {
  async function decide(operator: SignedIn, items: wire.RetryOrder['items'], repair: Repair): Promise<wire.Decided> {
    const accounts = (await visibleAccounts(pool, operator)).map(({ id }) => id)
    const orders = items.map(({ notification, channel }, index) => ({
      notification: readId(notification) ?? refuse('notificationMissing'),
      channel: readChannel(channel, { field: `items[${index}].channel` }),
    }))
    const owned = await findOwned(
      pool,
      accounts,
      orders.map(({ notification }) => notification),
    )
    // Somebody else's notification is answered as one that does not exist, and then nothing is done.
    if (orders.some(({ notification }) => !owned.has(notification))) refuse('notificationMissing')
    let recorded = 0
    for (const order of orders) {
      if ((await decideDelivery(pool, clock, operator, { ...order, repair })) === 'recorded') recorded++
    }
    return { recorded, skipped: orders.length - recorded }
  }
  app.post<{ Body: wire.RetryOrder }>(
    '/console/api/operations/retry',
    route(senders, { body: wire.retryOrder, response: { 200: wire.decided } }),
    ({ operator, body }) => decide(operator, body.items, 'retry'),
  )
  // Only operators: whoever settles an unknown outcome has asked the carrier, and only the operator has the contract with it.
  app.post<{ Body: wire.SettleOrder }>(
    '/console/api/operations/settle',
    route(operatorsOnly, { body: wire.settleOrder, response: { 200: wire.decided } }),
    ({ operator, body }) => decide(operator, body.items, body.decision),
  )
}

function addSuppressions(app: FastifyInstance, { pool }: OperationsOptions): void {
  app.get<{ Querystring: wire.SuppressionsQuery }>(
    '/console/api/operations/suppressions',
    route(everyone, { querystring: wire.suppressionsQuery, response: { 200: wire.suppressionsPage } }),
    async (request): Promise<wire.SuppressionsPage> => {
      const { channel = '', recipient = '', cursor = '' } = request.query
      if (!isStorable(recipient)) refuse('badParameter', 'recipient')
      const scope = await scopeOf(pool, request)
      const typed = recipient.trim()
      const found = await listAllSuppressions(pool, {
        ...scope,
        channel: channel === '' ? null : readChannel(channel, { parameter: 'channel' }),
        recipient: typed === '' ? null : typed,
        after: cursor === '' ? null : readSuppressionCursor(cursor),
        limit: PAGE,
      })
      const names = await accountNames(pool, found)
      const last = found.at(-1)
      return {
        rows: found.map(row => ({ ...row, channel: moduleOf(row.channel).wire, accountName: names.get(row.account) ?? '' })),
        cursor:
          last === undefined || found.length < PAGE
            ? null
            : Buffer.from(JSON.stringify([last.at, last.channel, last.recipient])).toString('base64url'),
      }
    },
  )
  app.post<{ Body: wire.SuppressionRemoval }>(
    '/console/api/operations/suppressions/remove',
    route(operatorsOnly, { body: wire.suppressionRemoval, response: { 200: done } }),
    async ({ operator, body }) => {
      const { mode, recipient } = body
      const { accounts } = await scopeOf(pool, { operator, query: { account: body.account || refuse('accountMissing'), mode } })
      const contact = { account: accounts[0]!, mode, channel: readChannel(body.channel, { field: 'channel' }), recipient }
      await transaction(pool, async db => {
        if (!(await removeSuppression(db, contact))) refuse('suppressionMissing')
        const { account, ...rest } = contact
        // Masked: an entry of the log of actions can never be erased.
        const detail = { ...rest, recipient: maskAddress(recipient) }
        await recordAudit(db, { actor: actorOf(operator), action: 'suppression remove', subject: account, detail })
      })
      return { done: true }
    },
  )
}

function readSuppressionCursor(cursor: string): SuppressionQuestion['after'] {
  const text = Buffer.from(cursor, 'base64url').toString('utf8')
  const [at, channel, recipient] = /^\[/.test(text) ? readList(text) : []
  const isMoment = typeof at === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(at)
  if (!isMoment || typeof channel !== 'string' || typeof recipient !== 'string') return refuse('badCursor')
  return isStorable(channel) && isStorable(recipient) ? { at, channel, recipient } : refuse('badCursor')
}

function readList(text: string): unknown[] {
  try {
    return JSON.parse(text) as unknown[]
  } catch {
    return refuse('badCursor')
  }
}
