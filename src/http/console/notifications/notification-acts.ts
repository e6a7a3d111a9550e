import type { FastifyInstance } from 'fastify'
import { findModule, moduleOf } from '../../../channels/registry.js'
import type { Clock } from '../../../domain/clock.js'
import type { ChangeOutcome } from '../../../domain/delivery/change.js'
import { refuse } from '../../../domain/errors.js'
import { actorOf } from '../../../engine/console/sign-in.js'
import { finalize } from '../../../engine/record/record.js'
import { type RepairOrder, repairDelivery } from '../../../engine/unknown/operator-decision.js'
import { recordAudit } from '../../../store/audit.js'
import type { SignedIn } from '../../../store/console/sessions.js'
import type { Pool } from '../../../store/postgres.js'
import { route, senders } from '../route.js'
import { done } from '../wire.js'
import { type ByNotification, requireNotification } from './notification.js'
import { type Decision, type DecisionBody, decisionSchema } from './notification-schema.js'

export interface NotificationActOptions {
  pool: Pool
  clock: Clock
}

/** About the sender's own messages. Whether the carrier has sent one is for whoever has the contract with it to say. */
const OF_SENDERS: readonly Decision[] = ['release', 'cancel', 'retry']

/** What a person changes about one notification: the end of its sequence, and decisions about one of its deliveries. */
export function addNotificationActs(app: FastifyInstance, { pool, clock }: NotificationActOptions): void {
  app.post<ByNotification>(
    '/console/api/notifications/:id/finalize',
    route(senders, { response: { 200: done } }),
    async request => {
      const { id, scope } = await requireNotification(pool, request)
      const actor = actorOf(request.operator)
      await finalize(pool, clock, scope, id, {
        source: 'operator',
        reason: 'Finalizado no console.',
        alongside: db => recordAudit(db, { actor, action: 'notification finalize', subject: id }),
      })
      return { done: true }
    },
  )
  app.post<{ Params: { id: string; channel: string }; Body: DecisionBody }>(
    '/console/api/notifications/:id/channels/:channel/decision',
    route(senders, { body: decisionSchema, response: { 200: done } }),
    async request => {
      const { operator, params, body } = request
      const { decision } = body
      if (operator.role !== 'operator' && !OF_SENDERS.includes(decision)) refuse('roleForbidden')
      const { id } = await requireNotification(pool, request)
      const channel = findModule(params.channel)?.channel ?? refuse('contentMissing')
      const outcome = await decideDelivery(pool, clock, operator, { notification: id, channel, repair: decision })
      if (outcome === 'unknown') refuse('contentMissing')
      if (outcome !== 'recorded') refuse('nothingToDecide')
      return { done: true }
    },
  )
}

/** An operator's decision about one delivery, and its entry in the log of actions. */
export function decideDelivery(
  pool: Pool,
  clock: Clock,
  operator: SignedIn,
  order: Omit<RepairOrder, 'by'>,
): Promise<ChangeOutcome> {
  const actor = actorOf(operator)
  const { notification, channel, repair } = order
  const entry = { actor, action: `delivery ${repair}`, subject: notification, detail: { channel: moduleOf(channel).wire } }
  return repairDelivery(pool, clock, { ...order, by: actor }, db => recordAudit(db, entry))
}
