import { type Static, Type } from 'typebox'
import { bilingual, count, list, moment, one, orNull, text } from '../wire.js'

const field = Type.Object({
  /** The member of the send request that it fills in: 'sms.number'. */
  path: text,
  kind: one(['text', 'address', 'phone', 'long', 'choice']),
  ...bilingual.properties,
  example: Type.Optional(text),
  required: Type.Optional(Type.Boolean()),
  /** A template takes its place. */
  withoutTemplate: Type.Optional(Type.Boolean()),
  choices: Type.Optional(list(Type.Object({ value: text, ...bilingual.properties }))),
})
export type ComposeField = Static<typeof field>

/** The form: the fields of each channel, and the members that name its template and the values of the template's variables. */
export const composeForm = Type.Object({
  channels: list(
    Type.Object({
      channel: text,
      member: text,
      fields: list(field),
      template: text,
      values: text,
      /** Without a template there is nothing to send. */
      needsTemplate: Type.Boolean(),
    }),
  ),
  canAskQuestion: Type.Boolean(),
})
export type ComposeForm = Static<typeof composeForm>

/** As POST /gw/email takes it. */
const request = Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true })
export const previewBody = Type.Object({ request })
export type PreviewBody = Static<typeof previewBody>
export const sendBody = Type.Object({
  /** New with every message, the same when it is sent again: nobody gets it twice. */
  key: text,
  request,
})
export type SendBody = Static<typeof sendBody>
export const sentSchema = Type.Object({ id: text })
export type Sent = Static<typeof sentSchema>
/** The key was used for another message: this one is not sent, and `accepted` is the notification of the other one. */
export const otherSentSchema = Type.Object({ statusCode: count, message: text, error: text, accepted: Type.Optional(text) })
export type OtherSent = Static<typeof otherSentSchema>

const message = Type.Union([
  Type.Object({ kind: Type.Literal('mail'), from: text, fromName: text, subject: text, html: text }),
  Type.Object({ kind: Type.Literal('parts'), text, encoding: text, parts: list(text) }),
  Type.Object({
    kind: Type.Literal('bubble'),
    template: text,
    text: orNull(text),
    values: list(Type.Object({ name: orNull(text), text })),
    hasButton: Type.Boolean(),
  }),
  Type.Object({ kind: Type.Literal('speech'), greeting: text, text }),
  Type.Object({ kind: Type.Literal('pdf'), base64: text, pages: count }),
])
export type ShownMessage = Static<typeof message>

export const previewSchema = Type.Object({
  /** Why the send would be refused. */
  problem: orNull(text),
  deliveries: list(
    Type.Object({
      channel: text,
      message: orNull(message),
      /** Why there is no message. */
      problem: orNull(text),
      /** When this delivery is due, if the send is for later. */
      dueAt: orNull(moment),
      /** Minutes after the start of the sequence, and the condition. 0 and `sempre`: at once. */
      waitMinutes: count,
      condition: text,
    }),
  ),
})
export type Preview = Static<typeof previewSchema>
