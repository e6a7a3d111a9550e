import { channelModules, moduleOf } from '../../channels/registry.js'
import type { Channel } from '../../domain/channel.js'
import type { Clock } from '../../domain/clock.js'
import type { CopyCause } from '../../domain/database-copy.js'
import type { Change } from '../../domain/delivery/change.js'
import { recordAudit } from '../../store/audit.js'
import { signalDue } from '../../store/delivery/due-signal.js'
import {
  type DeliveryKey,
  findOpenInCopy,
  listRestored,
  markRestoration,
  type OpenDelivery,
  type RestoredDelivery,
} from '../../store/delivery/restored.js'
import { closeRestoration, confirmHomeServer, openRestoration } from '../../store/home-server.js'
import { type Pool, transaction } from '../../store/postgres.js'
import { recordChanges } from '../record/record.js'

const PAGE = 250
const REASON =
  'O banco foi restaurado de uma cópia, e não se sabe se este envio saiu depois dela. Uma pessoa decide: carteiro restored list.'
const RELEASED = 'Solto por um operador depois da restauração do banco.'

export interface CopyNoticed {
  cause: CopyCause
  /** In words, for people. */
  detail: string
  /** Who or what noticed it. */
  by: string
}

/**
 * Holds everything that was under way in an older copy of the database: it may have been sent since, and nothing of it is sent until a
 * person says so (docs/adr/0043-an-old-copy-sends-nothing.md). Until that is done nothing is claimed; a crash in between is taken up by
 * the next call. Several nodes may do it at once. Returns how many deliveries this call held.
 */
export async function holdCopy(
  pool: Pool,
  clock: Clock,
  noticed: CopyNoticed,
): Promise<{ restoration: number | null; held: number }> {
  const id = await transaction(pool, async db => {
    const opened = await openRestoration(db, noticed.cause, noticed.detail)
    if (opened !== null) await markRestoration(db, opened)
    return opened
  })
  return id === null
    ? { restoration: null, held: 0 }
    : { restoration: id, held: await finishRestoration(pool, clock, id, noticed) }
}

/** Also for a restoration that another process has begun and not finished. */
export async function finishRestoration(
  pool: Pool,
  clock: Clock,
  id: number,
  { by, ...detail }: Pick<CopyNoticed, 'by'> & Partial<CopyNoticed>,
): Promise<number> {
  await transaction(pool, db => markRestoration(db, id))
  let held = 0
  for (let after: DeliveryKey | null = null; ; ) {
    const found: OpenDelivery[] = await findOpenInCopy(pool, id, after, PAGE)
    if (found.length > 0) {
      const at = new Date(clock())
      const { outcomes } = await recordChanges(
        pool,
        clock,
        found.map(delivery => heldFact(delivery, id, at)),
      )
      held += outcomes.filter(outcome => outcome === 'recorded').length
    }
    if (found.length < PAGE) break
    after = found.at(-1)!
  }
  await transaction(pool, async db => {
    for (const { onRestored } of channelModules) await onRestored?.(db)
    if (await closeRestoration(db, id, held))
      await recordAudit(db, { actor: by, action: 'restored', subject: String(id), detail: { ...detail, held } })
    await confirmHomeServer(db)
  })
  return held
}

const heldFact = ({ notification, channel, state }: OpenDelivery, restored: number, at: Date): Change => ({
  kind: 'fact',
  notification,
  fact: { channel, type: 'unresolved', at, source: 'engine', data: { reason: REASON, restored, was: state } },
})

export interface ReleaseOrder {
  /** null: all of them. */
  notification: string | null
  channel: Channel | null
  /** The operator's name, for the record. */
  by: string
}

/** What was to be sent is sent; what was a waiting step waits again, from now on. */
export async function releaseRestored(
  pool: Pool,
  clock: Clock,
  { notification, channel, by }: ReleaseOrder,
): Promise<{ found: number; released: number }> {
  const total = { found: 0, released: 0 }
  for (let after: DeliveryKey | null = null; ; ) {
    const found: RestoredDelivery[] = await listRestored(pool, { notification, channel, after, limit: PAGE })
    for (const delivery of found.filter(({ was }) => was !== 'waiting'))
      await moduleOf(delivery.channel).beforeOperatorDecision?.(pool, delivery.notification, true)
    const at = new Date(clock())
    const changes = found.map(delivery => releasedFact(delivery, by, at))
    const { outcomes } = changes.length === 0 ? { outcomes: [] } : await recordChanges(pool, clock, changes)
    total.found += found.length
    total.released += outcomes.filter(outcome => outcome === 'recorded').length
    if (found.length < PAGE) break
    after = found.at(-1)!
  }
  if (total.released > 0) await signalDue(pool)
  return total
}

function releasedFact({ notification, channel, restoration, was, waitMs }: RestoredDelivery, by: string, at: Date): Change {
  const fact = { channel, at, source: 'operator', data: { reason: RELEASED, restored: restoration, by } } as const
  return was === 'waiting'
    ? { kind: 'decision', notification, fact: { ...fact, type: 'reopened' }, delayMs: Math.round(waitMs) }
    : { kind: 'operator', decision: 'retry', notification, fact: { ...fact, type: 'revived' } }
}
