import { randomBytes } from 'node:crypto'
import { channels } from '../channels/registry.js'
import { seal, unseal } from '../domain/access/sealed.js'
import { readWebhookUrl, type TargetRules } from '../domain/access/target-address.js'
import type { Channel } from '../domain/channel.js'
import { Refusal, refuse } from '../domain/errors.js'
import { newId } from '../domain/id.js'
import type { Scope } from '../domain/scope.js'
import { HOUR_MS } from '../domain/units.js'
import { type AnnouncedFact, type PayloadVersion, SECRET_BYTES, showSecret } from '../domain/webhook.js'
import { type Pool, type Queryable, type Transaction, transaction } from '../store/postgres.js'
import type { SealedValues } from '../store/sealed-values.js'
import { type AttemptQuery, type LoggedAttempt, listAttempts } from '../store/webhook/attempts.js'
import {
  countEndpoints,
  deleteEndpoint,
  type EndpointChanges,
  findEndpoint,
  insertEndpoint,
  rotateSecret,
  updateEndpoint,
  type WebhookEndpoint,
} from '../store/webhook/endpoints.js'
import { insertTestMessage, replayMessage } from '../store/webhook/messages.js'
import { renderBodies, type WebhookFormat } from './payload.js'

/** The events that an endpoint gets; null means all of them. */
export interface Interests {
  version: PayloadVersion
  channels: Channel[] | null
  statuses: AnnouncedFact[] | null
}
type EndpointDraft = Interests & { url: string }

export interface EndpointParts {
  pool: Queryable
  sealing: Buffer
  rules: TargetRules
}

type PooledParts = EndpointParts & { pool: Pool }

/** An act is one transaction of its caller: where its answer cannot be made, and a new secret not be shown, nothing has changed. */
export type ActParts = EndpointParts & { pool: Transaction }

export const act = <T>(parts: PooledParts, work: (parts: ActParts) => Promise<T>): Promise<T> =>
  transaction(parts.pool, pool => work({ ...parts, pool }))

/** The secret is shown only once, at creation and at rotation. */
export interface WithSecret {
  endpoint: WebhookEndpoint
  secret: string
}

/** Both secrets sign during this time, so that receivers can change to the new one at their own pace. */
const ROTATION_MS = 24 * HOUR_MS
/** Per account and mode: every event becomes a message to each endpoint. Disabled endpoints count too, because they can be enabled. */
const MAX_ENDPOINTS = 100
const MAX_LISTENERS = 20

export const sealedEndpoints: readonly SealedValues[] = ['secret', 'previous_secret'].map(column => ({
  table: 'webhook_endpoint',
  column,
  id: 'id::text',
  contextOf: id => contextOf(id),
}))

const contextOf = (endpoint: string): string => `webhook ${endpoint}`

export const openSecrets = (sealing: Buffer, endpoint: string, secrets: readonly Buffer[]): Buffer[] =>
  secrets.map(secret => unseal(sealing, secret, contextOf(endpoint)))

export const requireEndpoint = async (pool: Queryable, scope: Scope, id: string): Promise<WebhookEndpoint> =>
  (await findEndpoint(pool, scope, id)) ?? refuse('webhookMissing')

export async function createEndpoint(parts: ActParts, scope: Scope, draft: EndpointDraft, nowMs: number): Promise<WithSecret> {
  const url = readWebhookUrl(draft.url, parts.rules)
  const { id, secret } = await insert(parts, scope, draft, url, nowMs)
  return { endpoint: await requireEndpoint(parts.pool, scope, id), secret }
}

/** A listener is an endpoint without a URL; its client polls for the messages. */
export const createListener = (parts: PooledParts, scope: Scope, draft: Interests, nowMs: number) =>
  act(parts, within => insert(within, scope, draft, null, nowMs))

/** Counts and inserts in one transaction, so that concurrent requests cannot exceed the limit together. */
async function insert(parts: ActParts, scope: Scope, interests: Interests, url: string | null, nowMs: number) {
  const id = newId(nowMs)
  const secret = randomBytes(SECRET_BYTES)
  const isListener = url === null
  const most = isListener ? MAX_LISTENERS : MAX_ENDPOINTS
  if ((await countEndpoints(parts.pool, scope, isListener ? 'listeners' : 'endpoints')) >= most)
    refuse(isListener ? 'tooManyListeners' : 'tooManyWebhooks', String(most))
  const { account, mode } = scope
  await insertEndpoint(parts.pool, { ...interests, url, id, account, mode, secret: seal(parts.sealing, secret, contextOf(id)) })
  return { id, secret: showSecret(secret) }
}

export async function editEndpoint({ pool, rules }: ActParts, scope: Scope, id: string, changes: EndpointChanges) {
  const url = changes.url === undefined ? {} : { url: readWebhookUrl(changes.url, rules) }
  if (!(await updateEndpoint(pool, scope, id, { ...changes, ...url }))) refuse('webhookMissing')
  return requireEndpoint(pool, scope, id)
}

export async function rotateEndpoint({ pool, sealing }: ActParts, scope: Scope, id: string): Promise<WithSecret> {
  const secret = randomBytes(SECRET_BYTES)
  const sealed = seal(sealing, secret, contextOf(id))
  if (!(await rotateSecret(pool, scope, id, sealed, ROTATION_MS))) refuse('webhookMissing')
  return { endpoint: await requireEndpoint(pool, scope, id), secret: showSecret(secret) }
}

export async function removeEndpoint({ pool }: ActParts, scope: Scope, id: string): Promise<void> {
  if (!(await deleteEndpoint(pool, scope, id))) refuse('webhookMissing')
}

/** Queues a test event, which is delivered like any other event. Returns the id of its message. */
export async function testEndpoint({ pool }: ActParts, scope: Scope, id: string, nowMs: number): Promise<string> {
  const endpoint = await requireActive(pool, scope, id)
  const message = newId(nowMs)
  await insertTestMessage(pool, id, message, endpoint.channels?.[0] ?? channels[0]!)
  return message
}

export async function replayOne({ pool }: ActParts, scope: Scope, id: string, message: string): Promise<void> {
  await requireActive(pool, scope, id)
  const outcome = await replayMessage(pool, id, message)
  if (outcome === 'missing') refuse('webhookMessageMissing')
  if (outcome === 'busy') throw new Refusal('messageBusy', [], { retryAfter: 5 })
}

export async function requireActive(pool: Queryable, scope: Scope, id: string): Promise<WebhookEndpoint> {
  const endpoint = await requireEndpoint(pool, scope, id)
  if (endpoint.disabledAt !== null) refuse('webhookOff')
  return endpoint
}

/** An attempt with its request body, which is rendered again from the event so that no copy of erased data is kept. */
export type AttemptDetails = LoggedAttempt & { requestBody: string | null }

export async function showAttempts(pool: Pool, format: WebhookFormat, scope: Scope, id: string, query: AttemptQuery) {
  await requireEndpoint(pool, scope, id)
  const attempts = await listAttempts(pool, id, query)
  const bodies = await renderBodies(pool, format, attempts)
  return attempts.map((attempt, index): AttemptDetails => {
    const body = bodies[index]!
    return { ...attempt, requestBody: body instanceof Error ? null : body }
  })
}
