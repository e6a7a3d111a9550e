import { setTimeout as sleep } from 'node:timers/promises'
import { Refusal } from '../domain/errors.js'
import { KeyedSemaphore } from '../runtime/semaphore.js'
import type { Pool } from '../store/postgres.js'
import type { WebhookEvent } from '../store/webhook-attempts.js'
import { acknowledge, type ListedMessage, readUnacknowledged, touchListener } from '../store/webhook-messages.js'
import { renderBody, type WebhookWords } from './payload.js'

/**
 * Messages for whoever comes and takes them. What is not acknowledged is given again, in its order: a connection that breaks
 * costs nothing and skips nothing.
 */
export interface ListenQuestion {
  acknowledged: readonly string[]
  waitMs: number
  /** The caller went away, or we are stopping. */
  isOver(): boolean
}

export interface HeardMessage {
  id: string
  body: string
}

export interface ListenParts {
  pool: Pool
  words: WebhookWords
  readEvents(notifications: readonly string[]): Promise<Map<string, WebhookEvent[]>>
}

const PORTION = 100
const LOOK_EVERY_MS = 400

/** Waiting at once, per account and node: each of them asks the database again and again. */
const MOST_WAITING = 8
const RETRY_AFTER_SECONDS = 5

export function createListening(
  parts: ListenParts,
): (account: string, listener: string, question: ListenQuestion) => Promise<HeardMessage[]> {
  const refusal = (): Refusal => new Refusal('tooManyPolls', [String(MOST_WAITING)], { retryAfter: RETRY_AFTER_SECONDS })
  const polls = new KeyedSemaphore({ permits: MOST_WAITING, maxWaiting: 0, refusal })
  return (account, listener, question) => {
    const answer = (): Promise<HeardMessage[]> => listen(parts, account, listener, question)
    return question.waitMs === 0 ? answer() : polls.run(account, answer)
  }
}

async function listen(
  { pool, words, readEvents }: ListenParts,
  account: string,
  listener: string,
  { acknowledged, waitMs, isOver }: ListenQuestion,
): Promise<HeardMessage[]> {
  const version = await touchListener(pool, account, listener)
  if (version === null) throw new Refusal('webhookMissing')
  if (acknowledged.length > 0) await acknowledge(pool, listener, acknowledged)
  const until = performance.now() + waitMs
  for (;;) {
    const messages = await readUnacknowledged(pool, listener, PORTION)
    const heard = messages.length === 0 ? [] : await tell(messages)
    if (heard.length > 0 || performance.now() >= until || isOver()) return heard
    await sleep(Math.min(LOOK_EVERY_MS, Math.max(0, until - performance.now())))
  }

  async function tell(messages: readonly ListedMessage[]): Promise<HeardMessage[]> {
    const events = await readEvents([...new Set(messages.map(message => message.notification))])
    const told = messages.map(message => ({
      id: message.id,
      body: renderBody(message, events.get(message.notification) ?? [], version!, message.attempt + 1, words),
    }))
    // What was erased meanwhile has nothing to tell and must not stand in the way.
    const erased = told.filter(({ body }) => body === null).map(({ id }) => id)
    if (erased.length > 0) await acknowledge(pool, listener, erased)
    return told.filter((message): message is HeardMessage => message.body !== null)
  }
}
