import { channelModules, moduleOf } from '../../channels/registry.js'
import type { Channel } from '../../domain/channel.js'
import type { Clock } from '../../domain/clock.js'
import type { CopyCause } from '../../domain/database-copy.js'
import type { Change, ChangeOutcome } from '../../domain/delivery/change.js'
import { StoreUnavailable } from '../../domain/errors.js'
import { recordAudit } from '../../store/audit.js'
import { signalDue } from '../../store/delivery/due-signal.js'
import { addHold } from '../../store/delivery/holds.js'
import {
  type DeliveryKey,
  eachOpenPage,
  findOpenInCopy,
  listRestored,
  markRestoration,
  type OpenDelivery,
  type RestoredDelivery,
  type RestoredPlace,
} from '../../store/delivery/restored.js'
import { closeRestoration, confirmHomeServer, openRestoration } from '../../store/home-server.js'
import { type Pool, transaction } from '../../store/postgres.js'
import { createRecorder } from '../record/recorder.js'

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
): Promise<{ restoration: number | null } & HeldCopy> {
  const id = await transaction(pool, async db => {
    const opened = await openRestoration(db, noticed.cause, noticed.detail)
    if (opened !== null) await markRestoration(db, opened)
    return opened
  })
  return id === null
    ? { restoration: null, held: 0, unheld: [] }
    : { restoration: id, ...(await finishRestoration(pool, clock, id, noticed)) }
}

/** `unheld`: deliveries that could not be recorded as held. Their accounts and channels are held back instead, until a person has looked. */
export interface HeldCopy {
  held: number
  unheld: DeliveryKey[]
}

/** Also for a restoration that another process has begun and not finished. */
export async function finishRestoration(
  pool: Pool,
  clock: Clock,
  id: number,
  { by, ...detail }: Pick<CopyNoticed, 'by'> & Partial<CopyNoticed>,
): Promise<HeldCopy> {
  await transaction(pool, db => markRestoration(db, id))
  const { record } = createRecorder(pool, clock, { notify() {} })
  let held = 0
  let later: StoreUnavailable | undefined
  // By name: a notification may come in several pages.
  const unheldByName = new Map<string, OpenDelivery>()
  await eachOpenPage(pool, PAGE, async notifications => {
    const found = await findOpenInCopy(pool, id, notifications)
    const at = new Date(clock())
    const recorded = await recordEach(found, delivery => record(heldFact(delivery, id, at)))
    held += recorded.count
    for (const { item, error } of recorded.failed)
      if (error instanceof StoreUnavailable) later ??= error
      else unheldByName.set(`${item.notification} ${item.channel}`, item)
  })
  // What another transaction holds, or the database was too slow for, is free later: the next look goes on with it.
  if (later !== undefined) throw later
  const [names, unheld] = [[...unheldByName.keys()], [...unheldByName.values()]]
  await transaction(pool, async db => {
    for (const { onRestored } of channelModules) await onRestored?.(db)
    if (await closeRestoration(db, id, held)) {
      const more = names.length === 0 ? {} : { unheld: names }
      await recordAudit(db, { actor: by, action: 'restored', subject: String(id), detail: { ...detail, held, ...more } })
      for (const hold of holdsOf(unheld)) await addHold(db, { ...hold, by })
    }
    await confirmHomeServer(db)
  })
  return { held, unheld: unheld.map(({ notification, channel }) => ({ notification, channel })) }
}

interface Failed<Item> {
  item: Item
  error: unknown
}

/**
 * Records something of each item, and the others where it fails for one. The recorder sets apart a row that cannot be written; an error of
 * another kind fails a whole group, and its members are tried again one by one.
 */
async function recordEach<Item>(items: readonly Item[], record: (item: Item) => Promise<ChangeOutcome>) {
  const failed: Failed<Item>[] = []
  let count = 0
  const note = (item: Item, result: PromiseSettledResult<ChangeOutcome>): void => {
    if (result.status === 'rejected') failed.push({ item, error: result.reason })
    else if (result.value === 'recorded') count++
  }
  const results = await Promise.allSettled(items.map(record))
  for (const [index, result] of results.entries()) {
    const item = items[index]!
    const isAgain = result.status === 'rejected' && !(result.reason instanceof StoreUnavailable)
    note(item, isAgain ? (await Promise.allSettled([record(item)]))[0] : result)
  }
  return { count, failed }
}

const MOST_NAMED = 20

/** One for each account and channel: claims respect it, and people see it. */
function holdsOf(unheld: readonly OpenDelivery[]) {
  const groups = new Map<string, OpenDelivery[]>()
  for (const delivery of unheld) {
    const key = `${delivery.account} ${delivery.channel}`
    groups.set(key, [...(groups.get(key) ?? []), delivery])
  }
  return [...groups.values()].map(group => {
    const { account, channel } = group[0]!
    const ids = group.map(({ notification }) => notification)
    const named = ids.slice(0, MOST_NAMED).join(', ') + (ids.length > MOST_NAMED ? ` e mais ${ids.length - MOST_NAMED}` : '')
    const reason = `O banco foi restaurado de uma cópia, e não foi possível reter: ${named}. Confira se saíram antes de soltar.`
    return { account, channel, carrier: null, reason }
  })
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

/** Deliveries that were due are sent, and waiting steps wait again, from now on. A delivery that cannot be released does not stop the others. */
export async function releaseRestored(
  pool: Pool,
  clock: Clock,
  { notification, channel, by }: ReleaseOrder,
): Promise<{ found: number; released: number }> {
  const total = { found: 0, released: 0 }
  const { record } = createRecorder(pool, clock, { notify() {} })
  const failed: Failed<RestoredDelivery>[] = []
  for (let after: RestoredPlace | null = null; ; ) {
    const found: RestoredDelivery[] = await listRestored(pool, { notification, channel, after, limit: PAGE })
    const ready: RestoredDelivery[] = []
    for (const item of found)
      try {
        if (item.was !== 'waiting') await moduleOf(item.channel).beforeOperatorDecision?.(pool, item.notification, true)
        ready.push(item)
      } catch (error) {
        failed.push({ item, error })
      }
    const at = new Date(clock())
    const released = await recordEach(ready, delivery => record(releasedFact(delivery, by, at)))
    total.found += found.length
    total.released += released.count
    failed.push(...released.failed)
    if (found.length < PAGE) break
    after = found.at(-1)!
  }
  if (total.released > 0) await signalDue(pool)
  if (failed.length > 0) throw failed[0]!.error
  return total
}

function releasedFact({ notification, channel, restoration, was, waitMs }: RestoredDelivery, by: string, at: Date): Change {
  const fact = { channel, at, source: 'operator', data: { reason: RELEASED, restored: restoration, by } } as const
  return was === 'waiting'
    ? { kind: 'decision', notification, fact: { ...fact, type: 'reopened' }, delayMs: Math.round(waitMs) }
    : { kind: 'operator', decision: 'retry', notification, fact: { ...fact, type: 'revived' } }
}
