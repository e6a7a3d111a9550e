import { randomBytes } from 'node:crypto'
import { channels } from '../channels/registry.js'
import type { Channel } from '../domain/channel.js'
import { Refusal } from '../domain/errors.js'
import { newId } from '../domain/id.js'
import { seal, unseal } from '../domain/sealed.js'
import type { TargetRules } from '../domain/target-address.js'
import { type AnnouncedFact, type PayloadVersion, SECRET_BYTES, showSecret } from '../domain/webhook.js'
import { readWebhookUrl } from '../domain/webhook-url.js'
import { type Pool, transaction } from '../store/postgres.js'
import {
  countEndpoints,
  deleteEndpoint,
  type EndpointChanges,
  findEndpoint,
  insertEndpoint,
  type NewEndpoint,
  rotateSecret,
  updateEndpoint,
  type WebhookEndpoint,
} from '../store/webhook-endpoints.js'
import { insertTestMessage, type ReplayPlace, type ReplaySpan, replayMessage, replaySome } from '../store/webhook-messages.js'

/** The life of an endpoint: made, changed, tested, repaired, taken away. Each only by its own account. */
export interface EndpointDraft {
  url: string
  version: PayloadVersion
  channels: Channel[] | null
  statuses: AnnouncedFact[] | null
}

export interface EndpointParts {
  pool: Pool
  sealing: Buffer
  rules: TargetRules
}

/** Shown once, at creation and at rotation. */
export interface WithSecret {
  endpoint: WebhookEndpoint
  secret: string
}

/** Both secrets sign meanwhile: receivers take up the new one at their own pace. */
const ROTATION_MS = 24 * 3_600_000
const REPLAY_BATCH = 2_000
/** Every event of the account is a message to each of them. Those switched off count too, as they may be switched on. */
const MOST_ENDPOINTS = 100
const MOST_LISTENERS = 20

const contextOf = (endpoint: string): string => `webhook ${endpoint}`

export const openSecrets = (sealing: Buffer, endpoint: string, secrets: readonly Buffer[]): Buffer[] =>
  secrets.map(secret => unseal(sealing, secret, contextOf(endpoint)))

export async function requireEndpoint(pool: Pool, account: string, id: string): Promise<WebhookEndpoint> {
  const endpoint = await findEndpoint(pool, account, id)
  if (endpoint === null) throw new Refusal('webhookMissing')
  return endpoint
}

export async function createEndpoint(
  { pool, sealing, rules }: EndpointParts,
  account: string,
  draft: EndpointDraft,
  nowMs: number,
): Promise<WithSecret> {
  const url = readWebhookUrl(draft.url, rules)
  const id = newId(nowMs)
  const secret = randomBytes(SECRET_BYTES)
  await addEndpoint(pool, { ...draft, id, account, url, secret: seal(sealing, secret, contextOf(id)) })
  return { endpoint: await requireEndpoint(pool, account, id), secret: showSecret(secret) }
}

/** An endpoint without an address, for whoever comes and takes its messages. */
export async function createListener(
  { pool, sealing }: EndpointParts,
  account: string,
  draft: Omit<EndpointDraft, 'url'>,
  nowMs: number,
): Promise<{ id: string; secret: string }> {
  const id = newId(nowMs)
  const secret = randomBytes(SECRET_BYTES)
  await addEndpoint(pool, { ...draft, id, account, url: null, secret: seal(sealing, secret, contextOf(id)) })
  return { id, secret: showSecret(secret) }
}

/** Counted and added in one: requests at the same moment must not pass the limit together. */
const addEndpoint = (pool: Pool, endpoint: NewEndpoint): Promise<void> =>
  transaction(pool, async db => {
    const isListener = endpoint.url === null
    const most = isListener ? MOST_LISTENERS : MOST_ENDPOINTS
    if ((await countEndpoints(db, endpoint.account, isListener ? 'listeners' : 'endpoints')) >= most)
      throw new Refusal(isListener ? 'tooManyListeners' : 'tooManyWebhooks', [String(most)])
    await insertEndpoint(db, endpoint)
  })

export async function editEndpoint(
  { pool, rules }: EndpointParts,
  account: string,
  id: string,
  changes: EndpointChanges,
): Promise<WebhookEndpoint> {
  const url = changes.url === undefined ? {} : { url: readWebhookUrl(changes.url, rules) }
  if (!(await updateEndpoint(pool, account, id, { ...changes, ...url }))) throw new Refusal('webhookMissing')
  return requireEndpoint(pool, account, id)
}

export async function rotateEndpoint({ pool, sealing }: EndpointParts, account: string, id: string): Promise<WithSecret> {
  const secret = randomBytes(SECRET_BYTES)
  if (!(await rotateSecret(pool, account, id, seal(sealing, secret, contextOf(id)), ROTATION_MS)))
    throw new Refusal('webhookMissing')
  return { endpoint: await requireEndpoint(pool, account, id), secret: showSecret(secret) }
}

export async function removeEndpoint({ pool }: EndpointParts, account: string, id: string): Promise<void> {
  if (!(await deleteEndpoint(pool, account, id))) throw new Refusal('webhookMissing')
}

/** Queues a test event, which takes the same way as every other one. Returns its message. */
export async function testEndpoint({ pool }: EndpointParts, account: string, id: string, nowMs: number): Promise<string> {
  const endpoint = await requireActive(pool, account, id)
  const message = newId(nowMs)
  await insertTestMessage(pool, id, message, endpoint.channels?.[0] ?? channels[0]!)
  return message
}

/** Sends one message again. */
export async function replayOne({ pool }: EndpointParts, account: string, id: string, message: string): Promise<void> {
  await requireActive(pool, account, id)
  const outcome = await replayMessage(pool, id, message)
  if (outcome === 'missing') throw new Refusal('webhookMessageMissing')
  if (outcome === 'busy') throw new Refusal('messageBusy', [], { retryAfter: 5 })
}

/** Sends all messages of a span again, in portions that no statement's time limit cuts. Returns how many. */
export async function replaySpan({ pool }: EndpointParts, account: string, id: string, span: ReplaySpan): Promise<number> {
  await requireActive(pool, account, id)
  let total = 0
  let after: ReplayPlace = { at: '-infinity', position: 0 }
  for (;;) {
    const portion: (ReplayPlace & { count: number }) | null = await replaySome(pool, id, span, after, REPLAY_BATCH)
    if (portion === null) return total
    total += portion.count
    after = portion
  }
}

async function requireActive(pool: Pool, account: string, id: string): Promise<WebhookEndpoint> {
  const endpoint = await requireEndpoint(pool, account, id)
  if (endpoint.disabledAt !== null) throw new Refusal('webhookOff')
  return endpoint
}
