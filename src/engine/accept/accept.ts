import { setTimeout as sleep } from 'node:timers/promises'
import { moduleOf } from '../../channels/registry.js'
import type { Channel } from '../../domain/channel.js'
import type { Clock } from '../../domain/clock.js'
import { Refusal, StoreUnavailable } from '../../domain/errors.js'
import { SALT_BYTES } from '../../domain/evidence.js'
import { newId } from '../../domain/id.js'
import {
  type Acceptance,
  acceptedEvent,
  namedTemplates,
  planDeliveries,
  type Sender,
  type SendRequest,
  type StoredValidation,
  type TemplateVersion,
} from '../../domain/notification.js'
import { takeRandom } from '../../domain/random.js'
import { hashReply } from '../../domain/reply.js'
import { GroupCommit } from '../../runtime/group-commit.js'
import type { KeyUse } from '../../store/idempotency.js'

/** What accepting needs of the store. */
export interface AcceptStore {
  insertAcceptances(group: readonly Acceptance[]): Promise<Set<string>>
  findWritten(ids: readonly string[]): Promise<Set<string>>
  storeBlobs(attachments: SendRequest['attachments']): Promise<void>
  resolveTemplates(account: string, named: ReturnType<typeof namedTemplates>): Promise<Map<Channel, TemplateVersion>>
  findKeyUse(account: string, key: string): Promise<KeyUse | null>
  isRowFault(error: unknown): boolean
  isUniqueViolation(error: unknown): boolean
}

export interface AcceptOptions {
  store: AcceptStore
  clock: Clock
  pepper: Buffer
  maxGroup: number
  parallelGroups: number
  maxWaiting: number
  /** How long a group is tried again while the database is away, before its senders are told. */
  retryForMs: number
  /** Told after every group, so that what was accepted starts at once. */
  onAccepted(): void
}

export interface Accepted {
  id: string
  replayed: boolean
}

/** Rows and bytes of one group: enough to share the cost of a commit, small enough that nobody waits for a giant. */
const MAX_GROUP_BYTES = 8 * 1_048_576
const RETRY_AFTER_SECONDS = 5
const NO_TEMPLATES: Map<Channel, TemplateVersion> = new Map()

export type Accept = ReturnType<typeof createAccept>

export function createAccept({
  store,
  clock,
  pepper,
  maxGroup,
  parallelGroups,
  maxWaiting,
  retryForMs,
  onAccepted,
}: AcceptOptions) {
  const groups = new GroupCommit<Acceptance, boolean>({
    write: async group => {
      const written = await writeGroup(store, group, retryForMs)
      onAccepted()
      return written
    },
    isItemFault: store.isRowFault,
    weigh: item => item.request.content.length + 1_000,
    maxItems: maxGroup,
    maxWeight: MAX_GROUP_BYTES,
    parallel: parallelGroups,
    maxWaiting,
    overloaded: () => new Refusal('overloaded', [], { retryAfter: RETRY_AFTER_SECONDS }),
  })
  const keysInProgress = new Set<string>()

  async function write(request: SendRequest, sender: Sender, idempotency: Acceptance['idempotency']): Promise<Accepted> {
    if (idempotency !== null) {
      const use = await store.findKeyUse(sender.account, idempotency.key)
      if (use !== null) return replay(use, idempotency)
    }
    const named = namedTemplates(request)
    const [validation, templates] = await Promise.all([
      request.validation === null ? null : protect(request.validation, pepper),
      named.length === 0 ? NO_TEMPLATES : store.resolveTemplates(sender.account, named),
      request.attachments.length === 0 ? undefined : store.storeBlobs(request.attachments),
    ])
    const acceptedAt = new Date(clock())
    const id = newId(acceptedAt.getTime())
    const deliveries = planDeliveries(request, sender.rules, templates, moduleOf)
    const event = acceptedEvent(id, acceptedAt, request, sender, deliveries, takeRandom(SALT_BYTES))
    const { account, mode } = sender
    const written = await groups.submit({ id, account, mode, acceptedAt, request, validation, deliveries, event, idempotency })
    if (written) return { id, replayed: false }
    // Another node used the key in the same moment.
    const use = await store.findKeyUse(sender.account, idempotency!.key)
    if (use === null) throw new Refusal('keyInProgress', [], { retryAfter: 1 })
    return replay(use, idempotency!)
  }

  return {
    /** Resolves once the notification is committed, and not before. */
    async accept(request: SendRequest, sender: Sender, idempotency: Acceptance['idempotency']): Promise<Accepted> {
      if (idempotency === null) return write(request, sender, null)
      const key = `${sender.account} ${idempotency.key}`
      if (keysInProgress.has(key)) throw new Refusal('keyInProgress', [], { retryAfter: 1 })
      keysInProgress.add(key)
      try {
        return await write(request, sender, idempotency)
      } finally {
        keysInProgress.delete(key)
      }
    },
    groups,
  }
}

function replay(use: KeyUse, idempotency: { bodySha256: string }): Accepted {
  if (use.bodySha256 !== idempotency.bodySha256) throw new Refusal('keyReused')
  return { id: use.notification, replayed: true }
}

async function protect(validation: { question: string; reply: string }, pepper: Buffer): Promise<StoredValidation> {
  return { question: validation.question, ...(await hashReply(validation.reply, pepper)) }
}

/**
 * Writes a group. When the answer is lost, nobody knows whether it was committed: the ids were made here, so asking for
 * them settles it, and what was not written is written again under the same ids. Nobody is told 503 about a
 * notification that exists unless the database stays away.
 */
async function writeGroup(store: AcceptStore, group: readonly Acceptance[], retryForMs: number): Promise<boolean[]> {
  const giveUpAt = performance.now() + retryForMs
  for (let retry = false; ; retry = true) {
    try {
      let written = retry ? await store.findWritten(group.map(item => item.id)) : new Set<string>()
      // One statement writes the group: if any of it is there, all that ever will be is there.
      if (written.size === 0) written = await store.insertAcceptances(group)
      return group.map(item => written.has(item.id))
    } catch (error) {
      // A collision with our own ids means that the first try committed while the second one was on its way.
      const worthRetrying = error instanceof StoreUnavailable || (retry && store.isUniqueViolation(error))
      if (!worthRetrying || performance.now() > giveUpAt) throw error
      await sleep(100)
    }
  }
}
