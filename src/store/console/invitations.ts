import type { OperatorRole } from '../../domain/access/operator.js'
import { execute, matchesRow, type Queryable, queryRow, queryRows } from '../postgres.js'

export interface Invitation {
  /** null: whoever opens the link says so. */
  email: string | null
  role: OperatorRole
  account: string | null
}

export const insertInvitation = (
  db: Queryable,
  secretSha256: Buffer,
  { email, role, account }: Invitation,
  lifeMs: number,
): Promise<void> =>
  execute(
    db,
    `insert into invitation (secret_sha256, email, role, account_id, expires_at)
     values ($1, $2, $3, $4, now() + $5 * interval '1 millisecond')`,
    [secretSha256, email, role, account, lifeMs],
  )

const OPEN = 'secret_sha256 = $1 and expires_at > now()'

export const findInvitation = (
  db: Queryable,
  secretSha256: Buffer,
): Promise<(Invitation & { accountName: string | null }) | null> =>
  queryRow(
    db,
    `select i.email, i.role, i.account_id as account, a.name as "accountName"
     from invitation i left join account a on a.id = i.account_id where ${OPEN}`,
    [secretSha256],
  )

/** A link works once: of two requests at the same moment one gets it. */
export const takeInvitation = (db: Queryable, secretSha256: Buffer): Promise<Invitation | null> =>
  queryRow(db, `delete from invitation where ${OPEN} returning email, role, account_id as account`, [secretSha256])

/** Once there is an operator the links without a name are void, and so are older links to the same person. */
export const voidInvitations = (db: Queryable, email: string | null): Promise<void> =>
  execute(db, 'delete from invitation where email is not distinct from $1::text or email is null', [email])

export const deleteExpiredInvitations = (db: Queryable): Promise<void> =>
  execute(db, 'delete from invitation where expires_at < now()')

export interface OpenInvitation {
  email: string
  role: OperatorRole
  accountName: string | null
  expiresAt: Date
}

export const listInvitations = (db: Queryable): Promise<OpenInvitation[]> =>
  queryRows(
    db,
    `select i.email, i.role, a.name as "accountName", i.expires_at as "expiresAt"
     from invitation i left join account a on a.id = i.account_id
     where i.email is not null and i.expires_at > now() order by i.created_at desc limit 100`,
  )

/** False: there is none. */
export const deleteInvitation = (db: Queryable, email: string): Promise<boolean> =>
  matchesRow(db, 'delete from invitation where email = $1', [email])
