import { setTimeout as sleep } from 'node:timers/promises'
import { Refusal } from '../domain/errors.js'
import { KeyedSemaphore } from '../runtime/semaphore.js'
import type { Pool } from '../store/postgres.js'
import type { WebhookEvent } from '../store/webhook/attempts.js'
import { acknowledge, type ListedMessage, readUnacknowledged, touchListener } from '../store/webhook/messages.js'
import { renderBody, type WebhookFormat } from './payload.js'

/**
 * Long polling for listeners. Unacknowledged messages are returned again in their order, so that a broken connection loses
 * nothing.
 */
export interface ListenRequest {
  acknowledged: readonly string[]
  waitMs: number
  /** The client has disconnected or the node is stopping. */
  isAborted(): boolean
}

export interface ListenerMessage {
  id: string
  body: string
}

export interface ListenParts {
  pool: Pool
  format: WebhookFormat
  readEvents(notifications: readonly string[]): Promise<Map<string, WebhookEvent[]>>
}

const BATCH = 100
const POLL_MS = 400

/** Concurrent polls per account and node, because each of them queries the database repeatedly. */
const MAX_WAITING = 8
const RETRY_AFTER_SECONDS = 5

export function createListening(
  parts: ListenParts,
): (account: string, listener: string, request: ListenRequest) => Promise<ListenerMessage[]> {
  const refusal = (): Refusal => new Refusal('tooManyPolls', [String(MAX_WAITING)], { retryAfter: RETRY_AFTER_SECONDS })
  const polls = new KeyedSemaphore({ permits: MAX_WAITING, maxWaiting: 0, refusal })
  return (account, listener, request) => {
    const answer = (): Promise<ListenerMessage[]> => listen(parts, account, listener, request)
    return request.waitMs === 0 ? answer() : polls.run(account, answer)
  }
}

async function listen(
  { pool, format, readEvents }: ListenParts,
  account: string,
  listener: string,
  { acknowledged, waitMs, isAborted }: ListenRequest,
): Promise<ListenerMessage[]> {
  const version = await touchListener(pool, account, listener)
  if (version === null) throw new Refusal('webhookMissing')
  if (acknowledged.length > 0) await acknowledge(pool, listener, acknowledged)
  const until = performance.now() + waitMs
  for (;;) {
    const messages = await readUnacknowledged(pool, listener, BATCH)
    const rendered = messages.length === 0 ? [] : await render(messages)
    if (rendered.length > 0 || performance.now() >= until || isAborted()) return rendered
    await sleep(Math.min(POLL_MS, Math.max(0, until - performance.now())))
  }

  async function render(messages: readonly ListedMessage[]): Promise<ListenerMessage[]> {
    const events = await readEvents([...new Set(messages.map(message => message.notification))])
    const rendered = messages.map(message => ({
      id: message.id,
      body: renderBody(message, events.get(message.notification) ?? [], version!, message.attempt + 1, format),
    }))
    // A message whose event was erased has no body and must not block the later ones.
    const erased = rendered.filter(({ body }) => body === null).map(({ id }) => id)
    if (erased.length > 0) await acknowledge(pool, listener, erased)
    return rendered.filter((message): message is ListenerMessage => message.body !== null)
  }
}
