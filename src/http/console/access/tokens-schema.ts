import { type Static, Type } from 'typebox'
import { list, moment, one, orNull, text } from '../wire.js'

export const tokensQuery = Type.Object({ cursor: Type.Optional(Type.String({ maxLength: 36 })) })
export const tokensSchema = Type.Object({
  rows: list(
    Type.Object({
      jti: text,
      mode: one(['live', 'test']),
      issuedAt: moment,
      expiresAt: orNull(moment),
      revokedAt: orNull(moment),
      state: one(['active', 'expired', 'revoked']),
    }),
  ),
  cursor: orNull(text),
})
/** `expires`: as 90d; empty: never. */
export const newTokenSchema = Type.Object({ mode: one(['live', 'test']), expires: Type.String({ maxLength: 10 }) })
export const issuedTokenSchema = Type.Object({ jti: text, token: text })

export const addressesSchema = Type.Object({
  ranges: list(text),
  /** The address that this request came from, and whether a range contains it. */
  yours: Type.Object({ address: text, isRegistered: Type.Boolean() }),
})
export const newAddressSchema = Type.Object({ range: Type.String({ maxLength: 60 }) })

export type TokensPage = Static<typeof tokensSchema>
export type NewToken = Static<typeof newTokenSchema>
export type IssuedToken = Static<typeof issuedTokenSchema>
export type Addresses = Static<typeof addressesSchema>
export type NewAddress = Static<typeof newAddressSchema>
