import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { inRanges, parseRange, readRange } from '../../../domain/access/address-range.js'
import type { Keys } from '../../../domain/access/keys.js'
import { readLifetime, signToken } from '../../../domain/access/token.js'
import type { Clock } from '../../../domain/clock.js'
import { refuse } from '../../../domain/errors.js'
import { newId, readId } from '../../../domain/id.js'
import { KNOWN_EVERYWHERE_MS } from '../../../engine/access/directory.js'
import { actorOf } from '../../../engine/console/sign-in.js'
import { addRange, listRanges, removeRange } from '../../../store/accounts/accounts.js'
import { findTokenAccount, insertToken, type ListedToken, listTokenPage, revokeToken } from '../../../store/accounts/tokens.js'
import { recordAudit } from '../../../store/audit.js'
import { transaction } from '../../../store/postgres.js'
import { pathId } from '../../gw/wire.js'
import { clientOf, everyone, operatorsOnly, requireVisible, route, type SessionOptions } from '../route.js'
import { done } from '../wire.js'
import {
  type Addresses,
  addressesSchema,
  type IssuedToken,
  issuedTokenSchema,
  type NewAddress,
  type NewToken,
  newAddressSchema,
  newTokenSchema,
  type TokensPage,
  tokensQuery,
  tokensSchema,
} from './tokens-schema.js'

export interface TokenOptions extends SessionOptions {
  clock: Clock
  keys: Pick<Keys, 'tokenSigning'>
}

const PAGE = 50

interface ById {
  Params: { id: string }
}

/** What an account calls with, and from where. A change is answered once every node knows it: the next call is under it. */
export function addTokens(app: FastifyInstance, options: TokenOptions): void {
  const { pool, clock, keys } = options

  app.get<ById & { Querystring: { cursor?: string } }>(
    '/console/api/accounts/:id/tokens',
    route(everyone, { querystring: tokensQuery, response: { 200: tokensSchema } }),
    async (request): Promise<TokensPage> => {
      const { id } = await requireVisible(pool, request)
      const { cursor = '' } = request.query
      const before = cursor === '' ? null : (readId(cursor) ?? refuse('badCursor'))
      const tokens = await listTokenPage(pool, { account: id, before, limit: PAGE + 1 })
      const rows = tokens.slice(0, PAGE).map(token => toRow(token, clock()))
      return { rows, cursor: tokens.length > PAGE ? rows.at(-1)!.jti : null }
    },
  )

  app.post<ById & { Body: NewToken }>(
    '/console/api/accounts/:id/tokens',
    route(operatorsOnly, { body: newTokenSchema, response: { 200: issuedTokenSchema } }),
    async (request): Promise<IssuedToken> => {
      const { id: account } = await requireVisible(pool, request)
      const { mode, expires } = request.body
      const now = clock()
      const lifetime = expires === '' ? null : (readLifetime(expires) ?? refuse('badLifetime', 'expires'))
      const expiresAt = lifetime === null ? null : new Date(now + lifetime)
      const claims = { jti: newId(now), account, mode, issuedAt: new Date(now), expiresAt }
      await transaction(pool, async db => {
        await insertToken(db, claims)
        const detail = { account, mode, expiresAt }
        await recordAudit(db, { actor: actorOf(request.operator), action: 'token issue', subject: claims.jti, detail })
      })
      return { jti: claims.jti, token: await signToken(keys.tokenSigning, claims) }
    },
  )

  app.delete<{ Params: { id: string; jti: string } }>(
    '/console/api/accounts/:id/tokens/:jti',
    route(operatorsOnly, { response: { 200: done } }),
    async request => {
      const { id } = await requireVisible(pool, request)
      const jti = pathId(request.params.jti, 'tokenMissing')
      await transaction(pool, async db => {
        if ((await findTokenAccount(db, jti)) !== id) refuse('tokenMissing')
        await revokeToken(db, jti)
        await recordAudit(db, { actor: actorOf(request.operator), action: 'token revoke', subject: jti })
      })
      await sleep(KNOWN_EVERYWHERE_MS)
      return { done: true }
    },
  )

  app.get<ById>(
    '/console/api/accounts/:id/addresses',
    route(everyone, { response: { 200: addressesSchema } }),
    async (request): Promise<Addresses> => {
      const { id } = await requireVisible(pool, request)
      const ranges = await listRanges(pool, id)
      const { address } = clientOf(request, options)
      return { ranges, yours: { address, isRegistered: inRanges(address, ranges.map(parseRange)) } }
    },
  )

  app.post<ById & { Body: NewAddress }>(
    '/console/api/accounts/:id/addresses',
    route(operatorsOnly, { body: newAddressSchema, response: { 200: done } }),
    async request => {
      const { id } = await requireVisible(pool, request)
      const range = requireRange(request.body.range)
      await transaction(pool, async db => {
        await addRange(db, id, range)
        await recordAudit(db, { actor: actorOf(request.operator), action: 'address add', subject: id, detail: { range } })
      })
      await sleep(KNOWN_EVERYWHERE_MS)
      return { done: true }
    },
  )

  app.delete<ById & { Querystring: NewAddress }>(
    '/console/api/accounts/:id/addresses',
    route(operatorsOnly, { querystring: newAddressSchema, response: { 200: done } }),
    async request => {
      const { id } = await requireVisible(pool, request)
      const range = requireRange(request.query.range)
      await transaction(pool, async db => {
        if (!(await removeRange(db, id, range))) refuse('rangeMissing', range)
        await recordAudit(db, { actor: actorOf(request.operator), action: 'address remove', subject: id, detail: { range } })
      })
      await sleep(KNOWN_EVERYWHERE_MS)
      return { done: true }
    },
  )
}

const requireRange = (text: string): string => readRange(text.trim()) ?? refuse('badRange', text.trim())

function toRow({ jti, mode, issuedAt, expiresAt, revokedAt }: ListedToken, nowMs: number): TokensPage['rows'][number] {
  const isExpired = expiresAt !== null && expiresAt.getTime() <= nowMs
  return {
    jti,
    mode,
    issuedAt: issuedAt.toISOString(),
    expiresAt: expiresAt?.toISOString() ?? null,
    revokedAt: revokedAt?.toISOString() ?? null,
    state: revokedAt !== null ? 'revoked' : isExpired ? 'expired' : 'active',
  }
}
