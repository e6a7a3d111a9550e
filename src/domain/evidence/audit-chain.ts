import { canonicalJson, type Json } from './canonical-json.js'
import { GENESIS, sha256 } from './evidence.js'

/** A row of the log of actions, which is one chain: changing a row breaks its own hash, removing one breaks the `prev` of the next. */
export interface AuditRow {
  id: number
  /** UTC, to the millisecond: the form of Date.prototype.toISOString. */
  at: string
  /** Who did it: `operator:` with an e-mail address, or `command:` with a user of the machine. */
  actor: string
  action: string
  subject: string
  detail: { readonly [member: string]: Json }
  prev: string
  hash: string
}

export const auditHash = ({ id, at, actor, action, subject, detail, prev }: Omit<AuditRow, 'hash'>): string =>
  sha256(canonicalJson({ v: 1, id, at, actor, action, subject, detail, prev }))

export interface AuditFault {
  id: number
  fault: 'sequence' | 'link' | 'hash'
}

/** The first bad row of a part of the chain, given in order after the row `last`; null: the part is whole. */
export function findAuditFault(
  rows: readonly AuditRow[],
  last: Pick<AuditRow, 'id' | 'hash'> = { id: 0, hash: GENESIS },
): AuditFault | null {
  let before = last
  for (const row of rows) {
    const id = before.id + 1
    if (row.id !== id) return { id, fault: 'sequence' }
    if (row.prev !== before.hash) return { id, fault: 'link' }
    if (auditHash(row) !== row.hash) return { id, fault: 'hash' }
    before = row
  }
  return null
}
