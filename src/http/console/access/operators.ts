import type { FastifyInstance } from 'fastify'
import { refuse } from '../../../domain/errors.js'
import { readEmailAddress } from '../../../domain/text/mail-address.js'
import { invitationPath, invite } from '../../../engine/console/invitations.js'
import { actorOf } from '../../../engine/console/sign-in.js'
import { findAccount } from '../../../store/accounts/accounts.js'
import { recordAudit } from '../../../store/audit.js'
import { deleteInvitation, listInvitations } from '../../../store/console/invitations.js'
import {
  findOperatorEmail,
  type KnownOperator,
  listOperators,
  lockFullOperators,
  lockOperator,
  updateDisabled,
  updateRole,
} from '../../../store/console/operators.js'
import { endSessions, type SignedIn } from '../../../store/console/sessions.js'
import { type Pool, type Queryable, transaction } from '../../../store/postgres.js'
import { pathId } from '../../gw/wire.js'
import { operatorsOnly, overseers, route } from '../route.js'
import { done } from '../wire.js'
import {
  type ChangeRole,
  changeRoleSchema,
  type Invite,
  type Invited,
  invitationQuery,
  invitedSchema,
  inviteSchema,
  type Operators,
  operatorsSchema,
} from './operators-schema.js'

export interface OperatorOptions {
  pool: Pool
  publicUrl(): string
}

interface ById {
  Params: { id: string }
}
type Right = Pick<ChangeRole, 'role' | 'account'>

/** The people of the console: who may come in, as what, and who no longer. */
export function addOperators(app: FastifyInstance, { pool, publicUrl }: OperatorOptions): void {
  app.get(
    '/console/api/operators',
    route(overseers, { response: { 200: operatorsSchema } }),
    async ({ operator }): Promise<Operators> => ({
      rows: (await listOperators(pool)).map(({ seenAt, disabledAt, ...listed }) => ({
        ...listed,
        seenAt: seenAt?.toISOString() ?? null,
        disabledAt: disabledAt?.toISOString() ?? null,
        isYou: listed.id === operator.id,
      })),
      invitations: (await listInvitations(pool)).map(({ expiresAt, ...invitation }) => ({
        ...invitation,
        expiresAt: expiresAt.toISOString(),
      })),
    }),
  )

  app.post<{ Body: Invite }>(
    '/console/api/operators/invite',
    route(operatorsOnly, { body: inviteSchema, response: { 200: invitedSchema } }),
    async ({ operator, body }): Promise<Invited> => {
      const email = (readEmailAddress(body.email.trim()) ?? refuse('badEmail', 'email')).toLowerCase()
      const secret = await transaction(pool, async db => {
        const right = await requireRight(db, body)
        if (await findOperatorEmail(db, email)) refuse('operatorExists', email)
        return invite(db, { email, ...right }, actorOf(operator))
      })
      return { link: `${publicUrl()}${invitationPath(secret)}` }
    },
  )

  app.delete<{ Querystring: { email: string } }>(
    '/console/api/operators/invitations',
    route(operatorsOnly, { querystring: invitationQuery, response: { 200: done } }),
    async ({ operator, query }) => {
      await transaction(pool, async db => {
        if (!(await deleteInvitation(db, query.email))) refuse('invitationMissing')
        await recordAudit(db, { actor: actorOf(operator), action: 'invitation cancel', subject: query.email })
      })
      return { done: true }
    },
  )

  /** A change of what somebody may do. The sessions that they have end with it. */
  const change = (
    { operator, params }: { operator: SignedIn; params: { id: string } },
    work: (db: Queryable, found: KnownOperator) => Promise<{ action: string; detail: object; takesRight: boolean }>,
  ): Promise<{ done: true }> =>
    transaction(pool, async db => {
      const full = await lockFullOperators(db)
      const found = (await lockOperator(db, pathId(params.id, 'operatorMissing'))) ?? refuse('operatorMissing')
      const { action, detail, takesRight } = await work(db, found)
      if (takesRight && found.id === operator.id) refuse('ownAccess')
      if (takesRight && full.every(id => id === found.id)) refuse('lastOperator')
      const sessions = await endSessions(db, found.id, operator.session)
      const told = { email: found.email, sessions, ...detail }
      await recordAudit(db, { actor: actorOf(operator), action, subject: found.id, detail: told })
      return { done: true }
    })

  app.put<ById & { Body: ChangeRole }>(
    '/console/api/operators/:id/role',
    route(operatorsOnly, { body: changeRoleSchema, response: { 200: done } }),
    request =>
      change(request, async (db, { id, role, account }) => {
        const right = await requireRight(db, request.body)
        await updateRole(db, id, right)
        return { action: 'operator role', detail: { before: { role, account }, ...right }, takesRight: right.role !== 'operator' }
      }),
  )

  for (const act of ['disable', 'enable'] as const) {
    app.post<ById>(
      `/console/api/operators/:id/${act}`,
      { ...route(operatorsOnly, { response: { 200: done } }), config: { allows: operatorsOnly, emptyBody: true } },
      request =>
        change(request, async (db, { id }) => {
          await updateDisabled(db, id, act === 'disable')
          return { action: `operator ${act}`, detail: {}, takesRight: act === 'disable' }
        }),
    )
  }

  app.post<ById>(
    '/console/api/operators/:id/end-sessions',
    { ...route(operatorsOnly, { response: { 200: done } }), config: { allows: operatorsOnly, emptyBody: true } },
    request => change(request, async () => ({ action: 'session end', detail: {}, takesRight: false })),
  )
}

async function requireRight(db: Queryable, { role, account }: Right): Promise<Right> {
  if ((role === 'sender') !== (account !== null)) refuse('senderAccount')
  return { role, account: account === null ? null : ((await findAccount(db, account)) ?? refuse('accountMissing')).id }
}
