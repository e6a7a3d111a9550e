import { Type } from 'typebox'
import type { ChannelTraits } from '../domain/channel.js'
import { explainFailure } from '../domain/delivery/status.js'
import type { FoundStatus } from '../store/delivery/deliveries.js'

/** The members that several channels' status records share. */
export const text = (description: string) => Type.String({ description })
export const textOrNull = (description: string) => Type.Unsafe<string | null>({ type: ['string', 'null'], description })
export const situation = Type.String({ description: 'A situação de agora, para pessoas.', examples: ['Entregue'] })
export const failed = Type.Boolean({ description: 'true: falhou, e este canal não tenta mais.' })
export const customId = textOrNull('A referência dada no envio.')
export const notificationId = text('O identificador da notificação.')
export const date = (description: string) =>
  Type.String({ description: `${description} ("" enquanto não aconteceu).`, examples: ['18/07/2026 01:01:32'] })
export const dateOrNothing = (description: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], description: `${description} (null enquanto não aconteceu).` })

/** The key is absent until it happens: existing clients ask whether the key is there. */
export const textOnceKnown = (description: string) =>
  Type.Optional(Type.String({ description: `${description} (ausente até lá).` }))
export const dateOnceHappened = (description: string) =>
  Type.Optional(
    Type.String({ description: `${description} (ausente enquanto não aconteceu).`, examples: ['18/07/2026 01:01:32'] }),
  )

export const failureReason = Type.Optional(
  Type.String({ description: 'Por que falhou, e o que fazer; presente só depois que falhou.' }),
)

export function failureReasonOf(status: FoundStatus, traits: ChannelTraits): { failureReason?: string } {
  const reason = explainFailure(status, traits)
  return reason === null ? {} : { failureReason: reason }
}
