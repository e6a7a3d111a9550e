import { refuse } from '../../domain/errors.js'
import { newId } from '../../domain/id.js'
import { readEmailAddress } from '../../domain/text/mail-address.js'
import { HOUR_MS } from '../../domain/units.js'
import { recordAudit } from '../../store/audit.js'
import {
  findInvitation,
  type Invitation,
  insertInvitation,
  takeInvitation,
  voidInvitations,
} from '../../store/console/invitations.js'
import { hasOperators, insertOperator } from '../../store/console/operators.js'
import { type Pool, type Queryable, transaction } from '../../store/postgres.js'
import {
  actorOf,
  type Client,
  hashNewPassword,
  newSecret,
  openSession,
  type SignInParts,
  sealTotp,
  secretHash,
} from './sign-in.js'

const LIFE_MS = 24 * HOUR_MS

/** The path of a one-time link. The secret is in the fragment: it reaches neither a log nor a Referer header. */
export const invitationPath = (secret: string): string => `/console/invitation#${secret}`

/** Makes a one-time link. An earlier link to the same person is void. */
export async function invite(db: Queryable, invitation: Invitation, actor: string): Promise<string> {
  const secret = newSecret()
  if (invitation.email !== null) await voidInvitations(db, invitation.email)
  await insertInvitation(db, secretHash(secret), invitation, LIFE_MS)
  const { email, role, account } = invitation
  await recordAudit(db, { actor, action: 'operator invite', subject: email ?? 'first', detail: { role, account } })
  return secret
}

/** While there is no operator, the start shows a link by which whoever reads it becomes the first one; null: there is an operator. */
export const inviteFirst = (pool: Pool): Promise<string | null> =>
  transaction(pool, async db => {
    if (await hasOperators(db)) return null
    await voidInvitations(db, null)
    return invite(db, { email: null, role: 'operator', account: null }, 'start')
  })

export async function lookAtInvitation(pool: Pool, secret: string) {
  return (await findInvitation(pool, secretHash(secret))) ?? refuse('invitationGone')
}

export interface Acceptance {
  secret: string
  name: string
  email: string
  password: string
  totp: { secret: string; code: string } | null
}

interface Accepted {
  /** With the hash of the password. */
  operator: { id: string; password: string }
  /** The secret of the session. */
  secret: string
}

/** The person becomes an operator and is signed in. */
export async function acceptInvitation(parts: SignInParts, acceptance: Acceptance, client: Client): Promise<Accepted> {
  const { pool, clock, keys } = parts
  // Before the password costs anything: nobody without a link gets us to compute.
  const { email: invited } = await lookAtInvitation(pool, acceptance.secret)
  const email = (invited ?? readEmailAddress(acceptance.email.trim()) ?? refuse('badEmail', 'email')).toLowerCase()
  const name = acceptance.name.trim() || refuse('required', 'name')
  const password = await hashNewPassword(acceptance.password, [...name.split(/\s+/), email.split('@')[0]!])
  const id = newId(Date.now())
  const totp = acceptance.totp === null ? { totpSecret: null, totpPeriod: 0 } : sealTotp(keys, id, acceptance.totp, clock())
  return transaction(pool, async db => {
    const { role, account } = (await takeInvitation(db, secretHash(acceptance.secret))) ?? refuse('invitationGone')
    const made = await insertOperator(db, { id, email, name, role, account, password, ...totp })
    if (!made) refuse('operatorExists', email)
    await voidInvitations(db, email)
    const detail = { role, account, totp: totp.totpSecret !== null }
    await recordAudit(db, { actor: actorOf({ email }), action: 'operator create', subject: id, detail })
    return { operator: { id, password }, secret: await openSession(db, { id, email }, client) }
  })
}
