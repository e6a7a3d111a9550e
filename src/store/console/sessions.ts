import type { Operator } from '../../domain/access/operator.js'
import { execute, matchesRow, type Queryable, queryRow, queryRows, run } from '../postgres.js'

export interface NewSession {
  id: string
  secretSha256: Buffer
  operator: string
  address: string
  agent: string
  lifeMs: number
}

export const insertSession = (db: Queryable, { id, secretSha256, operator, address, agent, lifeMs }: NewSession): Promise<void> =>
  execute(
    db,
    `insert into console_session (id, secret_sha256, operator_id, address, agent, expires_at)
     values ($1, $2, $3, $4, $5, now() + $6 * interval '1 millisecond')`,
    [id, secretSha256, operator, address, agent, lifeMs],
  )

export interface SignedIn extends Operator {
  session: string
  /** How long ago the session was last seen. */
  idleMs: number
}

/** The person of a session that has neither ended nor expired; a person who was disabled has none. */
export const findSession = (db: Queryable, secretSha256: Buffer): Promise<SignedIn | null> =>
  queryRow(db, {
    name: 'find-console-session',
    text: `select s.id as session, o.id, o.email, o.name, o.role, o.account_id as account,
             (extract(epoch from now() - s.seen_at) * 1000)::float8 as "idleMs"
           from console_session s join operator o on o.id = s.operator_id
           where s.secret_sha256 = $1 and s.expires_at > now() and o.disabled_at is null`,
    values: [secretSha256],
  })

/** The expiry slides. */
export const renewSession = (db: Queryable, id: string, lifeMs: number): Promise<void> =>
  execute(db, "update console_session set seen_at = now(), expires_at = now() + $2 * interval '1 millisecond' where id = $1", [
    id,
    lifeMs,
  ])

export const isSessionAlive = (db: Queryable, id: string): Promise<boolean> =>
  matchesRow(
    db,
    `select from console_session s join operator o on o.id = s.operator_id
     where s.id = $1 and s.expires_at > now() and o.disabled_at is null`,
    [id],
  )

export interface ListedSession {
  id: string
  address: string
  agent: string
  createdAt: Date
  seenAt: Date
}

export const listSessions = (db: Queryable, operator: string): Promise<ListedSession[]> =>
  queryRows(
    db,
    `select id, address, agent, created_at as "createdAt", seen_at as "seenAt" from console_session
     where operator_id = $1 and expires_at > now() order by seen_at desc limit 100`,
    [operator],
  )

/** False: the operator has no such session. */
export const endSession = (db: Queryable, operator: string, id: string): Promise<boolean> =>
  matchesRow(db, 'delete from console_session where operator_id = $1 and id = $2', [operator, id])

/** All of an operator's sessions, or all but one. Returns how many. */
export const endSessions = async (db: Queryable, operator: string, keep: string | null = null): Promise<number> =>
  (await run(db, 'delete from console_session where operator_id = $1 and id is distinct from $2::uuid', [operator, keep]))
    .rowCount ?? 0

export const deleteExpiredSessions = (db: Queryable): Promise<void> =>
  execute(db, 'delete from console_session where expires_at < now()')
