import { type Static, Type } from 'typebox'
import { count, list, moment, one, orNull, scopeQuery, text } from '../wire.js'

const batch = {
  id: text,
  account: text,
  mode: one(['live', 'test']),
  name: text,
  state: one(['receiving', 'checking', 'checked', 'sending', 'paused', 'done', 'cancelled']),
  total: count,
  good: count,
  rejected: count,
  accepted: count,
  failed: count,
  perMinute: orNull(count),
  secondsLeft: orNull(count),
  createdAt: moment,
  startedAt: orNull(moment),
  finishedAt: orNull(moment),
  /** Why it paused by itself. */
  pausedBecause: orNull(one(['cap'])),
  /** In which state it was when its time was over and it was cancelled by itself. */
  expiredWhile: orNull(one(['paused', 'checked'])),
}
const row = Type.Object({ ...batch, accountName: text })
export type BatchRow = Static<typeof row>

export const batchesPage = Type.Object({ rows: list(row), cursor: orNull(text) })
export type BatchesPage = Static<typeof batchesPage>
export const batchesQuery = Type.Object({ ...scopeQuery, cursor: Type.Optional(text) })
export type BatchesQuery = Static<typeof batchesQuery>

export const uploadQuery = Type.Object({ ...scopeQuery, account: text, name: text })
export type UploadQuery = Static<typeof uploadQuery>
export const uploaded = Type.Object({
  id: text,
  /** The file was the batch's already. */
  repeated: Type.Boolean(),
})
export type Uploaded = Static<typeof uploaded>

/** As POST /gw/email takes it. */
const base = Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true })

export const batchDetail = Type.Object({
  ...batch,
  accountName: text,
  /** The data of its lines were deleted. */
  erased: Type.Boolean(),
  base,
  /** A hash of the mapped columns and the message, as they were checked. */
  revision: text,
  columns: list(
    Type.Object({
      name: text,
      /** The members of the send request that it fills in. */
      paths: list(text),
      /** Those that its name can mean, in a message that goes by every channel. */
      named: list(text),
      /** The values of the column in the first lines. */
      sample: list(text),
    }),
  ),
  errors: list(Type.Object({ line: count, column: orNull(text), message: text })),
  /** What a column may fill in. */
  fields: list(Type.Object({ path: text, pt: text, en: text, channel: orNull(text) })),
})
export type BatchDetail = Static<typeof batchDetail>

export const checkBody = Type.Object({
  mapping: Type.Unsafe<Record<string, string[]>>({ type: 'object', additionalProperties: true }),
  base,
  /** Those that the message goes by: columns fill in no member of another. */
  channels: list(text),
})
export type CheckBody = Static<typeof checkBody>

/** The batch that the person has seen checked. */
export const startBody = Type.Object({ revision: text })
export type StartBody = Static<typeof startBody>
