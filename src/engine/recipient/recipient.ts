import { moduleOf, readLinkTarget } from '../../channels/registry.js'
import type { Keys } from '../../domain/access/keys.js'
import type { Clock } from '../../domain/clock.js'
import type { Change, ChangeOutcome } from '../../domain/delivery/change.js'
import { Refusal } from '../../domain/errors.js'
import type { LinkTarget } from '../../domain/recipient/link.js'
import { robotLimits } from '../../domain/recipient/robot.js'
import { GroupCommit } from '../../runtime/group-commit.js'
import { findLogo } from '../../store/accounts/accounts.js'
import { findSendState } from '../../store/delivery/deliveries.js'
import { readContent } from '../../store/notification/notifications.js'
import type { Pool } from '../../store/postgres.js'
import { findLock, resetAttempts, takeAttempt } from '../../store/recipient/visit-counts.js'
import {
  findConfirmation,
  findVisitedDeliveries,
  isSendersAddress,
  readFile,
  type VisitedDelivery,
} from '../../store/recipient/visits.js'
import type { GuessLimits, Locked } from './guess-guard.js'
import { createReplies, type ReplyVerdict } from './replies.js'
import { createShortLinkReader } from './short-link-reader.js'
import { type Counted, createVisitRecorder, type Visit, type VisitStep } from './visits.js'

export interface RecipientParts {
  pool: Pool
  clock: Clock
  keys: Pick<Keys, 'link' | 'session' | 'pepper'>
  record(change: Change): Promise<ChangeOutcome>
  limits?: RecipientLimits
}

export interface RecipientLimits {
  robot?: typeof robotLimits
  guesses?: GuessLimits
}

export type RecipientActions = ReturnType<typeof createRecipient>

/** The actions of a recipient's pages. */
export function createRecipient({ pool, clock, keys, record, limits = {} }: RecipientParts) {
  const readShort = createShortLinkReader(pool, limits.guesses)
  const isSenders = (notification: string, address: string) => isSendersAddress(pool, notification, address)
  const visits = createVisitRecorder({ record, isSenders })
  const check = createReplies({
    pepper: keys.pepper,
    visits,
    record,
    isSenders,
    takeAttempt: (notification, limit) => takeAttempt(pool, notification, limit),
    resetAttempts: notification => resetAttempts(pool, notification),
  })
  const lookups = new GroupCommit<LinkTarget, VisitedDelivery | null>({
    write: targets => findVisitedDeliveries(pool, targets),
    overloaded: () => new Refusal('overloaded', [], { retryAfter: 1 }),
    maxItems: 256,
    parallel: 2,
    maxWaiting: 4_096,
  })

  /**
   * Some channels' status has a date for opening the link. A later action records it too, because "Abrir" may have been taken
   * for a program's.
   */
  async function recordLinkOpened({ target, linkOpenedAt }: VisitedDelivery, visit: Visit, step: VisitStep): Promise<void> {
    if (moduleOf(target.channel).recordsLinkAccess === true && linkOpenedAt === null)
      await visits.count(visit, step, 'link opened')
  }

  return {
    now: clock,
    linkKey: keys.link,
    sessionKey: keys.session,
    robotLimits: limits.robot ?? robotLimits,
    visits,

    /** null: there is no such link. */
    async find(kind: 'full' | 'short', code: string, address: string): Promise<VisitedDelivery | Locked | null> {
      const target = kind === 'full' ? readLinkTarget(keys.link, code) : await readShort(code, address)
      return target === null || 'lockedMs' in target ? target : lookups.submit(target)
    },

    /** "Abrir". A protected message counts as read only after the right reply. */
    async open(visited: VisitedDelivery, visit: Visit): Promise<void> {
      await recordLinkOpened(visited, visit, 'open')
      if (visited.validation === null) await visits.count(visit, 'open', 'read')
      else await visits.note(visit, 'open')
    },

    async answer(visited: VisitedDelivery, visit: Visit, reply: string): Promise<ReplyVerdict> {
      const verdict = await check(visit, visited.validation!, reply)
      if (verdict.right) {
        await recordLinkOpened(visited, visit, 'reply')
        await visits.count(visit, 'reply', 'read')
      }
      return verdict
    },

    async confirm(visited: VisitedDelivery, visit: Visit): Promise<Counted> {
      await recordLinkOpened(visited, visit, 'confirm')
      return visits.count(visit, 'confirm', 'confirmed')
    },

    /** "Não sou esta pessoa": suppresses the recipient for this account and channel and fails the delivery. */
    async reportWrongPerson(visit: Visit): Promise<Counted> {
      const failureDetail = 'Quem abriu o link informou que não é o destinatário.'
      return visits.count(visit, 'not me', 'failed', { failure: 'stranger', failureDetail }, 'stranger')
    },

    findSendState: ({ notification, channel }: LinkTarget) => findSendState(pool, notification, channel),
    findLock: (notification: string) => findLock(pool, notification),
    findContent: (notification: string) => readContent(pool, notification),
    findConfirmation: (target: LinkTarget) => findConfirmation(pool, target),
    findLogo: (sha256: string) => findLogo(pool, sha256),
    readFile: (notification: string, ordinal: number) => readFile(pool, notification, ordinal),
  }
}
