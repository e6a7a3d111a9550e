import { moduleOf } from '../channels/registry.js'
import type { Channel } from '../domain/channel.js'
import { brazilianDate, brazilianIso } from '../domain/dates.js'
import { factOf, rebuildStatuses } from '../domain/rebuild.js'
import { type DeliveryStatus, describe, newStatus } from '../domain/status.js'
import { dateOf } from '../domain/transition.js'
import { type AnnouncedFact, isAnnounced, type PayloadVersion } from '../domain/webhook.js'
import type { WebhookEvent } from '../store/webhook/attempts.js'

/**
 * The labels and the status record in the body of a message. A body shows the delivery as it was right after the event. Events
 * never change, so a body changes only in its attempt number.
 */
export interface WebhookFormat {
  /** The channel's name on the wire. */
  channelOf(channel: Channel): string
  statuses: Record<AnnouncedFact, string>
  /** The same status record that the status lookup returns. */
  record(status: DeliveryStatus & { notification: string; customId: string | null }): object
}

export interface MessageSource {
  notification: string
  channel: Channel
  /** 0: a test event. */
  seq: number
  createdAt: Date
}

const EVENT_VERSION = '2.0'
const TEST_STATUS = 'teste'

/** null: the event's data was erased. */
export function renderBody(
  message: MessageSource,
  events: readonly WebhookEvent[],
  version: PayloadVersion,
  attempt: number,
  format: WebhookFormat,
): string | null {
  const view = message.seq === 0 ? testEvent(message) : viewEvent(message, events, format)
  if (view === null) return null
  const { at, occurredAt, status, state, customId } = view
  const channel = format.channelOf(message.channel)
  const notificationID = message.notification
  if (version === 'v1') {
    return JSON.stringify({
      notificationID,
      channel,
      description: view.description ?? describe(state, moduleOf(message.channel)),
      dateSent: dateOrNull(state.sentAt),
      dateDelivery: dateOrNull(state.deliveredAt),
      dateRead: dateOrNull(state.readAt),
      logDate: brazilianDate(at),
    })
  }
  const moment = brazilianIso(occurredAt)
  return JSON.stringify({
    eventVersion: EVENT_VERSION,
    occurredAt: moment,
    notificationID,
    customID: customId,
    channel,
    status,
    statusTimestamp: moment,
    // Assigns to the state itself, which is used only here: a copy takes as long as the rest of this body.
    payload: format.record(Object.assign(state, { notification: notificationID, customId })),
    metadata: { webhookVersion: 'v2', attempt },
  })
}

interface EventView {
  /** When the event was recorded. */
  at: Date
  /** When it happened, as in the status record. */
  occurredAt: Date
  status: string
  state: DeliveryStatus
  customId: string | null
  /** Replaces the state's own description. */
  description?: string
}

function viewEvent({ channel, seq }: MessageSource, events: readonly WebhookEvent[], format: WebhookFormat): EventView | null {
  const past = events.slice(0, seq)
  const event = past[seq - 1]
  // Erased events are missing from the list, so an event may not be at the index of its number.
  if (event === undefined || event.seq !== seq || !isAnnounced(event.type)) return null
  const state = rebuildStatuses(past, moduleOf).get(channel)
  if (state === undefined) return null
  const { customId } = past[0]!.data as { customId: string | null }
  const fact = factOf(event)
  const occurredAt = dateOf(state, fact)
  return { at: fact.at, occurredAt, status: format.statuses[event.type], state, customId }
}

const testEvent = ({ channel, createdAt }: MessageSource): EventView => ({
  at: createdAt,
  occurredAt: createdAt,
  status: TEST_STATUS,
  state: newStatus(channel, 'queued', createdAt),
  customId: null,
  description: 'Evento de teste',
})

const dateOrNull = (date: Date | null): string | null => (date === null ? null : brazilianDate(date))
