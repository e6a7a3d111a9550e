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

/** Of each kind. Anybody who knows the address may write for ever; two people may write the same words. */
export const RETURNED_NOTES: NoteLimit = { most: 100, once: false }

/** Resolves once everything is committed; only then may the sending server forget the message. */
export type TakeReturn = (notification: string, report: Report) => Promise<void>

export const createReturns =
  (parts: ReturnParts): TakeReturn =>
  (notification, report) =>
    takeReturn(notification, report, parts)

async function takeReturn(notification: string, report: Report, parts: ReturnParts): Promise<void> {
  const source = `report:${report.kind}`
  for (const { suppression, type, data } of factsOf(report)) {
    if (suppression !== null) await parts.suppress(notification, suppression)
    const fact: Fact = { channel: 'email', at: new Date(parts.clock()), source, type, data }
    const outcome = await parts.record({ kind: 'fact', notification, fact, repeatable: RETURNED_NOTES })
    if (outcome === 'last note') parts.onLastNote(notification, report.kind)
  }
}

type ReturnFact = Pick<Fact, 'type' | 'data'> & { suppression: 'hard bounce' | 'complaint' | null }

function factsOf(report: Report): ReturnFact[] {
  switch (report.kind) {
    case 'dsn':
      return report.entries.map(fromEntry)
    case 'mdn':
      // An automatic receipt proves that the message arrived, not that a person saw it.
      return [
        {
          type: report.disposition === 'displayed' && !report.automatic ? 'read' : 'note',
          data: { by: 'mdn', disposition: report.disposition, automated: report.automatic },
          suppression: null,
        },
      ]
    case 'complaint':
      return [{ type: 'note', data: { complaint: report.feedbackType }, suppression: 'complaint' }]
    case 'reply':
      return [{ type: 'note', data: { reply: report.text }, suppression: null }]
    case 'automatic':
      return [{ type: 'note', data: { automated: true, reply: true }, suppression: null }]
    case 'unreadable':
      return [{ type: 'note', data: { unreadable: true }, suppression: null }]
  }
}

function fromEntry({ action, status, diagnostic, finalRecipient }: DeliveryEntry): ReturnFact {
  const data = { status, diagnostic, finalRecipient }
  // "relayed": the next server accepted the message and sends no reports, so no further report will come.
  if (action === 'delivered' || action === 'relayed') return { type: 'delivered', data: { ...data, action }, suppression: null }
  if (action !== 'failed') return { type: 'note', data: { ...data, action }, suppression: null }
  const reason = reasonOfStatus(status) ?? diagnostic
  return {
    type: 'failed',
    data: { ...data, failure: 'bounced', ...(reason === null ? {} : { failureDetail: reason }) },
    suppression: isAddressGone(status) ? 'hard bounce' : null,
  }
}

/** RFC 3463 and 7505: these codes concern the recipient's address or mailbox itself. A full mailbox or a policy may change. */
const isAddressGone = (status: string | null): boolean => status !== null && /^5\.(1\.(1|2|3|6|10)|2\.1)$/.test(status)
