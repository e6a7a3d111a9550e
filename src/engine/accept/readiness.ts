import { channels } from '../../channels/registry.js'
import { completeSettings } from '../../domain/account.js'
import type { Clock } from '../../domain/clock.js'
import { Refusal, StoreUnavailable } from '../../domain/errors.js'
import { SALT_BYTES, sha256 } from '../../domain/evidence/evidence.js'
import { LOWEST_ID, newId } from '../../domain/id.js'
import { type Acceptance, acceptedEvent, type PlannedDelivery, type SendRequest } from '../../domain/notification.js'
import { takeRandom } from '../../domain/random.js'
import { remember } from '../../runtime/remember.js'

interface ReadinessStore {
  isStandbyLost(): Promise<boolean>
  /** The migrations of this version that the database lacks. */
  findPending(): Promise<string[]>
  /** Writes the group as a send would, and undoes it. */
  rehearse(group: readonly Acceptance[]): Promise<void>
}

export interface ReadinessOptions {
  store: ReadinessStore
  clock: Clock
  /** Rejects while the disk has too little space. */
  requireDisk(): Promise<void>
  /** Why sends were refused a moment ago, or null: a full disk may still have room for a rehearsal. */
  recentTrouble(): StoreUnavailable | null
}

/** Anybody may ask for the readiness, and each answer costs the database a write. */
const MAX_AGE_MS = 1_000

/** Resolves if a send would be accepted now; otherwise rejects with Refusal or StoreUnavailable. */
export function createReadiness({ store, clock, requireDisk, recentTrouble }: ReadinessOptions): () => Promise<void> {
  const check = remember(MAX_AGE_MS, async () => {
    await requireDisk()
    // First, because a rehearsal is not committed and so does not wait for the standby.
    if (await store.isStandbyLost()) throw new Refusal('standbyLost', [], { retryAfter: 5 })
    const [pending] = await store.findPending()
    if (pending !== undefined) throw new Refusal('schemaBehind', [], { retryAfter: 5 })
    await store.rehearse([rehearsedSend(clock)])
  })
  return async () => {
    const trouble = recentTrouble()
    if (trouble !== null) throw trouble
    await check().catch(error => {
      // Whatever stops the rehearsal stops a send: missing rights, a trigger.
      throw error instanceof Refusal || error instanceof StoreUnavailable
        ? error
        : new StoreUnavailable(error, { reachable: true })
    })
  }
}

/** A send with a row for every table that a send may write. */
function rehearsedSend(clock: Clock): Acceptance {
  const acceptedAt = new Date(clock())
  const id = newId(acceptedAt.getTime())
  const request: SendRequest = {
    customId: null,
    sendAt: null,
    recipientName: '',
    subject: '',
    content: '',
    validation: null,
    attachments: [{ name: 'ensaio', sha256: sha256(''), bytes: Buffer.alloc(0) }],
    deliveries: [],
  }
  const rules = { sequence: null, settings: completeSettings({}), revision: 0 }
  const sender = { account: LOWEST_ID, mode: 'test', token: LOWEST_ID, address: '', rules } as const
  const turn = { state: 'queued', waitMs: 0, step: 1, condition: 'always' } as const
  const deliveries: PlannedDelivery[] = [{ ...turn, channel: channels[0]!, recipient: null, request: {}, template: null }]
  const event = acceptedEvent(id, acceptedAt, request, sender, deliveries, takeRandom(SALT_BYTES))
  const idempotency = { key: id, bodySha256: sha256('') }
  const planned = { deliveries, event, rulesRevision: null }
  return { id, account: LOWEST_ID, mode: 'test', acceptedAt, request, validation: null, ...planned, idempotency }
}
