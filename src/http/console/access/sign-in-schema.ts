import { type Static, Type } from 'typebox'
import { count, list, moment, one, orNull, text } from '../wire.js'

const short = Type.String({ maxLength: 254 })
const password = Type.String({ maxLength: 1_000 })
const role = one(['operator', 'sender', 'auditor'])
const code = Type.String({ maxLength: 12 })
const secret = Type.String({ maxLength: 100 })
const totp = Type.Object({ secret, code })

export const signInSchema = Type.Object({ email: short, password, code: Type.Optional(orNull(code)) })
export const signedInSchema = Type.Object({ next: one(['code', 'done']) })

export const invitationSecretSchema = Type.Object({ secret })
export const invitationSchema = Type.Object({ email: orNull(text), role, account: orNull(text), minPassword: count })
export const acceptInvitationSchema = Type.Object({ secret, name: short, email: short, password, totp: orNull(totp) })
export const newTotpSchema = Type.Object({ secret: text, uri: text, qr: text })
export const newTotpQuery = Type.Object({ secret, email: short })

export const meSchema = Type.Object({
  name: text,
  email: text,
  role,
  hasTotp: Type.Boolean(),
  sessions: list(
    Type.Object({
      id: text,
      current: Type.Boolean(),
      address: text,
      agent: text,
      createdAt: moment,
      seenAt: moment,
    }),
  ),
})
export const changePasswordSchema = Type.Object({ current: password, next: password })
export const setTotpSchema = Type.Object({ password, totp: orNull(totp) })

export type SignIn = Static<typeof signInSchema>
export type SignedInAnswer = Static<typeof signedInSchema>
export type InvitationAnswer = Static<typeof invitationSchema>
export type AcceptInvitation = Static<typeof acceptInvitationSchema>
export type NewTotp = Static<typeof newTotpSchema>
export type Me = Static<typeof meSchema>
export type ChangePassword = Static<typeof changePasswordSchema>
export type SetTotp = Static<typeof setTotpSchema>
