import { setTimeout as sleep } from 'node:timers/promises'
import { Refusal } from '../domain/errors.js'
import { type Scope, scopeKey } from '../domain/scope.js'
import type { PayloadVersion } from '../domain/webhook.js'
import { KeyedSemaphore } from '../runtime/semaphore.js'
import type { Pool } from '../store/postgres.js'
import { acknowledge, giveUp, readUnacknowledged, touchListener } from '../store/webhook/messages.js'
import { renderBodies, type WebhookFormat } from './payload.js'

interface ListenRequest {
  acknowledged: readonly string[]
  waitMs: number
  /** The client has disconnected or the node is stopping. */
  isAborted(): boolean
}

const BATCH = 100
const POLL_MS = 400

/** Concurrent polls per account, mode and node, because each of them queries the database repeatedly. */
const MAX_WAITING = 8

/**
 * Long polling for listeners. Unacknowledged messages are returned again in their order, so that a broken connection loses
 * nothing.
 */
export function createListening(pool: Pool, format: WebhookFormat, onError: (error: Error, message: string) => void) {
  const refusal = (): Refusal => new Refusal('tooManyPolls', [String(MAX_WAITING)], { retryAfter: 5 })
  const polls = new KeyedSemaphore({ permits: MAX_WAITING, maxWaiting: 0, refusal })

  async function listen(scope: Scope, listener: string, request: ListenRequest) {
    const { acknowledged, waitMs, isAborted } = request
    const version = await touchListener(pool, scope, listener)
    if (version === null) throw new Refusal('webhookMissing')
    if (acknowledged.length > 0) await acknowledge(pool, listener, acknowledged)
    const until = performance.now() + waitMs
    for (;;) {
      const messages = await readMessages(listener, version)
      if (messages.length > 0 || performance.now() >= until || isAborted()) return messages
      await sleep(Math.min(POLL_MS, Math.max(0, until - performance.now())))
    }
  }

  async function readMessages(listener: string, version: PayloadVersion) {
    const messages = await readUnacknowledged(pool, listener, BATCH)
    if (messages.length === 0) return []
    const sources = messages.map(message => ({ ...message, version, attempt: message.attempt + 1 }))
    const bodies = await renderBodies(pool, format, sources)
    // A message without a body must not block the later ones. A message of an erased event has nothing to tell; another one may be asked for again.
    const erased: string[] = []
    const unrendered: string[] = []
    const rendered: { id: string; body: string }[] = []
    for (const [index, { id }] of messages.entries()) {
      const body = bodies[index]!
      if (body === null) erased.push(id)
      else if (body instanceof Error) {
        onError(body, `the body of webhook message ${id} cannot be made`)
        unrendered.push(id)
      } else rendered.push({ id, body })
    }
    if (erased.length > 0) await acknowledge(pool, listener, erased)
    if (unrendered.length > 0) await giveUp(pool, listener, unrendered)
    return rendered
  }

  return (scope: Scope, listener: string, request: ListenRequest) => {
    const answer = () => listen(scope, listener, request)
    return request.waitMs === 0 ? answer() : polls.run(scopeKey(scope), answer)
  }
}
