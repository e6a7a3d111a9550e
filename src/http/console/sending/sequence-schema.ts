import { type Static, Type } from 'typebox'
import { count, list, moment, one, orNull, text } from '../wire.js'

export const accountQuery = Type.Object({
  account: Type.String({ maxLength: 36 }),
  mode: Type.Optional(one(['live', 'test'])),
})
export type AccountQuery = Static<typeof accountQuery>

const step = Type.Object({ channel: text, waitMinutes: Type.Integer({ minimum: 0 }), condition: text })
const steps = Type.Array(step, { maxItems: 50 })
export type SequenceStepWire = Static<typeof step>

export const sequenceSchema = Type.Object({
  steps: list(step),
  /** Identifies the stored steps, so that steps that another person saved meanwhile are not overwritten. */
  revision: text,
  conditions: list(text),
  maxWaitMinutes: count,
})
export type Sequence = Static<typeof sequenceSchema>

/** `revision`: of the steps that the person has seen. */
export const setSequence = Type.Object({ steps, revision: text })
export type SetSequence = Static<typeof setSequence>

const outcome = one(['silent', 'delivered', 'read', 'confirmed', 'failed'])
export const simulateBody = Type.Object({
  steps,
  /** The channels of the sample, and what becomes of each message once it was sent. */
  reactions: Type.Array(Type.Object({ channel: text, outcome, minutes: Type.Integer({ minimum: 0, maximum: 525_600 }) }), {
    maxItems: 50,
  }),
})
export type SimulateBody = Static<typeof simulateBody>

export const simulated = Type.Object({
  start: moment,
  events: list(Type.Object({ channel: text, type: text, at: moment, reason: orNull(text) })),
})
export type Simulated = Static<typeof simulated>
