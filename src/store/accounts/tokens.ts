import type { TokenClaims } from '../../domain/access/token.js'
import { type AccountSettings, completeSettings, type StoredSettings } from '../../domain/account.js'
import type { Scope } from '../../domain/scope.js'
import type { SequenceStep } from '../../domain/send/sequence.js'
import { execute, filterBy, matchesRow, type Queryable, queryRow, queryRows, queryValue } from '../postgres.js'

const CLAIMS = 'jti, account_id as account, mode, issued_at as "issuedAt", expires_at as "expiresAt"'

export function insertToken(db: Queryable, token: TokenClaims, label: string | null = null): Promise<void> {
  const { jti, account, mode, issuedAt, expiresAt } = token
  return execute(db, 'insert into token (jti, account_id, mode, issued_at, expires_at, label) values ($1, $2, $3, $4, $5, $6)', [
    jti,
    account,
    mode,
    issuedAt,
    expiresAt,
    label,
  ])
}

/** True when the token exists; revoking twice keeps the first moment. */
export const revokeToken = (db: Queryable, jti: string): Promise<boolean> =>
  matchesRow(db, 'update token set revoked_at = coalesce(revoked_at, now()) where jti = $1', [jti])

export const revokeTokensOfLabel = (db: Queryable, label: string): Promise<void> =>
  execute(db, 'update token set revoked_at = now() where label = $1 and revoked_at is null', [label])

export const findTokenByLabel = (db: Queryable, label: string): Promise<TokenClaims | null> =>
  queryRow(db, `select ${CLAIMS} from token where label = $1 and revoked_at is null`, [label])

export interface ListedToken extends TokenClaims {
  revokedAt: Date | null
}

export const listTokens = (db: Queryable, account: string): Promise<ListedToken[]> =>
  queryRows(db, `select ${CLAIMS}, revoked_at as "revokedAt" from token where account_id = $1 order by issued_at`, [account])

/** Newest first, below the token `before`. */
export const listTokenPage = (
  db: Queryable,
  { account, before, limit }: { account: string; before: string | null; limit: number },
): Promise<ListedToken[]> =>
  queryRows(
    db,
    `select ${CLAIMS}, revoked_at as "revokedAt" from token
     where account_id = $1 and ${filterBy('$2::uuid', before, 'jti < $2')} order by jti desc limit $3`,
    [account, before, limit],
  )

/** The account of a token; null: there is no such token. */
export const findTokenAccount = (db: Queryable, jti: string): Promise<string | null> =>
  queryValue(db, 'select account_id from token where jti = $1', [jti])

/** All that the accepting path needs to know of a caller. */
export interface Grant extends Scope {
  settings: AccountSettings
  sequence: SequenceStep[] | null
  /** The revision of the account's settings and sequence. */
  revision: number
  ranges: string[]
}

/** The grant of a token that is known and not revoked. */
export async function findGrant(db: Queryable, jti: string): Promise<Grant | null> {
  const grant = await queryRow<Omit<Grant, 'settings'> & { settings: StoredSettings }>(db, {
    name: 'find-grant',
    text: `select t.account_id as account, t.mode, a.settings, a.sequence, a.revision,
             array(select r.range::text from address_range r where r.account_id = a.id) as ranges
           from token t join account a on a.id = t.account_id
           where t.jti = $1 and t.revoked_at is null and (t.expires_at is null or t.expires_at > now())`,
    values: [jti],
  })
  return grant && { ...grant, settings: completeSettings(grant.settings) }
}
