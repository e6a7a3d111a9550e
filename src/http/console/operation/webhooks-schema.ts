import { type Static, Type } from 'typebox'
import { MAX_URL_CHARACTERS } from '../../../domain/access/target-address.js'
import { count, list, moment, one, orNull, scopeQuery, text } from '../wire.js'

const url = Type.String({ maxLength: MAX_URL_CHARACTERS })
const version = one(['v1', 'v2'])
const interests = {
  version,
  /** Empty: all of them. */
  channels: Type.Array(text, { maxItems: 20 }),
  statuses: Type.Array(text, { maxItems: 30 }),
}

const webhookMembers = {
  id: text,
  account: text,
  accountName: text,
  url: text,
  ...interests,
  active: Type.Boolean(),
  /** Why it is off. */
  reason: orNull(one(['manual', 'gone', 'failing'])),
  failingSince: orNull(moment),
  /** Until when the previous secret signs too. */
  previousSecretUntil: orNull(moment),
  waiting: count,
  /** The count stopped here: there are as many, or more. */
  more: Type.Boolean(),
  oldestWaiting: orNull(moment),
  createdAt: moment,
  last: orNull(Type.Object({ at: moment, status: orNull(count), error: orNull(text) })),
}
export const webhooksSchema = Type.Object({
  rows: list(Type.Object(webhookMembers)),
  /** The statuses that an endpoint may ask for. */
  statuses: list(text),
})
export const webhooksQuery = Type.Object(scopeQuery)

export const newWebhook = Type.Object({
  account: Type.String({ maxLength: 36 }),
  mode: one(['live', 'test']),
  url,
  ...interests,
})
/** What is absent stays as it is. */
export const webhookChanges = Type.Partial(Type.Object({ url, ...interests, active: Type.Boolean() }))
/** The secret is shown once. */
export const webhookSecret = Type.Object({ id: text, secret: text })

export const attemptsQuery = Type.Object({
  before: Type.Optional(Type.String({ maxLength: 15 })),
  failed: Type.Optional(one(['true'])),
})
export const attemptsPage = Type.Object({
  rows: list(
    Type.Object({
      id: count,
      message: text,
      attempt: count,
      at: moment,
      durationMs: count,
      status: orNull(count),
      /** null: it was received. */
      error: orNull(text),
      /** null: a test. */
      notification: orNull(text),
      channel: text,
      /** The state of the message now. */
      state: one(['queued', 'sending', 'done', 'dead', 'held']),
      url: text,
      /** null: the event was erased. */
      requestBody: orNull(text),
      responseHeaders: orNull(text),
      responseBody: orNull(text),
    }),
  ),
  cursor: orNull(text),
})
export const testedWebhook = Type.Object({ message: text })
/** One message, or all since a moment. */
export const replayOrder = Type.Object({
  message: Type.Optional(Type.String({ maxLength: 36 })),
  since: Type.Optional(Type.String({ maxLength: 40 })),
  missedOnly: Type.Optional(Type.Boolean()),
})
export const replayed = Type.Object({ messages: count })

export type WebhooksQuery = Static<typeof webhooksQuery>
export type Webhooks = Static<typeof webhooksSchema>
export type Webhook = Webhooks['rows'][number]
export type NewWebhook = Static<typeof newWebhook>
export type WebhookChanges = Static<typeof webhookChanges>
export type WebhookSecret = Static<typeof webhookSecret>
export type AttemptsQuery = Static<typeof attemptsQuery>
export type AttemptsPage = Static<typeof attemptsPage>
export type WebhookAttempt = AttemptsPage['rows'][number]
export type ReplayOrder = Static<typeof replayOrder>
export type Replayed = Static<typeof replayed>
