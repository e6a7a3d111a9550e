import { moduleOf } from '../../channels/registry.js'
import type { Mode } from '../../domain/access/token.js'
import type { Channel } from '../../domain/channel.js'
import type { Clock } from '../../domain/clock.js'
import { overloaded, Refusal, StoreUnavailable } from '../../domain/errors.js'
import { SALT_BYTES } from '../../domain/evidence/evidence.js'
import { newId } from '../../domain/id.js'
import {
  type Acceptance,
  acceptedEvent,
  type BatchLine,
  namedTemplates,
  planDeliveries,
  type Sender,
  type SendRequest,
  type StoredValidation,
  type TemplateVersion,
} from '../../domain/notification.js'
import { type Queue, queueOf } from '../../domain/queue.js'
import { takeRandom } from '../../domain/random.js'
import { hashReply } from '../../domain/recipient/reply.js'
import { type Scope, scopeKey } from '../../domain/scope.js'
import { requireSendTime, waitForSendTime } from '../../domain/send/send-time.js'
import { MIB } from '../../domain/units.js'
import { GroupCommit } from '../../runtime/group-commit.js'
import { remember } from '../../runtime/remember.js'
import type { KeyUse } from '../../store/notification/notifications.js'
import { type AllowedSendOptions, requireAllowedSend } from './allowed-send.js'
import { type BoundCost, type CostStore, createCostBinding } from './cost-binding.js'
import type { CountUnits } from './count-units.js'
import { type GroupStore, writeGroup } from './write-group.js'

export interface AcceptStore extends GroupStore, CostStore {
  storeBlobs(attachments: SendRequest['attachments']): Promise<void>
  resolveTemplates(scope: Scope, named: ReturnType<typeof namedTemplates>): Promise<Map<Channel, TemplateVersion>>
  findKeyUse(scope: Scope, key: string): Promise<KeyUse | null>
  /** Whether a commit would wait for a synchronous standby that is not there. */
  isStandbyLost(): Promise<boolean>
}

export interface AcceptOptions {
  store: AcceptStore
  allowed: AllowedSendOptions
  clock: Clock
  pepper: Buffer
  /** Called for accounts with a cap only, because it has to compose the messages. */
  countUnits: CountUnits
  maxGroup: number
  parallelGroups: number
  maxWaiting: number
  /** How long a group is written again while the database is unreachable, before its senders get a refusal. */
  retryForMs: number
  /** Rejects while the disk has too little space for more. */
  requireDisk(): Promise<void>
  /** Called with every notification that is committed, where traces are switched on. */
  trace?: AcceptTrace | undefined
  /** Called after every group with the queues of what goes at once. */
  onAccepted(queues: ReadonlySet<Queue>): void
}

/** More are not needed: the account would have to be edited between a plan and its write five times in a row. */
const MAX_PLANS = 5

export interface Accepted {
  id: string
  replayed: boolean
}

/** Enough to share the cost of a commit, and small enough that no request waits for a giant group. */
const MAX_GROUP_BYTES = 8 * MIB

/** How long a standby counts as present. Groups that are written in this time after its loss have an unknown outcome. */
const STANDBY_MAX_AGE_MS = 500
/** How long a refused group counts against the readiness. */
const TROUBLE_MS = 5_000

const queuesOf = (group: readonly Acceptance[]): Set<Queue> =>
  new Set(
    group.flatMap(({ mode, deliveries }) =>
      deliveries.flatMap(({ state, channel }) => (state === 'queued' ? [queueOf({ channel, mode })] : [])),
    ),
  )

/** Where the notification came from, for its trace. */
interface Origin {
  /** When its request began, in milliseconds since 1970. */
  startedMs: number
  /** As the sender's request has it (W3C Trace Context). */
  traceparent?: string | undefined
}

export type AcceptTrace = (accepted: Origin & { id: string; mode: Mode; channels: readonly Channel[] }) => void

export interface Submission {
  origin?: Origin
  request: SendRequest
  /** As this node knows it, which may be a moment old. */
  sender: Sender
  idempotency: Acceptance['idempotency']
  /** The line of a batch that is accepted with it, or not at all. */
  line?: BatchLine
  /** Reads the sender from the database; rejects if it may no longer send. */
  readSender(): Promise<Sender>
}

export type Accept = ReturnType<typeof createAccept>

