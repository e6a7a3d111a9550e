import { type AccountSettings, completeSettings, type StoredSettings } from '../../domain/account.js'
import type { SequenceStep } from '../../domain/sequence.js'
import type { Mode, TokenClaims } from '../../domain/token.js'
import { changesRow, execute, type Queryable, run } from '../postgres.js'

interface TokenRow {
  jti: string
  account_id: string
  mode: Mode
  issued_at: Date
  expires_at: Date | null
}

const toClaims = (row: TokenRow): TokenClaims => ({
  jti: row.jti,
  account: row.account_id,
  mode: row.mode,
  issuedAt: row.issued_at,
  expiresAt: row.expires_at,
})

export const insertToken = (db: Queryable, token: TokenClaims, label: string | null = null): Promise<void> =>
  execute(db, 'insert into token (jti, account_id, mode, issued_at, expires_at, label) values ($1, $2, $3, $4, $5, $6)', [
    token.jti,
    token.account,
    token.mode,
    token.issuedAt,
    token.expiresAt,
    label,
  ])

/** True when the token exists; revoking twice keeps the first moment. */
export const revokeToken = (db: Queryable, jti: string): Promise<boolean> =>
  changesRow(db, 'update token set revoked_at = coalesce(revoked_at, now()) where jti = $1', [jti])

export async function findTokenByLabel(db: Queryable, label: string): Promise<TokenClaims | null> {
  const { rows } = await run<TokenRow>(
    db,
    'select jti, account_id, mode, issued_at, expires_at from token where label = $1 and revoked_at is null',
    [label],
  )
  return rows[0] === undefined ? null : toClaims(rows[0])
}

export interface ListedToken extends TokenClaims {
  revokedAt: Date | null
}

export async function listTokens(db: Queryable, account: string): Promise<ListedToken[]> {
  const { rows } = await run<TokenRow & { revoked_at: Date | null }>(
    db,
    'select jti, account_id, mode, issued_at, expires_at, revoked_at from token where account_id = $1 order by issued_at',
    [account],
  )
  return rows.map(row => ({ ...toClaims(row), revokedAt: row.revoked_at }))
}

/** All that the accepting path needs to know of a caller. */
export interface Grant {
  account: string
  settings: AccountSettings
  sequence: SequenceStep[] | null
  ranges: string[]
}

/** The grant of a token that is known and not revoked. */
export async function findGrant(db: Queryable, jti: string): Promise<Grant | null> {
  const { rows } = await run<Omit<Grant, 'settings'> & { settings: StoredSettings }>(db, {
    name: 'find-grant',
    text: `select t.account_id as account, a.settings, a.sequence,
             array(select r.range::text from address_range r where r.account_id = a.id) as ranges
           from token t join account a on a.id = t.account_id
           where t.jti = $1 and t.revoked_at is null and (t.expires_at is null or t.expires_at > now())`,
    values: [jti],
  })
  const row = rows[0]
  return row === undefined ? null : { ...row, settings: completeSettings(row.settings) }
}
