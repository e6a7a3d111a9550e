import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import { MIN_PASSWORD } from '../../../domain/access/password.js'
import { newTotpSecret, totpUri, writeTotpSecret } from '../../../domain/access/totp.js'
import { refuse } from '../../../domain/errors.js'
import { newDevice } from '../../../engine/console/devices.js'
import { acceptInvitation, lookAtInvitation } from '../../../engine/console/invitations.js'
import { actorOf, checkSignIn, type SignInParts, signIn } from '../../../engine/console/sign-in.js'
import { recordAudit } from '../../../store/audit.js'
import { endSession } from '../../../store/console/sessions.js'
import { transaction } from '../../../store/postgres.js'
import { clientOf, everyone, route, type SessionOptions, setDevice, setSession } from '../route.js'
import { done } from '../wire.js'
import {
  type AcceptInvitation,
  acceptInvitationSchema,
  type InvitationAnswer,
  invitationSchema,
  invitationSecretSchema,
  type NewTotp,
  newTotpQuery,
  newTotpSchema,
  type SignedInAnswer,
  type SignIn,
  signedInSchema,
  signInSchema,
} from './sign-in-schema.js'

export type SignInOptions = SessionOptions & SignInParts

/** Into the console and out of it: sign-in, invitations, sign-out. */
export function addSignIn(app: FastifyInstance, options: SignInOptions): void {
  const { pool, keys } = options
  app.post<{ Body: SignIn }>(
    '/console/api/sign-in',
    route('anyone', { body: signInSchema, response: { 200: signedInSchema } }),
    async (request, reply): Promise<SignedInAnswer> => {
      const client = clientOf(request, options)
      const { email, password, code = null } = request.body
      const operator = await checkSignIn(options, { email, password, code: code?.replace(/\s/g, '') || null }, client)
      if (operator === 'code') return { next: 'code' }
      setSession(reply, options, await signIn(options, operator, client))
      setDevice(reply, options, newDevice(keys, operator))
      return { next: 'done' }
    },
  )

  app.post(
    '/console/api/sign-out',
    { ...route(everyone, { response: { 200: done } }), config: { allows: everyone, emptyBody: true } },
    async ({ operator }, reply) => {
      await transaction(pool, async db => {
        await endSession(db, operator.id, operator.session)
        await recordAudit(db, { actor: actorOf(operator), action: 'sign out', subject: operator.session })
      })
      setSession(reply, options, null)
      return { done: true }
    },
  )

  app.post<{ Body: Static<typeof invitationSecretSchema> }>(
    '/console/api/invitation/look',
    route('anyone', { body: invitationSecretSchema, response: { 200: invitationSchema } }),
    async ({ body }): Promise<InvitationAnswer> => {
      const { email, role, accountName } = await lookAtInvitation(pool, body.secret)
      return { email, role, account: accountName, minPassword: MIN_PASSWORD }
    },
  )

  app.post<{ Body: Static<typeof newTotpQuery> }>(
    '/console/api/invitation/totp',
    route('anyone', { body: newTotpQuery, response: { 200: newTotpSchema } }),
    async ({ body: { secret, email } }): Promise<NewTotp> => {
      await lookAtInvitation(pool, secret)
      return newTotp(email)
    },
  )

  app.post<{ Body: AcceptInvitation }>(
    '/console/api/invitation/accept',
    route('anyone', { body: acceptInvitationSchema, response: { 200: signedInSchema } }),
    async (request, reply): Promise<SignedInAnswer> => {
      if (request.body.name.length === 0) refuse('required', 'name')
      const { operator, secret } = await acceptInvitation(options, request.body, clientOf(request, options))
      setSession(reply, options, secret)
      setDevice(reply, options, newDevice(keys, operator))
      return { next: 'done' }
    },
  )

  app.post<{ Body: { email?: string } }>(
    '/console/api/me/new-totp',
    route(everyone, { body: Type.Object({}), response: { 200: newTotpSchema } }),
    ({ operator }): Promise<NewTotp> => newTotp(operator.email),
  )
}

/** A secret for an app of one-time codes, and its QR code. It counts once a code of it comes back. */
async function newTotp(email: string): Promise<NewTotp> {
  const secret = newTotpSecret()
  const uri = totpUri(secret, email, 'Carteiro')
  const { qrCode } = await import('../../../domain/recipient/qr-code.js')
  return { secret: writeTotpSecret(secret), uri, qr: qrCode(uri) }
}
