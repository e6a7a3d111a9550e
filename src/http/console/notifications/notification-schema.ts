import { type Static, Type } from 'typebox'
import { count, list, moment, one, orNull, text } from '../wire.js'

const tone = one(['good', 'bad', 'warn', 'quiet', 'busy'])
const decisions = ['retry', 'sent', 'failed', 'release', 'cancel'] as const

/** Everything about one notification that its page shows. */
export const notificationSchema = Type.Object({
  id: text,
  code: count,
  account: Type.Object({ id: text, name: text }),
  mode: one(['live', 'test']),
  customId: orNull(text),
  recipientName: orNull(text),
  subject: orNull(text),
  acceptedAt: moment,
  hasQuestion: Type.Boolean(),
  /** false: it was erased. */
  hasContent: Type.Boolean(),
  mayFinalize: Type.Boolean(),
  lanes: list(
    Type.Object({
      channel: text,
      recipient: orNull(text),
      state: text,
      label: text,
      tone,
      since: moment,
      /** Why it failed, or why it was not sent. */
      reason: orNull(text),
      carrier: orNull(text),
      attempt: count,
      /** What this person may decide about it now. */
      decisions: list(one(decisions)),
    }),
  ),
  events: list(
    Type.Object({
      seq: count,
      at: moment,
      occurredAt: orNull(text),
      /** null: it is about the notification as a whole. */
      channel: orNull(text),
      type: text,
      label: text,
      tone,
      source: text,
      attempt: orNull(count),
      carrier: orNull(text),
      reason: orNull(text),
      /** The carrier's answer as it came. */
      answer: orNull(text),
      /** What the recipient wrote. */
      reply: orNull(text),
      /** Whose word it is. */
      proof: text,
      simulated: Type.Boolean(),
      hash: text,
      details: Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true }),
    }),
  ),
  coming: list(Type.Object({ channel: text, dueAt: orNull(moment), text, waits: Type.Boolean() })),
  attachments: list(Type.Object({ name: text, size: count, sha256: text })),
  /** The sender's copies of what left. */
  contents: list(
    Type.Object({
      channel: text,
      ordinal: count,
      type: text,
      extension: text,
      size: count,
      sha256: text,
      /** The content itself, if it is a text that is not long. */
      preview: orNull(text),
    }),
  ),
  /** The public page that says whether a document about it is genuine. */
  verificationUrl: text,
})
export type ShownNotification = Static<typeof notificationSchema>
export type Lane = ShownNotification['lanes'][number]
export type LaneEvent = ShownNotification['events'][number]
export type SentCopy = ShownNotification['contents'][number]
export type Decision = (typeof decisions)[number]

export const decisionSchema = Type.Object({ decision: one(decisions) })
export type DecisionBody = Static<typeof decisionSchema>

/** What the verifier says of each file, as `carteiro verify` does. */
export const verificationSchema = Type.Object({
  files: list(
    Type.Object({
      name: one(['proof', 'report', 'bundle']),
      /** missing: it does not exist yet. tooLarge: it is verified by the command. */
      state: one(['holds', 'broken', 'missing', 'tooLarge']),
      size: count,
      detail: text,
      steps: list(Type.Object({ title: text, state: one(['holds', 'broken', 'partial', 'absent', 'skipped']), detail: text })),
    }),
  ),
})
export type Verification = Static<typeof verificationSchema>
export type VerifiedFile = Verification['files'][number]
