import { type Fact, isOfWhole } from '../../domain/delivery/transition.js'
import type { Json } from '../../domain/evidence/canonical-json.js'
import { chainEvent, SALT_BYTES } from '../../domain/evidence/evidence.js'
import { takeRandom } from '../../domain/random.js'
import { isAnnounced } from '../../domain/webhook.js'
import type { ChainHead, StoredDelivery } from '../../store/delivery/locked-deliveries.js'
import type { EventWrite } from '../../store/delivery/records.js'

/** The event chains of the locked notifications: appends facts to them as hashed events. */
export class Chains {
  readonly events: EventWrite[] = []
  readonly #heads: Map<string, ChainHead>
  readonly #now: Date

  constructor(heads: Map<string, ChainHead>, now: Date) {
    this.#heads = heads
    this.#now = now
  }

  /** Times in a chain run neither backwards nor ahead of the clock. An earlier time that the source named is kept in the data. */
  date(notification: string, fact: Fact): Fact {
    const at = fact.at.getTime() <= this.#now.getTime() ? fact.at : this.#now
    const latest = this.#heads.get(notification)!.at
    if (at.getTime() >= latest.getTime()) return { ...fact, at }
    return { ...fact, at: latest, data: { ...fact.data, occurredAt: at.toISOString() } }
  }

  append({ notification, account, mode, status }: StoredDelivery, fact: Fact): void {
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
    this.events.push({ event, account, mode, channel: status.channel, announced })
  }
}

const withoutUndefined = (data: Fact['data']): Record<string, Json> =>
  Object.fromEntries(Object.entries(data).filter((entry): entry is [string, Json] => entry[1] !== undefined))
