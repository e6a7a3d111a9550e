import { type AuditFault, type AuditRow, findAuditFault } from '../../domain/evidence/audit-chain.js'
import { GENESIS } from '../../domain/evidence/evidence.js'
import { readAudit } from '../../store/audit.js'
import type { Queryable } from '../../store/postgres.js'

const PAGE = 1_000

export type AuditPosition = Pick<AuditRow, 'id' | 'hash'>

interface AuditCheck {
  checked: number
  /** null: the part is whole. */
  fault: AuditFault | null
  /** Where the next part begins; null: this one ended with the log, or with the fault. */
  next: AuditPosition | null
}

/** Checks the log of actions: all of it, or some pages after a row that was checked before. */
export async function checkActionLog(
  db: Queryable,
  { after = { id: 0, hash: GENESIS }, pages = Number.POSITIVE_INFINITY }: { after?: AuditPosition; pages?: number } = {},
): Promise<AuditCheck> {
  let last = after
  let checked = 0
  for (let page = 0; page < pages; page++) {
    const rows = await readAudit(db, last.id, PAGE)
    const fault = findAuditFault(rows, last)
    checked += rows.length
    if (fault !== null || rows.length < PAGE) return { checked, fault, next: null }
    last = rows.at(-1)!
  }
  return { checked, fault: null, next: { id: last.id, hash: last.hash } }
}
