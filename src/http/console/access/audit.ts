import type { FastifyInstance } from 'fastify'
import { overloaded, refuse } from '../../../domain/errors.js'
import { GENESIS } from '../../../domain/evidence/evidence.js'
import { isStorable } from '../../../domain/text/text.js'
import { type AuditPosition, checkActionLog } from '../../../engine/record/action-log.js'
import { Semaphore } from '../../../runtime/semaphore.js'
import { listAudit } from '../../../store/audit.js'
import type { Pool } from '../../../store/postgres.js'
import { overseers, route } from '../route.js'
import {
  type AuditChain,
  type AuditPage,
  type AuditQuery,
  auditQuery,
  auditSchema,
  type ChainQuery,
  chainQuery,
  chainSchema,
} from './operators-schema.js'

const PAGE = 50
/** The pages, of a thousand rows each, that one request checks: some tenths of a second. */
const PAGES_AT_ONCE = 5

/** The log of actions, and whether its chain is whole. */
export function addAudit(app: FastifyInstance, { pool }: { pool: Pool }): void {
  app.get<{ Querystring: AuditQuery }>(
    '/console/api/audit',
    route(overseers, { querystring: auditQuery, response: { 200: auditSchema } }),
    async ({ query }): Promise<AuditPage> => {
      const { cursor = '', actor = '' } = query
      if (!isStorable(actor)) refuse('badParameter', 'actor')
      const before = cursor === '' ? null : /^\d{1,15}$/.test(cursor) ? Number(cursor) : refuse('badCursor')
      const found = await listAudit(pool, { before, actor: actor === '' ? null : actor, limit: PAGE + 1 })
      const rows = found.slice(0, PAGE).map(({ prev: _, ...row }) => row)
      return { rows, cursor: found.length > PAGE ? String(rows.at(-1)!.id) : null }
    },
  )

  const checks = new Semaphore({ permits: 1, maxWaiting: 16, refusal: overloaded })
  app.get<{ Querystring: ChainQuery }>(
    '/console/api/audit/chain',
    route(overseers, { querystring: chainQuery, response: { 200: chainSchema } }),
    ({ query: { after = '' } }): Promise<AuditChain> => {
      const position = after === '' ? { id: 0, hash: GENESIS } : readPosition(after)
      return checks.run(() => check(pool, position))
    },
  )
}

/** A part of the log, from a position on. Nothing is remembered: whoever asks from the first row on checks everything again. */
async function check(pool: Pool, after: AuditPosition): Promise<AuditChain> {
  const { checked, fault, next } = await checkActionLog(pool, { after, pages: PAGES_AT_ONCE })
  const [found] = await listAudit(pool, { limit: 1 })
  const head = found === undefined ? null : { id: found.id, hash: found.hash }
  // A log that ends before a row that was seen has lost its end.
  const end = head?.id ?? 0
  const isCut = end < after.id
  return {
    checked: after.id + checked,
    fault: fault ?? (isCut ? { id: end + 1, fault: 'sequence' } : null),
    head,
    next: next && `${next.id}.${next.hash}`,
  }
}

function readPosition(text: string): AuditPosition {
  const [, id, hash] = /^(\d{1,15})\.([0-9a-f]{64})$/.exec(text) ?? []
  return id === undefined ? refuse('badCursor') : { id: Number(id), hash: hash! }
}
