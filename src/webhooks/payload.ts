import { moduleOf } from '../channels/registry.js'
import type { Channel } from '../domain/channel.js'
import { brazilianDate, brazilianIso } from '../domain/dates.js'
import { rebuildStatuses, toldFact } from '../domain/rebuild.js'
import { type DeliveryStatus, describe, newStatus } from '../domain/status.js'
import { dateOf } from '../domain/transition.js'
import { type AnnouncedFact, isAnnounced, type PayloadVersion } from '../domain/webhook.js'
import type { WebhookEvent } from '../store/webhook-attempts.js'

/**
 * The body of a message: the delivery as it stood after the event, however much has happened since. Events never change, so
 * neither does what a message says; only the number of the attempt in it does.
 */
export interface WebhookWords {
  /** The channel's name on the wire. */
  channelOf(channel: Channel): string
  statuses: Record<AnnouncedFact, string>
  /** The status record, as the status lookup gives it. */
  record(status: DeliveryStatus & { notification: string; customId: string | null }): object
}

export interface ToldMessage {
  notification: string
  channel: Channel
  /** 0: a test event. */
  seq: number
  createdAt: Date
}

const EVENT_VERSION = '2.0'
const TEST_STATUS = 'teste'

/** null: the event's data was erased, there is nothing left to tell. */
export function renderBody(
  message: ToldMessage,
  events: readonly WebhookEvent[],
  version: PayloadVersion,
  attempt: number,
  words: WebhookWords,
): string | null {
  const told = message.seq === 0 ? testEvent(message) : retell(message, events, words)
  if (told === null) return null
  const { at, occurredAt, status, state, customId } = told
  const channel = words.channelOf(message.channel)
  const notificationID = message.notification
  if (version === 'v1') {
    return JSON.stringify({
      notificationID,
      channel,
      description: told.description ?? describe(state, moduleOf(message.channel)),
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
    // Onto the state itself, which is nobody else's: to copy it takes as long as the rest of this body.
    payload: words.record(Object.assign(state, { notification: notificationID, customId })),
    metadata: { webhookVersion: 'v2', attempt },
  })
}

interface Told {
  /** When it was written down. */
  at: Date
  /** When it happened, as the record says. */
  occurredAt: Date
  status: string
  state: DeliveryStatus
  customId: string | null
  /** Where it is not the state's own. */
  description?: string
}

function retell({ channel, seq }: ToldMessage, events: readonly WebhookEvent[], words: WebhookWords): Told | null {
  const past = events.slice(0, seq)
  const event = past[seq - 1]
  // Erased events are missing from the list: then the last one is not where its number says.
  if (event === undefined || event.seq !== seq || !isAnnounced(event.type)) return null
  const state = rebuildStatuses(past, moduleOf).get(channel)
  if (state === undefined) return null
  const { customId } = past[0]!.data as { customId: string | null }
  const fact = toldFact(event)
  const occurredAt = dateOf(state, fact)
  return { at: fact.at, occurredAt, status: words.statuses[event.type], state, customId }
}

const testEvent = ({ channel, createdAt }: ToldMessage): Told => ({
  at: createdAt,
  occurredAt: createdAt,
  status: TEST_STATUS,
  state: newStatus(channel, 'queued', createdAt),
  customId: null,
  description: 'Evento de teste',
})

const dateOrNull = (date: Date | null): string | null => (date === null ? null : brazilianDate(date))
