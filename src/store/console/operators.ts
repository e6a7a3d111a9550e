import type { Operator, OperatorRole } from '../../domain/access/operator.js'
import { execute, matchesRow, type Queryable, queryRow, queryRows, queryValues } from '../postgres.js'

/** What signing in needs to know of an operator. */
export interface StoredOperator extends Operator {
  password: string
  /** Sealed; null: no second factor. */
  totpSecret: Buffer | null
  totpPeriod: number
}

const SELECT = `select id, email, name, role, account_id as account, password, totp_secret as "totpSecret", totp_period as "totpPeriod"
  from operator where disabled_at is null`

export const hasOperators = (db: Queryable): Promise<boolean> => matchesRow(db, 'select from operator limit 1')

/** `email` in lower case. */
export const findOperator = (db: Queryable, email: string): Promise<StoredOperator | null> =>
  queryRow(db, `${SELECT} and email = $1`, [email])

export const readOperator = (db: Queryable, id: string): Promise<StoredOperator | null> =>
  queryRow(db, `${SELECT} and id = $1`, [id])

/** False: somebody with this address exists already. */
export const insertOperator = (
  db: Queryable,
  { id, email, name, role, account, password, totpSecret, totpPeriod }: StoredOperator,
): Promise<boolean> =>
  matchesRow(
    db,
    `insert into operator (id, email, name, role, account_id, password, totp_secret, totp_period) values ($1, $2, $3, $4, $5, $6, $7, $8)
     on conflict do nothing`,
    [id, email, name, role, account, password, totpSecret, totpPeriod],
  )

/** Counts a code as used. False: the same code, or a later one, was used at the same time. */
export const spendTotpPeriod = (db: Queryable, id: string, period: number): Promise<boolean> =>
  matchesRow(db, 'update operator set totp_period = $2 where id = $1 and totp_period < $2', [id, period])

export const updatePassword = (db: Queryable, id: string, password: string): Promise<void> =>
  execute(db, 'update operator set password = $2 where id = $1', [id, password])

/** null removes the second factor. */
export const updateTotpSecret = (db: Queryable, id: string, sealed: Buffer | null, period: number): Promise<void> =>
  execute(db, 'update operator set totp_secret = $2, totp_period = $3 where id = $1', [id, sealed, period])

export interface ListedOperator {
  id: string
  email: string
  name: string
  role: OperatorRole
  account: string | null
  accountName: string | null
  hasTotp: boolean
  sessions: number
  seenAt: Date | null
  disabledAt: Date | null
}

export const listOperators = (db: Queryable): Promise<ListedOperator[]> =>
  queryRows(
    db,
    `select o.id, o.email, o.name, o.role, o.account_id as account, a.name as "accountName", o.totp_secret is not null as "hasTotp",
       s.sessions, s.seen as "seenAt", o.disabled_at as "disabledAt"
     from operator o left join account a on a.id = o.account_id
     cross join lateral (
       select count(*) filter (where expires_at > now()) as sessions, max(seen_at) as seen from console_session where operator_id = o.id
     ) s
     order by o.email`,
  )

/** Whether somebody has this address, also one who was disabled. */
export const findOperatorEmail = (db: Queryable, email: string): Promise<boolean> =>
  matchesRow(db, 'select from operator where email = $1', [email])

/** Locks all who may do everything, so that two of them cannot take the right from each other at once. */
export const lockFullOperators = (db: Queryable): Promise<string[]> =>
  queryValues(db, "select id from operator where role = 'operator' and disabled_at is null order by id for update")

export interface KnownOperator {
  id: string
  email: string
  role: OperatorRole
  account: string | null
  disabled: boolean
}

/** Finds disabled operators too. */
export const lockOperator = (db: Queryable, id: string): Promise<KnownOperator | null> =>
  queryRow(
    db,
    'select id, email, role, account_id as account, disabled_at is not null as disabled from operator where id = $1 for update',
    [id],
  )

export const updateRole = (db: Queryable, id: string, right: Pick<Operator, 'role' | 'account'>): Promise<void> =>
  execute(db, 'update operator set role = $2, account_id = $3 where id = $1', [id, right.role, right.account])

export const updateDisabled = (db: Queryable, id: string, disabled: boolean): Promise<void> =>
  execute(db, 'update operator set disabled_at = case when $2 then now() end where id = $1', [id, disabled])
