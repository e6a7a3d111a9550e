import { userInfo } from 'node:os'
import { recordAudit } from '../store/audit.js'
import { placeHold } from '../store/delivery/holds.js'
import { type Pool, transaction } from '../store/postgres.js'

const REASON = 'start --paused'

/** Before anything runs: sends are accepted, and none leaves until somebody resumes the installation. */
export const holdInstallation = (pool: Pool): Promise<void> =>
  transaction(pool, async db => {
    const actor = `command:${userInfo().username}`
    const placed = await placeHold(db, { channel: null, carrier: null, account: null, reason: REASON, by: actor })
    if (placed !== null) await recordAudit(db, { actor, action: 'hold', subject: 'installation', detail: { reason: REASON } })
  })
