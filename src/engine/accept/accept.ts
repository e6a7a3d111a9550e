import { setTimeout as sleep } from 'node:timers/promises'
import { moduleOf } from '../../channels/registry.js'
import type { Channel } from '../../domain/channel.js'
import type { Clock } from '../../domain/clock.js'
import { overloaded, Refusal, StoreUnavailable } from '../../domain/errors.js'
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
import { type Scope, scopeKey } from '../../domain/scope.js'
import { GroupCommit } from '../../runtime/group-commit.js'
import { remember } from '../../runtime/remember.js'
import type { KeyUse } from '../../store/notification/notifications.js'

export interface AcceptStore {
  insertAcceptances(group: readonly Acceptance[]): Promise<Set<string>>
  findWritten(ids: readonly string[]): Promise<Set<string>>
  storeBlobs(attachments: SendRequest['attachments']): Promise<void>
  resolveTemplates(scope: Scope, named: ReturnType<typeof namedTemplates>): Promise<Map<Channel, TemplateVersion>>
  findKeyUse(scope: Scope, key: string): Promise<KeyUse | null>
  /** Whether a commit would wait for a synchronous standby that is not there. */
  isStandbyLost(): Promise<boolean>
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
  /** How long a group is written again while the database is unreachable, before its senders get a refusal. */
  retryForMs: number
  /** Called after every group, so that its deliveries start at once. */
  onAccepted(): void
}

export interface Accepted {
  id: string
  replayed: boolean
}

/** Enough to share the cost of a commit, and small enough that no request waits for a giant group. */
const MAX_GROUP_BYTES = 8 * 1_048_576

/** How long a standby counts as present. Groups that are written in this time after its loss have an unknown outcome. */
const STANDBY_MAX_AGE_MS = 500
/** How long a refused group counts against the readiness. */
const TROUBLE_MS = 5_000

export type Accept = ReturnType<typeof createAccept>

export function createAccept({ store, clock, pepper, onAccepted, ...limits }: AcceptOptions) {
  const isStandbyLost = remember(STANDBY_MAX_AGE_MS, () => store.isStandbyLost())
  /** A commit that waits for a lost standby has an unknown outcome, and its connection is gone until the standby is back. */
  const requireStandby = async (): Promise<void> => {
    // A database that cannot be asked is the write's own trouble.
    if (await isStandbyLost().catch(() => false)) throw new Refusal('standbyLost', [], { retryAfter: 5 })
  }
  let trouble: { error: StoreUnavailable; at: number } | null = null
  const groups = new GroupCommit<Acceptance, boolean>({
    write: async group => {
      // Again, because a group may have waited for those before it.
      await requireStandby()
      try {
        const written = await writeGroup(store, group, limits.retryForMs)
        trouble = null
        onAccepted()
        return written
      } catch (error) {
        if (error instanceof StoreUnavailable) trouble = { error, at: performance.now() }
        throw error
      }
    },
    isItemFault: error => store.isRowFault(error) && !(error instanceof Refusal && error.kind === 'unavailable'),
    weigh: item => item.request.content.length + 1_000,
    maxItems: limits.maxGroup,
    maxWeight: MAX_GROUP_BYTES,
    parallel: limits.parallelGroups,
    maxWaiting: limits.maxWaiting,
    overloaded,
  })
  const keysInProgress = new Set<string>()

  async function write(request: SendRequest, sender: Sender, idempotency: Acceptance['idempotency']): Promise<Accepted> {
    await requireStandby()
    if (idempotency !== null) {
      const use = await store.findKeyUse(sender, idempotency.key)
      if (use !== null) return replay(use, idempotency)
    }
    const named = namedTemplates(request)
    const [validation, templates] = await Promise.all([
      request.validation && protect(request.validation, pepper),
      named.length === 0 ? new Map<Channel, TemplateVersion>() : store.resolveTemplates(sender, named),
      request.attachments.length === 0 ? undefined : store.storeBlobs(request.attachments),
    ])
    const acceptedAt = new Date(clock())
    const id = newId(acceptedAt.getTime())
    const deliveries = planDeliveries(request, sender.rules, templates, moduleOf)
    const event = acceptedEvent(id, acceptedAt, request, sender, deliveries, takeRandom(SALT_BYTES))
    const { account, mode } = sender
    const acceptance = { id, account, mode, acceptedAt, request, validation, deliveries, event, idempotency }
    const written = await groups.submit(acceptance).catch(error => {
      if (!(error instanceof StoreUnavailable && error.maybeCommitted)) throw error
      throw new Refusal('sendUnknown', [id], { cause: error.cause })
    })
    if (written) return { id, replayed: false }
    // Another node used the key in the same moment.
    const use = await store.findKeyUse(sender, idempotency!.key)
    if (use === null) throw new Refusal('keyInProgress', [], { retryAfter: 1 })
    return replay(use, idempotency!)
  }

  return {
    /** Resolves once the notification is committed, and not before. */
    async accept(request: SendRequest, sender: Sender, idempotency: Acceptance['idempotency']): Promise<Accepted> {
      if (idempotency === null) return write(request, sender, null)
      const key = `${scopeKey(sender)} ${idempotency.key}`
      if (keysInProgress.has(key)) throw new Refusal('keyInProgress', [], { retryAfter: 1 })
      keysInProgress.add(key)
      try {
        return await write(request, sender, idempotency)
      } finally {
        keysInProgress.delete(key)
      }
    },
    groups,
    /** Why sends were refused a moment ago; null: none was, or one was accepted since. */
    recentTrouble: (): StoreUnavailable | null =>
      trouble !== null && performance.now() - trouble.at < TROUBLE_MS ? trouble.error : null,
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
 * Writes a group. When the database's answer is lost, a query for the group's ids tells whether it was committed; otherwise the group
 * is written again under the same ids. A query that finds nothing proves nothing, because a commit that waits for a standby is not
 * visible yet: once an answer was lost, only rows that are found or written end the doubt.
 */
async function writeGroup(store: AcceptStore, group: readonly Acceptance[], retryForMs: number): Promise<boolean[]> {
  const ids = group.map(item => item.id)
  const giveUpAt = performance.now() + retryForMs
  let lost: StoreUnavailable | null = null
  for (let retry = false; ; retry = true) {
    try {
      let written = retry ? await store.findWritten(ids) : new Set<string>()
      // The group is one statement: if one row exists, the whole group was committed.
      if (written.size === 0) written = await store.insertAcceptances(group)
      return ids.map(id => written.has(id))
    } catch (error) {
      // A collision with our own ids means that the first try committed while the second one was on its way.
      const collided = retry && store.isUniqueViolation(error)
      // A lock after a lost answer may be the lost write's own.
      const isUnreachable = error instanceof StoreUnavailable && (lost !== null || !store.isRowFault(error))
      if (!collided && !isUnreachable) throw error
      if (collided) lost = new StoreUnavailable(error, { maybeCommitted: true })
      else if (error instanceof StoreUnavailable && error.maybeCommitted) lost = error
      if (performance.now() <= giveUpAt) await sleep(100)
      else if (lost === null) throw error
      else return await findLost(store, ids, lost)
    }
  }
}

/** The last look for a group whose answer was lost. */
async function findLost(store: AcceptStore, ids: readonly string[], lost: StoreUnavailable): Promise<boolean[]> {
  const written = await store.findWritten(ids).catch(() => new Set<string>())
  if (written.size === 0) throw lost
  return ids.map(id => written.has(id))
}
