import { moduleOf } from '../channels/registry.js'
import { factOf, rebuildStatuses } from '../domain/delivery/rebuild.js'
import { type DeliveryStatus, describe, newStatus } from '../domain/delivery/status.js'
import { dateOf } from '../domain/delivery/transition.js'
import { brazilianDate, brazilianIso, dateOrNull } from '../domain/text/dates.js'
import { type AnnouncedFact, isAnnounced } from '../domain/webhook.js'
import type { Pool } from '../store/postgres.js'
import { readEvents, readVisitDates, type VisitDates, type WebhookEvent } from '../store/webhook/attempts.js'
import type { WebhookClaim } from '../store/webhook/queue.js'
import { isErasedVisit, withoutErased } from './erased-visits.js'

/** Makes the status record in the body of a message, the same one that the status lookup returns. */
export type WebhookFormat = (status: DeliveryStatus & { notification: string; customId: string | null }) => object

/** The event 0 of a message is a test event. */
type MessageSource = Pick<WebhookClaim, 'notification' | 'channel' | 'seq' | 'createdAt' | 'version' | 'attempt'>

/** The statuses on the wire. */
export const wireStatuses = {
  sent: 'enviado',
  delivered: 'entregue',
  read: 'lido',
  confirmed: 'confirmado',
  'link opened': 'link_acessado',
  answered: 'respondido',
  recorded: 'gravado',
  failed: 'falhou',
  cancelled: 'cancelado',
  uncertain: 'em_verificacao',
  revived: 'retomado',
  processed: 'em_producao',
  prepared: 'preparado',
} as const satisfies Record<AnnouncedFact, string>

/** The body of a message; null: the event's data was erased; an error: the body cannot be made, which concerns this message alone. */
export type RenderedBody = string | null | Error

/**
 * The bodies of messages, in their order. A body shows the delivery as it was right after the event. Events never change, so a body
 * changes only in its attempt number.
 */
export async function renderBodies(
  pool: Pool,
  format: WebhookFormat,
  messages: readonly MessageSource[],
): Promise<RenderedBody[]> {
  const events = await readEvents(pool, [...new Set(messages.map(({ notification }) => notification))])
  const visited = [...events].flatMap(([notification, list]) => (list.some(isErasedVisit) ? notification : []))
  const dates = visited.length === 0 ? [] : await readVisitDates(pool, visited)
  return messages.map(message => {
    const { notification, channel } = message
    const own = dates.find(found => found.notification === notification && found.channel === channel)
    try {
      return renderBody(message, events.get(notification) ?? [], own, format)
    } catch (error) {
      return error as Error
    }
  })
}

function renderBody(
  message: MessageSource,
  events: readonly WebhookEvent[],
  dates: VisitDates | undefined,
  format: WebhookFormat,
): string | null {
  const view = message.seq === 0 ? testEvent(message) : viewEvent(message, events, dates)
  if (view === null) return null
  const { at, occurredAt, status, state, customId } = view
  const module = moduleOf(message.channel)
  const notificationID = message.notification
  if (message.version === 'v1') {
    // Existing clients expect that a failure comes without any of the three dates. What reached the recipient after all has its dates.
    const { sentAt, deliveredAt, readAt } = state.failure === null || ARRIVALS.includes(status) ? state : NO_DATES
    return JSON.stringify({
      notificationID,
      channel: module.wire,
      description: view.description ?? describe(state, module),
      dateSent: dateOrNull(sentAt),
      dateDelivery: dateOrNull(deliveredAt),
      dateRead: dateOrNull(readAt),
      logDate: brazilianDate(at),
    })
  }
  const moment = brazilianIso(occurredAt)
  // The two members come first: to add them to an object as large as the state takes 6 µs, as long as half of this body.
  const payload = format({ notification: notificationID, customId, ...state })
  if (status === wireStatuses.answered) Object.assign(payload, { answered: state.answers.map(({ text }) => text) })
  return JSON.stringify({
    eventVersion: '2.0',
    occurredAt: moment,
    notificationID,
    customID: customId,
    channel: module.wire,
    status,
    statusTimestamp: moment,
    payload,
    metadata: { webhookVersion: 'v2', attempt: message.attempt },
  })
}

const ARRIVALS = (['delivered', 'read', 'confirmed', 'link opened', 'answered'] as const).map(
  fact => wireStatuses[fact] as string,
)
const NO_DATES = { sentAt: null, deliveredAt: null, readAt: null }

function viewEvent({ channel, seq }: MessageSource, events: readonly WebhookEvent[], dates: VisitDates | undefined) {
  const past = events.slice(0, seq)
  const event = past[seq - 1]
  // The first event says which deliveries there are. It is erased with all others.
  if (event === undefined || event.data === null || past[0]!.data === null || !isAnnounced(event.type)) return null
  const state = rebuildStatuses(withoutErased(past, dates), moduleOf).get(channel)
  if (state === undefined) return null
  const { customId } = past[0]!.data as { customId: string | null }
  const fact = factOf(event)
  const status: string = wireStatuses[event.type]
  // `at` is when the event was recorded, `occurredAt` when it happened, as in the status record.
  return { at: fact.at, occurredAt: dateOf(state, fact), status, state, customId, description: null }
}

const testEvent = ({ channel, createdAt }: MessageSource) => ({
  at: createdAt,
  occurredAt: createdAt,
  status: 'teste',
  state: newStatus(channel, 'queued', createdAt),
  customId: null,
  description: 'Evento de teste',
})
