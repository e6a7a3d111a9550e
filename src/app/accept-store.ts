import type { AcceptStore } from '../engine/accept/accept.js'
import { bindCost, releaseCost } from '../store/accounts/costs.js'
import { resolveTemplates } from '../store/accounts/templates.js'
import { storeBlobs } from '../store/files/blobs.js'
import { findKeyUse, findWritten, insertAcceptances } from '../store/notification/notifications.js'
import { isLocked, isRowFault, isUniqueViolation, type Pool } from '../store/postgres.js'
import { isStandbyLost } from '../store/standby.js'

/** Group commit: measured with bench/accept/accept.ts on two cores; more than two groups at once only compete for the same log. */
export const ACCEPT_LIMITS = { maxGroup: 256, parallelGroups: 2, maxWaiting: 4_096, retryForMs: 5_000 }

export const acceptStore = (pool: Pool): AcceptStore => ({
  insertAcceptances: group => insertAcceptances(pool, group),
  findWritten: ids => findWritten(pool, ids),
  storeBlobs: attachments => storeBlobs(pool, attachments),
  resolveTemplates: (scope, named) => resolveTemplates(pool, scope, named),
  findKeyUse: (scope, key) => findKeyUse(pool, scope, key),
  bindCost: (scope, asked, cap) => bindCost(pool, scope, asked, cap),
  releaseCost: (scope, amount) => releaseCost(pool, scope, amount),
  isStandbyLost: () => isStandbyLost(pool),
  // A key that another transaction is using must not refuse the other requests of its group.
  isRowFault: error => isRowFault(error) || isLocked(error),
  isUniqueViolation,
})
