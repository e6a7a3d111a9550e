import type { FastifyInstance } from 'fastify'
import { refuse } from '../../../domain/errors.js'
import { newDevice } from '../../../engine/console/devices.js'
import { actorOf, confirmPassword, hashNewPassword, openSession, sealTotp } from '../../../engine/console/sign-in.js'
import { recordAudit } from '../../../store/audit.js'
import { readOperator, type StoredOperator, updatePassword, updateTotpSecret } from '../../../store/console/operators.js'
import { endSession, endSessions, listSessions, type SignedIn } from '../../../store/console/sessions.js'
import { transaction } from '../../../store/postgres.js'
import { pathId } from '../../gw/wire.js'
import { clientOf, everyone, route, setDevice, setSession } from '../route.js'
import { done } from '../wire.js'
import type { SignInOptions } from './sign-in.js'
import { type ChangePassword, changePasswordSchema, type Me, meSchema, type SetTotp, setTotpSchema } from './sign-in-schema.js'

/** The person who is signed in: their sessions, password and second factor. */
export function addMe(app: FastifyInstance, options: SignInOptions): void {
  const { pool, keys, clock } = options
  const requireOperator = async ({ id }: SignedIn): Promise<StoredOperator> =>
    (await readOperator(pool, id)) ?? refuse('signedOut')

  app.get('/console/api/me', route(everyone, { response: { 200: meSchema } }), async ({ operator }): Promise<Me> => {
    const { name, email, role, totpSecret } = await requireOperator(operator)
    const sessions = await listSessions(pool, operator.id)
    return {
      name,
      email,
      role,
      hasTotp: totpSecret !== null,
      sessions: sessions.map(({ createdAt, seenAt, ...session }) => ({
        ...session,
        current: session.id === operator.session,
        createdAt: createdAt.toISOString(),
        seenAt: seenAt.toISOString(),
      })),
    }
  })

  app.delete<{ Params: { id: string } }>(
    '/console/api/me/sessions/:id',
    route(everyone, { response: { 200: done } }),
    async ({ operator, params }) => {
      const id = pathId(params.id, 'sessionMissing')
      await transaction(pool, async db => {
        if (!(await endSession(db, operator.id, id))) refuse('sessionMissing')
        await recordAudit(db, { actor: actorOf(operator), action: 'session end', subject: id })
      })
      return { done: true }
    },
  )

  app.put<{ Body: ChangePassword }>(
    '/console/api/me/password',
    route(everyone, { body: changePasswordSchema, response: { 200: done } }),
    async (request, reply) => {
      const { operator, body } = request
      const stored = await requireOperator(operator)
      await confirmPassword(options, stored, body.current)
      const password = await hashNewPassword(body.next, [...stored.name.split(/\s+/), stored.email.split('@')[0]!])
      // Whoever knew the old password is out: every session ends, and this one goes on under a new secret.
      const secret = await transaction(pool, async db => {
        await updatePassword(db, operator.id, password)
        await endSessions(db, operator.id)
        await recordAudit(db, { actor: actorOf(operator), action: 'password change', subject: operator.id })
        return openSession(db, operator, clientOf(request, options))
      })
      setSession(reply, options, secret)
      setDevice(reply, options, newDevice(keys, { id: operator.id, password }))
      return { done: true }
    },
  )

  app.put<{ Body: SetTotp }>(
    '/console/api/me/totp',
    route(everyone, { body: setTotpSchema, response: { 200: done } }),
    async request => {
      const { operator, body } = request
      await confirmPassword(options, await requireOperator(operator), body.password)
      const { totpSecret, totpPeriod } =
        body.totp === null ? { totpSecret: null, totpPeriod: 0 } : sealTotp(keys, operator.id, body.totp, clock())
      await transaction(pool, async db => {
        await updateTotpSecret(db, operator.id, totpSecret, totpPeriod)
        const action = totpSecret === null ? 'second factor remove' : 'second factor set'
        await recordAudit(db, { actor: actorOf(operator), action, subject: operator.id })
      })
      return { done: true }
    },
  )
}