export function createAccept(options: AcceptOptions) {
  const { store, allowed, clock, pepper, countUnits, onAccepted, requireDisk, trace, ...limits } = options
  const requireAllowed = (request: SendRequest, { mode, rules: { settings } }: Sender): void =>
    requireAllowedSend(request, { mode, settings }, allowed)
  const isStandbyLost = remember(STANDBY_MAX_AGE_MS, () => store.isStandbyLost())
  /** A commit that waits for a lost standby has an unknown outcome, and its connection is gone until the standby is back. */
  const requireStandby = async (): Promise<void> => {
    // If the database cannot be asked, the write itself fails and reports it.
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
        onAccepted(queuesOf(group))
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
  const costs = createCostBinding(store, countUnits)
  const keysInProgress = new Set<string>()

  async function acceptNew(send: Submission): Promise<Accepted> {
    const { request, sender, idempotency } = send
    await requireStandby()
    // First of all: what was accepted once is answered again, whatever has been forbidden since.
    if (idempotency !== null) {
      const use = await store.findKeyUse(sender, idempotency.key)
      if (use !== null) return replay(use, idempotency)
    }
    requireSendTime(request.sendAt, new Date(clock()))
    requireAllowed(request, sender)
    await requireDisk()
    const named = namedTemplates(request)
    const [validation, templates] = await Promise.all([
      request.validation && protect(request.validation, pepper),
      named.length === 0 ? new Map<Channel, TemplateVersion>() : store.resolveTemplates(sender, named),
      request.attachments.length === 0 ? undefined : store.storeBlobs(request.attachments),
    ])
    const bound = await costs.bind(request, sender, templates)
    try {
      return await planAndWrite(send, templates, validation, bound)
    } catch (error) {
      // The cost of a send that may have been written stays bound.
      if (!(error instanceof Refusal && error.code === 'sendUnknown')) await costs.release(sender, bound)
      throw error
    }
  }

  async function planAndWrite(
    { request, sender, idempotency, readSender, line }: Submission,
    templates: ReadonlyMap<Channel, TemplateVersion>,
    validation: StoredValidation | null,
    bound: BoundCost,
  ): Promise<Accepted> {
    const readAllowed = async (): Promise<Sender> => {
      const current = await readSender()
      requireAllowed(request, current)
      return current
    }
    for (let plans = 1, current = sender; ; plans++, current = await readAllowed()) {
      const planned = planSend(request, current, templates, new Date(clock()))
      const deliveries =
        bound === null
          ? planned.deliveries
          : planned.deliveries.map(delivery => ({ ...delivery, boundCost: bound.get(delivery.channel) ?? null }))
      const acceptance = { ...planned, deliveries, validation, idempotency, ...(line && { line }) }
      const { id } = acceptance
      const written = await groups.submit(acceptance).catch(error => {
        if (!(error instanceof StoreUnavailable && error.maybeCommitted)) throw error
        throw new Refusal('sendUnknown', [id], { cause: error.cause })
      })
      if (written) return { id, replayed: false }
      // Another node used the key in the same moment, or the account was edited after this node read its rules.
      const use = idempotency && (await store.findKeyUse(sender, idempotency.key))
      if (use !== null) {
        await costs.release(sender, bound)
        return replay(use, idempotency!)
      }
      if (plans === MAX_PLANS) throw overloaded()
    }
  }

  async function acceptOnce(send: Submission): Promise<Accepted> {
    const { sender, idempotency } = send
    if (idempotency === null) return acceptNew(send)
    const key = `${scopeKey(sender)} ${idempotency.key}`
    if (keysInProgress.has(key)) throw new Refusal('keyInProgress', [], { retryAfter: 1 })
    keysInProgress.add(key)
    try {
      return await acceptNew(send)
    } finally {
      keysInProgress.delete(key)
    }
  }

  return {
    /** Resolves once the notification is committed, and not before. */
    async accept(send: Submission): Promise<Accepted> {
      if (trace === undefined) return acceptOnce(send)
      const { origin = { startedMs: Date.now() }, sender, request } = send
      const accepted = await acceptOnce(send)
      const channels = request.deliveries.map(({ channel }) => channel)
      if (!accepted.replayed) trace({ ...origin, id: accepted.id, mode: sender.mode, channels })
      return accepted
    },
    groups,
    /** Why sends were refused a moment ago; null: none was, or one was accepted since. */
    recentTrouble: (): StoreUnavailable | null =>
      trouble !== null && performance.now() - trouble.at < TROUBLE_MS ? trouble.error : null,
  }
}

function planSend(request: SendRequest, sender: Sender, templates: ReadonlyMap<Channel, TemplateVersion>, acceptedAt: Date) {
  const id = newId(acceptedAt.getTime())
  const { account, mode, rules, actor } = sender
  const deliveries = planDeliveries(request, rules, templates, moduleOf, waitForSendTime(request.sendAt, acceptedAt))
  const event = acceptedEvent(id, acceptedAt, request, sender, deliveries, takeRandom(SALT_BYTES))
  const plan = { id, account, mode, acceptedAt, request, deliveries, event, rulesRevision: rules.revision }
  return actor === undefined ? plan : { ...plan, actor }
}

function replay(use: KeyUse, idempotency: { bodySha256: string }): Accepted {
  if (use.bodySha256 !== idempotency.bodySha256) throw new Refusal('keyReused')
  return { id: use.notification, replayed: true }
}

async function protect(validation: { question: string; reply: string }, pepper: Buffer): Promise<StoredValidation> {
  return { question: validation.question, ...(await hashReply(validation.reply, pepper)) }
}
