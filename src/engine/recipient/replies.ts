import type { Change, ChangeOutcome } from '../../domain/change.js'
import { overloaded } from '../../domain/errors.js'
import type { StoredValidation } from '../../domain/notification.js'
import { matchesReply } from '../../domain/reply.js'
import { KeyedSemaphore, Semaphore } from '../../runtime/semaphore.js'
import type { TakenTry, TryLimit } from '../../store/visit-counts.js'
import type { Visit, VisitRecorder } from './visits.js'

/** Checks replies to a notification's question. Every try is taken out of a count before it is looked at. */
export interface ReplyParts {
  pepper: Buffer
  visits: Pick<VisitRecorder, 'note'>
  record(change: Change): Promise<ChangeOutcome>
  takeTry(notification: string, limit: TryLimit): Promise<TakenTry>
  forgetTries(notification: string): Promise<void>
  matches?: typeof matchesReply
}

export type ReplyVerdict = { right: true } | { right: false; triesLeft: number; lockedMs: number }

const MINUTE = 60_000
/** Replies are often a few digits: locks in a row last longer, so that a thousand possibilities take most of a year. */
export const tryLimit: TryLimit = { tries: 5, lockMs: 15 * MINUTE, longestLockMs: 24 * 60 * MINUTE }
/** One takes 16 MiB and some 40 ms of a thread; the event loop goes on meanwhile. */
const AT_ONCE = 2
const WAITING = 200
/** Replies to one notification: a flood of them must not take the database away from everybody else. */
const AT_ONCE_EACH = 2
const WAITING_EACH = 8

export function createReplies({ pepper, visits, record, takeTry, forgetTries, matches = matchesReply }: ReplyParts) {
  const checks = new Semaphore({ permits: AT_ONCE, maxWaiting: WAITING, refusal: overloaded })
  const perNotification = new KeyedSemaphore({ permits: AT_ONCE_EACH, maxWaiting: WAITING_EACH, refusal: overloaded })

  async function check(visit: Visit, stored: StoredValidation, reply: string): Promise<ReplyVerdict> {
    const { notification, channel } = visit.target
    const { taken, tries, lockedMs } = await takeTry(notification, tryLimit)
    if (!taken) {
      await visits.note(visit, 'reply', { locked: true })
      return { right: false, triesLeft: 0, lockedMs }
    }
    if (await checks.run(() => matches(reply, stored, pepper))) {
      await forgetTries(notification)
      return { right: true }
    }
    const { address, userAgent, signals } = visit
    const data = { by: 'reply', right: false, try: tries, address, userAgent, signals }
    const locked = lockedMs > 0 ? { lockedUntil: new Date(visit.at.getTime() + lockedMs).toISOString() } : {}
    // Without a limit of notes: the limit of tries bounds them already.
    await record({
      kind: 'fact',
      notification,
      fact: { channel, type: 'note', at: visit.at, source: 'recipient', data: { ...data, ...locked } },
    })
    return { right: false, triesLeft: tryLimit.tries - tries, lockedMs }
  }

  return (visit: Visit, stored: StoredValidation, reply: string): Promise<ReplyVerdict> =>
    perNotification.run(visit.target.notification, () => check(visit, stored, reply))
}
