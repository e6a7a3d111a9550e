import { channelModules, moduleOf } from '../../channels/registry.js'
import type { Change, ChangeOutcome, Fence } from '../../domain/change.js'
import type { Clock } from '../../domain/clock.js'
import { decide } from '../../domain/decision.js'
import { chainEvent, SALT_BYTES } from '../../domain/evidence.js'
import { takeRandom } from '../../domain/random.js'
import type { DeliveryStatus } from '../../domain/status.js'
import { applyFact, completeFact, type Fact, isOfWhole } from '../../domain/transition.js'
import { isAnnounced } from '../../domain/webhook.js'
import { lockDueSteps, parkUndecided } from '../../store/claims.js'
import { wakeMarked, wakeNamed } from '../../store/early-reports.js'
import { type Pool, type Queryable, transaction } from '../../store/postgres.js'
import {
  type ChainHead,
  type DeliveryWrite,
  type EventWrite,
  lockNotifications,
  type ReferenceWrite,
  readLocked,
  type StoredDelivery,
  writeRecords,
} from '../../store/records.js'
import { isRepeatable, Noted } from './kept-notes.js'

export interface RecordResult {
  outcomes: ChangeOutcome[]
  /** Whether some delivery became due. */
  released: boolean
  /** Whether some webhook has a message to send. */
  announced: boolean
}

export function recordChanges(pool: Pool, clock: Clock, changes: readonly Change[]): Promise<RecordResult> {
  return transaction(pool, async db => {
    const locked = await lockNotifications(db, [...new Set(changes.map(change => change.notification))].sort())
    return applyChanges(db, clock, changes, locked)
  })
}

/** Decides on a batch of steps whose wait is over although nothing new happened to them. */
export function decideDueSteps(pool: Pool, clock: Clock, limit: number): Promise<{ released: boolean; more: boolean }> {
  return transaction(pool, async db => {
    const steps = await lockDueSteps(db, limit)
    const locked = new Set(steps)
    const { released, events } = await applyChanges(db, clock, [], locked)
    const parked = await parkUndecided(db, [...locked])
    // Where nothing moved (by a clock behind the database's they are not due yet) to ask again at once would not help.
    return { released, more: steps.length === limit && events + parked > 0 }
  })
}

async function applyChanges(
  db: Queryable,
  clock: Clock,
  changes: readonly Change[],
  locked: ReadonlySet<string>,
): Promise<RecordResult & { events: number }> {
  // Read only after the lock is held: what was true before may have changed while we waited for it.
  const { deliveries, heads } = await readLocked(db, [...locked])
  const batch = new Batch(deliveries, heads, await Noted.read(db, changes), new Date(clock()))
  const outcomes = changes.map(change => {
    const outcome = batch.apply(change)
    if (change.besides !== undefined) batch.apply({ notification: change.notification, fact: change.besides })
    return outcome
  })
  for (const id of locked) batch.follow(id)
  const events = batch.events.length
  const hasChanges = events > 0 || batch.references.length > 0
  const messages = hasChanges ? await writeRecords(db, batch.events, batch.writes(), batch.references) : 0
  await wakeEarly(db, batch)
  for (const { channel, onReferences } of channelModules) {
    const references = onReferences === undefined ? [] : batch.references.filter(reference => reference.channel === channel)
    if (references.length > 0) await onReferences!(db, references)
  }
  return { outcomes, released: batch.released, announced: messages > 0, events }
}

/** Reports may have come before what they speak of. */
async function wakeEarly(db: Queryable, { references, doubted }: Batch): Promise<void> {
  const carriers = [...new Set(references.map(({ carrier }) => carrier))]
  if (carriers.length > 0) {
    const names = references.map(({ reference }) => reference)
    await wakeNamed(db, carriers, names)
  }
  if (doubted.size > 0) await wakeMarked(db, [...doubted])
}

class Batch {
  readonly events: EventWrite[] = []
  readonly references: ReferenceWrite[] = []
  /** Of which some send has become one that nobody can vouch for. */
  readonly doubted = new Set<string>()
  released = false
  readonly #byNotification = new Map<string, StoredDelivery[]>()
  readonly #heads: Map<string, ChainHead>
  readonly #noted: Noted
  readonly #changed = new Map<StoredDelivery, Pick<DeliveryWrite, 'delayMs' | 'detour' | 'bind'>>()
  readonly #now: Date

  constructor(deliveries: readonly StoredDelivery[], heads: Map<string, ChainHead>, noted: Noted, now: Date) {
    this.#heads = heads
    this.#noted = noted
    this.#now = now
    for (const delivery of deliveries) {
      const siblings = this.#byNotification.get(delivery.notification)
      if (siblings === undefined) this.#byNotification.set(delivery.notification, [delivery])
      else siblings.push(delivery)
    }
  }

