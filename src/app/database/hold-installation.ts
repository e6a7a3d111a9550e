import { recordAudit } from '../../store/audit.js'
import { placeHold } from '../../store/delivery/holds.js'
import { type Pool, transaction } from '../../store/postgres.js'
import { actor } from '../actor.js'

const REASON = 'start --paused'

/** Before anything runs: sends are accepted, and none leaves until somebody resumes the installation. */
export const holdInstallation = (pool: Pool): Promise<void> =>
  transaction(pool, async db => {
    const by = actor()
    const placed = await placeHold(db, { channel: null, carrier: null, account: null, reason: REASON, by })
    if (placed !== null) await recordAudit(db, { actor: by, action: 'hold', subject: 'installation', detail: { reason: REASON } })
  })
