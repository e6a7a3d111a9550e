import { type Static, Type } from 'typebox'
import { count, list, moment, one, orNull, scopeQuery, text } from '../wire.js'
import { holdsSchema } from './holds-schema.js'

export const loadQuery = Type.Object(scopeQuery)
export const loadSchema = Type.Object({
  rows: list(
    Type.Object({
      channel: text,
      /** The carrier that has it, or had it last; null: none yet. */
      carrier: orNull(text),
      /** later: due at a later moment. */
      state: one(['queued', 'later', 'sending', 'uncertain', 'unresolved', 'dead']),
      count,
      /** The count stopped here: there are as many, or more. */
      more: Type.Boolean(),
      /** Since when the oldest is due; of `later`, when the next one is. */
      oldest: orNull(moment),
    }),
  ),
  /** What people hold back; null: any channel, carrier, account. */
  holds: holdsSchema,
  /** Deliveries that wait for a person because the database is a copy. */
  restored: Type.Object({ count, more: Type.Boolean() }),
})

const state = one(['dead', 'unresolved', 'uncertain'])
const channel = Type.Optional(Type.String({ maxLength: 30 }))
const cursor = Type.Optional(Type.String({ maxLength: 1_000 }))
export const stuckQuery = Type.Object({ ...scopeQuery, state, channel, cursor })
export const stuckPage = Type.Object({
  rows: list(
    Type.Object({
      notification: text,
      channel: text,
      account: text,
      state,
      recipient: orNull(text),
      recipientName: orNull(text),
      subject: orNull(text),
      label: text,
      /** Why, where more is known. */
      reason: orNull(text),
      carrier: orNull(text),
      /** What the carrier calls the message, or what we call it. */
      reference: orNull(text),
      attempts: count,
      at: moment,
    }),
  ),
  cursor: orNull(text),
})

const items = Type.Array(Type.Object({ notification: Type.String({ maxLength: 36 }), channel: Type.String({ maxLength: 30 }) }), {
  minItems: 1,
  maxItems: 50,
})
export const retryOrder = Type.Object({ items })
export const settleOrder = Type.Object({ decision: one(['sent', 'failed']), items })
/** skipped: somebody else, or the carrier's report, decided before. */
export const decided = Type.Object({ recorded: count, skipped: count })

export const suppressionsQuery = Type.Object({
  ...scopeQuery,
  channel,
  recipient: Type.Optional(Type.String({ maxLength: 320 })),
  cursor,
})
export const suppressionsPage = Type.Object({
  rows: list(
    Type.Object({
      account: text,
      accountName: text,
      channel: text,
      recipient: text,
      reason: one(['hard bounce', 'complaint', 'stranger', 'opt-out', 'operator']),
      notification: orNull(text),
      at: moment,
    }),
  ),
  cursor: orNull(text),
})
export const suppressionRemoval = Type.Object({
  account: Type.String({ maxLength: 36 }),
  mode: one(['live', 'test']),
  channel: Type.String({ maxLength: 30 }),
  recipient: Type.String({ maxLength: 320 }),
})

export const evidenceSchema = Type.Object({
  /** Events in the log. */
  size: count,
  /** Since when the oldest event that the log lacks has been waiting. */
  lagSeconds: count,
  checkpoints: list(Type.Object({ size: count, at: moment, cosignatures: count, timeStamps: count })),
  targets: list(
    Type.Object({
      target: text,
      /** The size of the last checkpoint that it has. */
      size: count,
      failures: count,
      error: orNull(text),
      doneAt: orNull(moment),
    }),
  ),
  retention: list(
    Type.Object({
      what: text,
      setting: orNull(text),
      /** null: kept without end. */
      days: orNull(count),
    }),
  ),
})

export type LoadQuery = Static<typeof loadQuery>
export type Load = Static<typeof loadSchema>
export type StuckQuery = Static<typeof stuckQuery>
export type StuckPage = Static<typeof stuckPage>
export type StuckRow = StuckPage['rows'][number]
export type RetryOrder = Static<typeof retryOrder>
export type SettleOrder = Static<typeof settleOrder>
export type Decided = Static<typeof decided>
export type SuppressionsQuery = Static<typeof suppressionsQuery>
export type SuppressionsPage = Static<typeof suppressionsPage>
export type SuppressionRow = SuppressionsPage['rows'][number]
export type SuppressionRemoval = Static<typeof suppressionRemoval>
export type Evidence = Static<typeof evidenceSchema>