  apply(change: Change): ChangeOutcome {
    const { notification, fact: given, delayMs, detour = false, references } = change
    const delivery = this.#byNotification.get(notification)?.find(({ status }) => status.channel === given.channel)
    if (delivery === undefined) return 'unknown'
    if (isFenced(change, delivery) && !settlesDoubt(change, delivery)) {
      if (references !== undefined && change.fence !== undefined && mayBeToldOf(change.fence, delivery))
        this.#name(delivery, references, change.fence.ordinal)
      return 'fenced'
    }
    const told = completeFact(delivery.status, this.#dated(given, notification))
    const status = applyFact(delivery.status, told)
    const fact = status === delivery.status && isRepeatable(change) ? this.#noted.admit(notification, told) : told
    if (status === null || fact === null) {
      // The name may be: what is told later under it must find its message.
      if (references !== undefined) this.#name(delivery, references, told.data.ordinal ?? delivery.status.ordinal)
      return 'nothing new'
    }
    // A note about a delivery under way must not end its lease.
    if (status !== delivery.status) {
      const bind = this.#bind(change, delivery, status)
      // What the batch said before of when it is looked at again holds, unless this says otherwise.
      const before = this.#changed.get(delivery)?.delayMs ?? null
      this.#changed.set(delivery, { delayMs: delayMs ?? (fact.type === 'released' ? 0 : before), detour, bind })
    }
    if (status.doubts > delivery.status.doubts) this.doubted.add(notification)
    delivery.status = status
    if (references !== undefined) this.#name(delivery, references, fact.data.ordinal ?? status.ordinal)
    if (fact.type === 'released') this.released = true
    this.#chain(delivery, fact)
    return 'recorded'
  }

  /** Whom a doubt is about, no other may stand in for; what a batch says of it first stands until it is said otherwise. */
  #bind({ toAnyCarrier = false }: Change, delivery: StoredDelivery, next: DeliveryStatus): DeliveryWrite['bind'] {
    if (toAnyCarrier || next.doubts === 0) return 'none'
    return next.doubts > delivery.status.doubts ? 'carrier' : (this.#changed.get(delivery)?.bind ?? 'keep')
  }

  /** A chain's times never run backwards nor ahead of the clock; what the teller said of an earlier time is kept beside. */
  #dated(fact: Fact, notification: string): Fact {
    const told = fact.at.getTime() <= this.#now.getTime() ? fact.at : this.#now
    const head = this.#heads.get(notification)!.at
    if (told.getTime() >= head.getTime()) return { ...fact, at: told }
    return { ...fact, at: head, data: { ...fact.data, occurredAt: told.toISOString() } }
  }

  #name(
    { notification, status: { channel } }: StoredDelivery,
    { carrier, names }: NonNullable<Change['references']>,
    ordinal: number,
  ): void {
    const parts = names.length
    for (const [index, reference] of names.entries()) {
      if (reference !== null) this.references.push({ carrier, reference, notification, channel, ordinal, part: index + 1, parts })
    }
  }

  /** What the facts so far mean for the channels that wait. */
  follow(notification: string): void {
    const deliveries = this.#byNotification.get(notification) ?? []
    // One by one: what one step does decides on the next.
    for (let round = 0; round < 2 * deliveries.length; round++) {
      const [fact] = decide(deliveries, this.#now, moduleOf)
      if (fact === undefined) return
      const { dueAt, status } = deliveries.find(delivery => delivery.status.channel === fact.channel)!
      const delayMs = Math.max(0, dueAt.getTime() - status.acceptedAt.getTime())
      const outcome = this.apply({ notification, fact, ...(fact.type === 'reopened' ? { delayMs } : {}) })
      if (outcome !== 'recorded') return
    }
  }

  writes(): DeliveryWrite[] {
    return [...this.#changed].map(([{ notification, status }, when]) => ({ notification, status, ...when }))
  }

  #chain({ notification, account, status }: StoredDelivery, fact: Fact): void {
    const head = this.#heads.get(notification)!
    const event = chainEvent({
      notification,
      seq: head.seq + 1,
      at: fact.at.toISOString(),
      type: fact.type,
      source: fact.source,
      data: { channel: fact.channel, ...withoutUndefined(fact.data) },
      salt: takeRandom(SALT_BYTES),
      prev: head.hash,
    })
    this.#heads.set(notification, { seq: event.seq, at: fact.at, hash: event.hash })
    const announced = isAnnounced(fact.type) && isOfWhole(fact, status)
    this.events.push({ event, account, channel: status.channel, announced })
  }
}

/** Whether what it speaks of is over. */
const isFenced = ({ fence, whilst, of }: Change, { leaseOwner, attempt, status }: StoredDelivery): boolean =>
  (fence !== undefined && (leaseOwner !== fence.owner || attempt !== fence.attempt)) ||
  (whilst !== undefined && status.state !== whilst) ||
  (of !== undefined && (attempt !== of.attempt || status.ordinal !== of.ordinal))

/** The answer came, and only its lease was over: whoever thought the try lost left it in doubt, and nobody has sent it since. */
const settlesDoubt = ({ fence, fact: { type } }: Change, { attempt, status }: StoredDelivery): boolean =>
  fence !== undefined &&
  (type === 'sent' || type === 'processed') &&
  status.state === 'uncertain' &&
  attempt === fence.attempt &&
  status.ordinal === fence.ordinal

/** Whether what a carrier tells under this try's names may still matter: not once another try has decided. */
const mayBeToldOf = (fence: Fence, { attempt, status }: StoredDelivery): boolean =>
  (attempt === fence.attempt && status.ordinal === fence.ordinal) || ['queued', 'sending', 'uncertain'].includes(status.state)

const withoutUndefined = (data: Fact['data']): Record<string, NonNullable<Fact['data'][string]> | null> =>
  Object.fromEntries(Object.entries(data).filter(([, value]) => value !== undefined)) as never
