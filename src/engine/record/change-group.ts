import { moduleOf } from '../../channels/registry.js'
import type { Channel } from '../../domain/channel.js'
import { findAttempt } from '../../domain/delivery/carrier-source.js'
import type { AttemptOutcome, CarrierReferences, CarrierReported, Change, ChangeOutcome } from '../../domain/delivery/change.js'
import { decide } from '../../domain/delivery/decision.js'
import { type DeliveryStatus, isUnsettled } from '../../domain/delivery/status.js'
import { applyFact, type Fact, weighFact } from '../../domain/delivery/transition.js'
import { type Queue, queueOf } from '../../domain/queue.js'
import { hideLinks } from '../../domain/recipient/link.js'
import { isStorable, storableValue } from '../../domain/text/text.js'
import type { ChainHead, StoredDelivery } from '../../store/delivery/locked-deliveries.js'
import type {
  ContentWrite,
  CostWrite,
  DeliveryWrite,
  EventWrite,
  ReferenceWrite,
  Tally,
  UsageWrite,
} from '../../store/delivery/records.js'
import { Chains } from './chains.js'
import { isFenced, mayStillBeReported } from './fence.js'
import { type KeptNotes, noteLimitOf } from './kept-notes.js'
import { tally } from './tally.js'
import { costsOf, sumUsage, usageOf } from './usage.js'

/** The names of carriers are short. One that an index cannot hold must not keep a fact from being recorded. */
const MAX_NAME = 500

type WriteTiming = Pick<DeliveryWrite, 'delayMs' | 'failover' | 'bind' | 'undoesClaim'>

/** The changes of one transaction: applies them to the locked deliveries in memory, one after the other, and collects the rows to be written. */
export class ChangeGroup {
  readonly references: ReferenceWrite[] = []
  /** Notifications with an attempt whose outcome has just become unknown. */
  readonly newlyUnknown = new Set<string>()
  /** Deliveries to recipients that do not exist, or are somebody else. */
  readonly suppressed: { notification: string; channel: Channel; reason: 'hard bounce' | 'stranger' }[] = []
  /** Deliveries whose attempt reached nobody. */
  readonly unreached: { notification: string; channel: Channel }[] = []
  /** Contents as they left, each with the event that states it. */
  readonly contents: ContentWrite[] = []
  /** The queues of the steps that go now. */
  readonly released = new Set<Queue>()
  readonly #byNotification = new Map<string, StoredDelivery[]>()
  readonly #chains: Chains
  readonly #notes: KeptNotes
  readonly #changed = new Map<StoredDelivery, WriteTiming>()
  /** The statuses as they were stored. */
  readonly #before = new Map<StoredDelivery, DeliveryStatus>()
  /** Messages that carriers took. */
  readonly #used: UsageWrite[] = []
  readonly #now: Date
  readonly #unrecorded: { delivery: StoredDelivery; change: AttemptOutcome }[] = []

  constructor(deliveries: readonly StoredDelivery[], heads: Map<string, ChainHead>, notes: KeptNotes, now: Date) {
    this.#chains = new Chains(heads, now)
    this.#notes = notes
    this.#now = now
    for (const delivery of deliveries) {
      const siblings = this.#byNotification.get(delivery.notification) ?? []
      this.#byNotification.set(delivery.notification, [...siblings, delivery])
    }
  }

  get events(): readonly EventWrite[] {
    return this.#chains.events
  }

  apply(change: Change): ChangeOutcome {
    const { notification, fact } = change
    const delivery = this.#byNotification.get(notification)?.find(({ status }) => status.channel === fact.channel)
    if (delivery === undefined) return 'unknown'
    if (change.kind === 'report' && carrierOf(change, delivery) === null) return 'foreign'
    const fenced = isFenced(change, delivery)
    const outcome = fenced ? 'fenced' : this.#applyTo(delivery, change)
    // What is known already suppresses too; a fact that does not count suppresses nobody.
    if (change.kind === 'fact' && change.suppresses !== undefined && (outcome === 'recorded' || outcome === 'nothing new'))
      this.suppressed.push({ notification, channel: fact.channel, reason: change.suppresses })
    if (change.kind !== 'attempt') return outcome
    const { fence, references, delivered, unresolved } = change
    if (change.content !== undefined) {
      if (outcome === 'recorded') this.#keepContent(delivery, change)
      else this.#unrecorded.push({ delivery, change })
    }
    // The carrier of an attempt that lost its lease may still report under these names.
    if (fenced && mayStillBeReported(fence, delivery)) this.#addReferences(delivery, references, fence.ordinal)
    if (delivered !== undefined) this.apply({ kind: 'fact', notification, fact: delivered })
    if (change.suppresses === true && !fenced && outcome !== 'noted')
      this.suppressed.push({ notification, channel: fact.channel, reason: 'hard bounce' })
    if (change.unreached === true && !fenced) this.unreached.push({ notification, channel: fact.channel })
    if (unresolved !== undefined && !fenced) this.#applyTo(delivery, { kind: 'fact', notification, fact: unresolved })
    return outcome
  }

