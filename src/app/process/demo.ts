import { channelModules } from '../../channels/registry.js'
import type { Keys } from '../../domain/access/keys.js'
import { signToken } from '../../domain/access/token.js'
import { newId } from '../../domain/id.js'
import { addRange, hasAccounts, insertAccount } from '../../store/accounts/accounts.js'
import { insertTemplate } from '../../store/accounts/templates.js'
import { findTokenByLabel, insertToken, revokeTokensOfLabel } from '../../store/accounts/tokens.js'
import { type Pool, transaction } from '../../store/postgres.js'
import type { Config } from '../config.js'

const LABEL = 'demo'
const RANGES = ['127.0.0.0/8', '::1/128', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7']

/**
 * The token of the demo account, which is made at the first start. Where real carriers are connected there is none, and what an
 * earlier trial printed is revoked: it never expires, and whoever saw it could send in earnest.
 */
export async function openDemo(pool: Pool, keys: Keys, { simulator, hasCarriers }: Config): Promise<string | null> {
  if (hasCarriers) await revokeTokensOfLabel(pool, LABEL)
  if (!simulator || hasCarriers) return null
  if (!(await hasAccounts(pool))) await createDemo(pool)
  return demoToken(pool, keys)
}

/** Creates an account, its token and a template for every channel, so that a first start with the simulator can be tried at once. */
export async function createDemo(pool: Pool): Promise<void> {
  await transaction(pool, async db => {
    const now = Date.now()
    const account = newId(now)
    const settings = Object.assign({ validation: true }, ...channelModules.map(({ demo }) => demo.settings))
    const row = { id: account, name: 'demo', entityId: newId(now), entityName: 'Demonstração', settings }
    if (!(await insertAccount(db, row))) return
    for (const range of RANGES) await addRange(db, account, range)
    // Whole seconds: the token is signed again from this row at every start, and JWT counts seconds.
    const issuedAt = new Date(Math.floor(now / 1000) * 1000)
    await insertToken(db, { jti: newId(now), account, mode: 'live', issuedAt, expiresAt: null }, LABEL)
    for (const { channel, demo } of channelModules) {
      const { name, content, metadata = {} } = demo.template
      const variables = demo.template.variables.map(variable => ({ name: variable, required: true }))
      const template = { account, externalId: null, name, channel, content, variables, shared: false, metadata }
      await insertTemplate(db, { id: newId(now), mode: 'live', ...template })
    }
  })
}

/** The same token at every start; null where there is no demo account. */
export async function demoToken(pool: Pool, keys: Keys): Promise<string | null> {
  const claims = await findTokenByLabel(pool, LABEL)
  return claims && signToken(keys.tokenSigning, claims)
}
