import { type Static, Type } from 'typebox'
import { count, list, moment, one, orNull, scopeQuery, text } from '../wire.js'

const tone = one(['good', 'bad', 'warn', 'quiet'])
const faultValue = Type.Unsafe<boolean | number>({ type: ['boolean', 'number'] })

/** What can be done in the simulator, channel by channel. */
export const simulatorSchema = Type.Object({
  channels: list(
    Type.Object({
      channel: text,
      fates: list(Type.Object({ address: text, meaning: text, does: text, example: Type.Boolean() })),
      faults: list(
        Type.Object({
          name: text,
          about: one(['send', 'reports']),
          label: text,
          help: text,
          kind: one(['switch', 'number']),
          max: Type.Optional(count),
          step: Type.Optional(count),
          value: faultValue,
          isOn: Type.Boolean(),
        }),
      ),
    }),
  ),
})
export type Simulator = Static<typeof simulatorSchema>
export type SimulatedChannel = Simulator['channels'][number]
export type Fault = SimulatedChannel['faults'][number]

export const simulatorQuery = Type.Object({
  account: scopeQuery.account,
  to: Type.Optional(Type.String({ maxLength: 300 })),
  channel: Type.Optional(Type.String({ maxLength: 40 })),
  notification: Type.Optional(Type.String({ maxLength: 36 })),
})
export type SimulatorQuery = Static<typeof simulatorQuery>

const summary = {
  id: text,
  channel: text,
  /** null: it is of no notification of this gateway. */
  notification: orNull(text),
  from: text,
  to: text,
  subject: text,
  receivedAt: moment,
}
export const inboxSchema = Type.Object({ messages: list(Type.Object(summary)) })
export type SimulatedInbox = Static<typeof inboxSchema>
export type InboxMessage = SimulatedInbox['messages'][number]

export const messageSchema = Type.Object({
  ...summary,
  /** How it is shown: a mail, bubbles on a phone, a call or sheets of paper. */
  shape: one(['mail', 'bubble', 'call', 'sheet']),
  /** What the sender was answered; null: nothing. */
  answer: orNull(text),
  text: orNull(text),
  hasHtml: Type.Boolean(),
  /** Where the recipient would go. */
  link: orNull(text),
  /** What fills the places of a text that only the carrier knows. */
  values: list(Type.Object({ name: text, text })),
  lines: list(Type.Object({ ours: Type.Boolean(), text })),
  tracking: list(Type.Object({ at: moment, text })),
  /** What is played or shown of it, below its files. */
  file: orNull(text),
  attachments: list(Type.Object({ name: text, size: count })),
  facts: list(Type.Object({ name: text, value: text })),
  actions: list(Type.Object({ name: text, label: text, text: orNull(Type.Object({ label: text, value: text })) })),
  reports: list(
    Type.Object({
      id: text,
      label: text,
      tone,
      state: one(['waiting', 'done', 'refused', 'expired']),
      at: moment,
      detail: orNull(text),
    }),
  ),
})
export type SimulatedMessage = Static<typeof messageSchema>

export const actionSchema = Type.Object({
  action: Type.String({ maxLength: 40 }),
  text: Type.Optional(Type.String({ maxLength: 10_000 })),
})
export type SimulatorAction = Static<typeof actionSchema>

export const faultsSchema = Type.Object({
  channel: Type.String({ maxLength: 40 }),
  values: Type.Record(Type.String({ maxLength: 40 }), faultValue),
})
export type SetFaults = Static<typeof faultsSchema>
