import type { Change, ChangeOutcome, NoteLimit } from '../../../domain/change.js'
import type { Clock } from '../../../domain/clock.js'
import type { Fact } from '../../../domain/transition.js'
import { reasonOfStatus } from '../status-code.js'
import type { DeliveryEntry, Report } from './reports.js'

/** Turns messages to an e-mail's envelope sender into facts about its delivery. */
export interface ReturnParts {
  clock: Clock
  record(change: Change): Promise<ChangeOutcome>
  suppress(notification: string, reason: 'hard bounce' | 'complaint'): Promise<void>
  /** Called once, when the last note of a kind that is kept was recorded. */
  onLastNote(notification: string, kind: Report['kind']): void
}

/** Of each kind. Anybody who knows the address may write without end; two people may write the same words. */
export const RETURNED_NOTES: NoteLimit = { most: 100, once: false }

/** Resolves once everything is committed; only then may the sending server forget the message. */
export type TakeReturn = (notification: string, report: Report) => Promise<void>

export const createReturns =
  ({ clock, record, suppress, onLastNote }: ReturnParts): TakeReturn =>
  async (notification, report) => {
    for (const { suppression, type, data } of factsOf(report)) {
      if (suppression !== undefined) await suppress(notification, suppression)
      const fact: Fact = { channel: 'email', at: new Date(clock()), source: `report:${report.kind}`, type, data }
      const outcome = await record({ kind: 'fact', notification, fact, repeatable: RETURNED_NOTES })
      if (outcome === 'last note') onLastNote(notification, report.kind)
    }
  }

type ReturnFact = Pick<Fact, 'type' | 'data'> & { suppression?: 'hard bounce' | 'complaint' }

function factsOf(report: Report): ReturnFact[] {
  switch (report.kind) {
    case 'dsn':
      return report.entries.map(fromEntry)
    case 'mdn': {
      const { disposition, automatic } = report
      // An automatic receipt proves that the message arrived, not that a person saw it.
      const type = disposition === 'displayed' && !automatic ? 'read' : 'note'
      return [{ type, data: { by: 'mdn', disposition, automated: automatic } }]
    }
    case 'complaint':
      return [{ type: 'note', data: { complaint: report.feedbackType }, suppression: 'complaint' }]
    case 'reply':
      return [{ type: 'note', data: { reply: report.text } }]
    case 'automatic':
      return [{ type: 'note', data: { automated: true, reply: true } }]
    case 'unreadable':
      return [{ type: 'note', data: { unreadable: true } }]
  }
}

function fromEntry({ action, status, diagnostic, finalRecipient }: DeliveryEntry): ReturnFact {
  const data = { status, diagnostic, finalRecipient }
  // "relayed": the next server accepted the message and sends no reports, so no further report will come.
  if (action === 'delivered' || action === 'relayed') return { type: 'delivered', data: { ...data, action } }
  if (action !== 'failed') return { type: 'note', data: { ...data, action } }
  const reason = reasonOfStatus(status) ?? diagnostic
  return {
    type: 'failed',
    data: { ...data, failure: 'bounced', ...(reason === null ? {} : { failureDetail: reason }) },
    ...(isAddressGone(status) ? { suppression: 'hard bounce' } : {}),
  }
}

/** RFC 3463 and 7505: these codes concern the recipient's address or mailbox itself. A full mailbox or a policy may change. */
const isAddressGone = (status: string | null): boolean => status !== null && /^5\.(1\.(1|2|3|6|10)|2\.1)$/.test(status)