  /**
   * Notes what left in attempts without a recorded outcome: the carrier's report came first, or the lease was lost. `kept`: the
   * attempts with a stored content, because the group is written a second time after the answer to its commit was lost.
   */
  noteUnrecorded(kept: ReadonlySet<string>): void {
    for (const { delivery, change } of this.#unrecorded) {
      const { notification, fact } = change
      if (kept.has(attemptKey(fact))) continue
      const note = { ...fact, type: 'note' as const, data: { ...fact.data, unrecorded: fact.type } }
      this.#chains.append(delivery, this.#chains.date(notification, sanitised(note)))
      this.#keepContent(delivery, change)
    }
  }

  /** Notifications with an attempt whose outcome was not recorded, and whose content is to be kept nevertheless. */
  get unrecorded(): string[] {
    return this.#unrecorded.map(({ change }) => change.notification)
  }

  /** With the latest event of its notification, which states it. */
  #keepContent(delivery: StoredDelivery, { notification, content }: AttemptOutcome): void {
    const { seq } = this.#chains.events.findLast(({ event }) => event.notification === notification)!.event
    this.contents.push({ notification, seq, channel: delivery.status.channel, content: content! })
  }

  #applyTo(delivery: StoredDelivery, change: Change): ChangeOutcome {
    const { notification } = change
    const before = delivery.status
    const traits = moduleOf(before.channel)
    const dated = this.#chains.date(notification, weighFact(before, sanitised(change.fact), traits))
    const isDowngraded = dated.type !== change.fact.type
    const status = applyFact(before, dated, traits)
    const limit = status === before && dated.type === 'note' ? noteLimitOf(change) : null
    const fact = limit === null ? dated : this.#notes.admit(notification, dated, limit)
    if (status === null || fact === null) {
      // A later report under the carrier's name must find its message even if this fact is known already.
      this.#addReferences(delivery, referencesOf(change, delivery, before), dated.data.ordinal ?? before.ordinal)
      return isDowngraded ? 'noted' : 'nothing new'
    }
    // A note about a delivery that is being sent must not end its lease.
    if (status !== before && !this.#before.has(delivery)) this.#before.set(delivery, before)
    if (status !== before) this.#changed.set(delivery, this.#timingOf(change, delivery, status))
    if (status.unknownCount > before.unknownCount) this.newlyUnknown.add(notification)
    const used = usageOf(delivery, before, status, fact)
    if (used !== null) this.#used.push(used)
    delivery.status = status
    // The decision on this step counts from its new date.
    if (change.kind === 'decision' && change.delayMs !== null) delivery.dueAt = new Date(this.#now.getTime() + change.delayMs)
    this.#addReferences(delivery, referencesOf(change, delivery, before), fact.data.ordinal ?? status.ordinal)
    if (fact.type === 'released') this.released.add(queueOf({ channel: status.channel, mode: delivery.mode }))
    this.#chains.append(delivery, fact)
    if (limit !== null && fact.data.lastNote === true) return 'last note'
    return isDowngraded ? 'noted' : 'recorded'
  }

  /** A delay or a binding that an earlier change of this group set stays, unless this change sets its own. */
  #timingOf(change: Change, delivery: StoredDelivery, next: DeliveryStatus): WriteTiming {
    const before = this.#changed.get(delivery)
    return {
      delayMs: delayOf(change) ?? before?.delayMs ?? null,
      failover: change.kind === 'attempt' && change.failover === true,
      undoesClaim: change.kind === 'attempt' && UNTRIED.includes(change.fact.type),
      bind: bindingOf(change, delivery.status, next) ?? before?.bind ?? 'keep',
    }
  }

  #addReferences(
    { notification, status: { channel } }: StoredDelivery,
    references: CarrierReferences | undefined,
    ordinal: number,
  ): void {
    if (references === undefined) return
    const { carrier, names } = references
    for (const [index, reference] of names.entries()) {
      if (reference === null || reference.length > MAX_NAME || !isStorable(reference)) continue
      this.references.push({ carrier, reference, notification, channel, ordinal, part: index + 1, parts: names.length })
    }
  }

  /** Decides on the waiting steps of a notification. One by one, because the decision on one step changes the next decision. */
  decideSteps(notification: string): void {
    const deliveries = this.#byNotification.get(notification) ?? []
    for (let round = 0; round < 2 * deliveries.length; round++) {
      const [fact] = decide(deliveries, this.#now, moduleOf)
      if (fact === undefined) return
      const delivery = deliveries.find(({ status }) => status.channel === fact.channel)!
      const outcome = this.apply({ kind: 'decision', notification, fact, delayMs: delayOfStep(fact, delivery, this.#now) })
      if (outcome !== 'recorded') return
    }
  }

  tallies(): Tally[] {
    return tally(this.#before)
  }

  usage(): UsageWrite[] {
    return sumUsage(this.#used)
  }

  costs(): CostWrite[] {
    return costsOf(this.#before)
  }

  writes(): DeliveryWrite[] {
    return [...this.#changed].map(([{ notification, status }, timing]) => ({ notification, status, ...timing }))
  }
}

/** The facts that end an attempt of which no carrier heard. */
const UNTRIED: readonly Fact['type'][] = ['postponed', 'cancelled']

/** A step that waits once more waits as long as it first did. */
function delayOfStep({ type }: Fact, { dueAt, sendAt, status }: StoredDelivery, now: Date): number | null {
  const start = sendAt ?? status.acceptedAt
  if (type === 'reopened') return Math.max(0, dueAt.getTime() - start.getTime())
  // A step that others release, because they were cancelled, still waits for the time of sending.
  return type === 'released' ? Math.max(0, start.getTime() - now.getTime()) : null
}

function delayOf(change: Change): number | null {
  if (change.kind === 'operator') return change.decision === 'retry' || change.decision === 'release' ? 0 : null
  return change.kind === 'fact' ? null : (change.delayMs ?? null)
}

/** An attempt with unknown outcome stays bound to its carrier: another carrier would send the message a second time. */
function bindingOf(change: Change, before: DeliveryStatus, next: DeliveryStatus): DeliveryWrite['bind'] | null {
  if (next.unknownCount === 0 || isToAnyCarrier(change)) return 'none'
  return next.unknownCount > before.unknownCount ? 'carrier' : null
}

const isToAnyCarrier = (change: Change): boolean =>
  (change.kind === 'resolution' && change.toAnyCarrier === true) || (change.kind === 'operator' && change.decision === 'retry')

/**
 * Whatever a carrier answered, the fact is recorded: words that the database refuses would otherwise undo the transaction, at
 * every attempt, and a message that was sent would be sent again. Whatever a carrier or a recipient quotes, the sender must not read
 * the recipient's link in it.
 */
const sanitised = (fact: Fact): Fact => ({ ...fact, data: hideLinks(storableValue(fact.data)) })

/** Names an attempt: its number starts again with every message of the delivery. */
export const attemptKey = ({ data: { reference, attempt } }: Pick<Fact, 'data'>): string => `${reference} ${attempt}`

/** The carrier that was given the message, of those that this report may come from. */
const carrierOf = ({ by, fact }: CarrierReported, { mode, attempted, status: { channel } }: StoredDelivery): string | null =>
  findAttempt(by, { channel, mode, attempted }, fact.data.ordinal ?? null)

/**
 * A failure under a name that is stored counts. Of a message that was sent again, a report may give the name of the copy that nobody
 * waits for any more.
 */
const mayNameOtherCopy = ({ fact: { type, data } }: CarrierReported, { resent, state }: DeliveryStatus): boolean =>
  resent && (data.tagged === true || (type === 'sent' && !isUnsettled(state)))

function referencesOf(change: Change, delivery: StoredDelivery, before: DeliveryStatus): CarrierReferences | undefined {
  if (change.kind !== 'report') return 'references' in change ? change.references : undefined
  return change.names.length === 0 || mayNameOtherCopy(change, before)
    ? undefined
    : { carrier: carrierOf(change, delivery)!, names: change.names }
}
