import { type Static, Type } from 'typebox'
import { count, list, moment, one, orNull, text } from '../wire.js'

export const carriersQuery = Type.Object({ mode: Type.Optional(one(['live', 'test'])), account: Type.Optional(text) })
export const carriersSchema = Type.Object({
  /** Every channel, with its carriers in order of preference. */
  channels: list(
    Type.Object({
      channel: text,
      carriers: list(
        Type.Object({
          carrier: text,
          provider: text,
          /** null: a simulated one. */
          host: orNull(text),
          simulated: Type.Boolean(),
          /** Messages a second, from all workers together; null: no limit was set. */
          perSecond: orNull(count),
          /** Messages at once, of each worker; null: not known here. */
          concurrency: orNull(count),
          /** What happens to an attempt whose outcome is unknown. */
          whenUnknown: one(['safe', 'report', 'lookup', 'never']),
          /** Its credentials can be tried without sending. */
          testable: Type.Boolean(),
          /** As the workers of the last minute see it; null: no worker serves it. */
          health: orNull(
            Type.Object({ state: one(['open', 'paused', 'closed']), workers: count, sent: count, failed: count, seenAt: moment }),
          ),
        }),
      ),
    }),
  ),
})
export const carrierTest = Type.Object({ carrier: Type.String({ maxLength: 300 }) })
/** reason: null where the carrier accepted; answer: the carrier's own words. */
export const carrierTested = Type.Object({ ok: Type.Boolean(), reason: orNull(text), answer: orNull(text) })

export const setupSchema = Type.Object({
  /** null: no real carrier, so that nobody outside asks. */
  checks: orNull(
    list(
      Type.Object({
        channel: text,
        name: text,
        subject: text,
        record: orNull(text),
        state: one(['good', 'warn', 'bad', 'unknown']),
        found: list(text),
        expected: orNull(text),
        advice: text,
      }),
    ),
  ),
})

export type CarriersQuery = Static<typeof carriersQuery>
export type Carriers = Static<typeof carriersSchema>
export type CarrierRow = Carriers['channels'][number]['carriers'][number]
export type CarrierTest = Static<typeof carrierTest>
export type CarrierTested = Static<typeof carrierTested>
export type Setup = Static<typeof setupSchema>
export type SetupRow = NonNullable<Setup['checks']>[number]
