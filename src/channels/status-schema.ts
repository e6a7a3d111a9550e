import { Type } from 'typebox'
import type { ChannelTraits } from '../domain/channel.js'
import { explainFailure } from '../domain/status.js'
import type { FoundStatus } from '../store/delivery/deliveries.js'

/** The members that several channels' status records share. */
export const text = Type.String()
export const textOrNull = Type.Unsafe<string | null>({ type: ['string', 'null'] })
export const date = (description: string) =>
  Type.String({ description: `${description} ("" enquanto não aconteceu).`, examples: ['18/07/2026 01:01:32'] })
export const dateOrNothing = (description: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], description: `${description} (null enquanto não aconteceu).` })

export const failureReason = Type.Optional(
  Type.String({ description: 'Por que falhou, e o que fazer; presente só depois que falhou.' }),
)

export function failureReasonOf(status: FoundStatus, traits: ChannelTraits): { failureReason?: string } {
  const reason = explainFailure(status, traits)
  return reason === null ? {} : { failureReason: reason }
}
