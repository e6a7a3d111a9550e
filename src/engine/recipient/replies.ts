import type { Change, ChangeOutcome } from '../../domain/delivery/change.js'
import { overloaded } from '../../domain/errors.js'
import type { StoredValidation } from '../../domain/notification.js'
import { matchesReply } from '../../domain/recipient/reply.js'
import { KeyedSemaphore, Semaphore } from '../../runtime/semaphore.js'
import type { AttemptGrant, ReplyLimit } from '../../store/recipient/visit-counts.js'
import type { Visit, VisitRecorder, VisitRecorderParts } from './visits.js'

export interface ReplyParts {
  pepper: Buffer
  visits: Pick<VisitRecorder, 'note'>
  isSenders: VisitRecorderParts['isSenders']
  record(change: Change): Promise<ChangeOutcome>
  takeAttempt(notification: string, limit: ReplyLimit): Promise<AttemptGrant>
  resetAttempts(notification: string): Promise<void>
  matches?: typeof matchesReply
}

export type ReplyVerdict = { right: true } | { right: false; attemptsLeft: number; lockedMs: number }

/** Replies are often a few digits. Each lock is longer than the last one, so a thousand possibilities take most of a year. */
export const replyLimit: ReplyLimit = { attempts: 5, lockMs: 15 * 60_000, maxLockMs: 24 * 60 * 60_000 }

/** Checks replies to a notification's question. Every attempt is counted before the reply is compared. */
export function createReplies({
  pepper,
  visits,
  record,
  isSenders,
  takeAttempt,
  resetAttempts,
  matches = matchesReply,
}: ReplyParts) {
  // One comparison takes 16 MiB and about 40 ms in a thread of the libuv pool.
  const checks = new Semaphore({ permits: 2, maxWaiting: 200, refusal: overloaded })
  // A flood of replies to one notification must not occupy the database.
  const perNotification = new KeyedSemaphore({ permits: 2, maxWaiting: 8, refusal: overloaded })

  async function check(visit: Visit, stored: StoredValidation, reply: string): Promise<ReplyVerdict> {
    const { notification, channel } = visit.target
    const { allowed, attempts, lockedMs } = await takeAttempt(notification, replyLimit)
    if (!allowed) {
      await visits.note(visit, 'reply', { locked: true })
      return { right: false, attemptsLeft: 0, lockedMs }
    }
    if (await checks.run(() => matches(reply, stored, pepper))) {
      await resetAttempts(notification)
      return { right: true }
    }
    const { address, userAgent, signals } = visit
    const fromSender = (await isSenders(notification, address)) ? { fromSender: true } : {}
    const data = { by: 'reply', right: false, try: attempts, address, userAgent, signals, ...fromSender }
    const locked = lockedMs > 0 ? { lockedUntil: new Date(visit.at.getTime() + lockedMs).toISOString() } : {}
    // Without a limit of notes, because the limit of attempts bounds them.
    const fact = { channel, type: 'note', at: visit.at, source: 'recipient', data: { ...data, ...locked } } as const
    await record({ kind: 'fact', notification, fact })
    return { right: false, attemptsLeft: replyLimit.attempts - attempts, lockedMs }
  }

  return (visit: Visit, stored: StoredValidation, reply: string): Promise<ReplyVerdict> =>
    perNotification.run(visit.target.notification, () => check(visit, stored, reply))
}
