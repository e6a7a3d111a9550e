import type { Clock } from '../../../domain/clock.js'
import type { Change, ChangeOutcome, NoteLimit } from '../../../domain/delivery/change.js'
import { readReference } from '../../../domain/delivery/reference.js'
import type { Fact, Objection } from '../../../domain/delivery/transition.js'
import { sha256 } from '../../../domain/evidence/evidence.js'
import { hideLinksIn } from '../../../domain/recipient/link.js'
import type { ForwardedReply } from '../forward/forward-store.js'
import { reasonOfStatus } from '../status-code.js'
import type { ReturnAddress } from '../verp.js'
import type { DeliveryEntry, Report } from './reports.js'

export interface ReturnParts {
  clock: Clock
  record(change: Change): Promise<ChangeOutcome>
  /** The address that the e-mail was sent to; null: it is not known. */
  findRecipient(notification: string): Promise<string | null>
  suppress(notification: string, reason: 'hard bounce' | 'complaint'): Promise<void>
  /** Called once the reply is recorded. Safe to call again. */
  forward(notification: string, reply: ForwardedReply): Promise<void>
  /** Called once, when the last note of a kind that is kept was recorded. */
  onLastNote(notification: string, kind: Report['kind']): void
}

/** The limit of notes of each kind. Anybody who knows the address may write without end; two people may write the same words. */
export const RETURNED_NOTES: NoteLimit = { most: 100, once: false }

/**
 * Resolves once everything is committed; only then may the sending server forget the message. `original`: of the message as it came,
 * which is not stored: whoever has it can show that it is the one.
 */
export type TakeReturn = (address: ReturnAddress, report: Report, original?: { sha256: string; size: number }) => Promise<void>

/** Turns messages to an e-mail's return addresses into facts about its delivery. */
export const createReturns =
  ({ clock, record, findRecipient, suppress, forward, onLastNote }: ReturnParts): TakeReturn =>
  async ({ notification, purpose }, report, original) => {
    const recipient = await findRecipient(notification)
    for (const { suppression, type, data } of factsOf(report, { notification, purpose, recipient })) {
      const told = original === undefined ? data : { ...data, original }
      const fact: Fact = { channel: 'email', at: new Date(clock()), source: `report:${report.kind}`, type, data: told }
      const outcome = await record({ kind: 'fact', notification, fact, noteLimit: RETURNED_NOTES })
      if (outcome === 'last note') onLastNote(notification, report.kind)
      // A failure that does not count suppresses nobody. One that is known already does: the process may have died in between.
      const counts = type === 'note' || outcome === 'recorded' || outcome === 'nothing new'
      if (suppression !== undefined && counts) await suppress(notification, suppression)
    }
    // Automatic answers are not forwarded, nor is anything that comes back for a forwarded reply: neither can make a loop.
    if (report.kind === 'reply' && purpose !== 'forward') {
      const { from, files } = report
      await forward(notification, { id: replyId(report), from, text: hideLinksIn(replyText(report)), files })
    }
  }

type ReturnFact = Pick<Fact, 'type' | 'data'> & { suppression?: 'hard bounce' | 'complaint' }
type Expected = ReturnAddress & { recipient: string | null }

function factsOf(report: Report, expected: Expected): ReturnFact[] {
  if (expected.purpose === 'forward') return aboutForwarded(report)
  switch (report.kind) {
    case 'dsn': {
      const ordinal = ordinalIn(report.messages, expected)
      return report.entries.map(entry => checked(fromEntry(entry), ordinal, entry.recipients, expected))
    }
    case 'mdn': {
      const { disposition, automatic, messages, recipients } = report
      const data = { by: 'mdn', disposition, automated: automatic }
      // An automatic receipt proves that the message arrived, not that a person saw it.
      if (disposition !== 'displayed' || automatic) return [{ type: 'note', data }]
      if (expected.purpose !== 'receipt') return [noteOf({ type: 'read', data }, 'not asked for')]
      return [checked({ type: 'read', data }, ordinalIn(messages, expected), recipients, expected)]
    }
    case 'complaint': {
      const { feedbackType, messages, recipients } = report
      const data = { complaint: feedbackType }
      if (ordinalIn(messages, expected) === null) return [{ type: 'note', data: { ...data, because: 'another message' } }]
      if (recipients.length > 0 && !isAmong(recipients, expected))
        return [{ type: 'note', data: { ...data, because: 'another recipient' } }]
      return [{ type: 'note', data, suppression: 'complaint' }]
    }
    case 'reply':
      return [fromReply(report, expected)]
    case 'automatic':
      return [{ type: 'note', data: { automated: true, reply: true } }]
    case 'unreadable':
      return [{ type: 'note', data: { unreadable: true } }]
  }
}

/** What comes back for a forwarded reply says nothing about the notification. */
function aboutForwarded(report: Report): ReturnFact[] {
  const failed = report.kind === 'dsn' ? report.entries.find(({ action }) => action === 'failed') : undefined
  if (failed === undefined) return []
  const { status, diagnostic } = failed
  const reason = reasonOfStatus(status) ?? diagnostic ?? 'O servidor de destino a devolveu.'
  return [{ type: 'note', data: { forwarded: false, reason, status, diagnostic } }]
}

/** Somebody else may have got the message and its address: such a reply is told to the sender, and is not the recipient's. */
function fromReply(reply: Reply, expected: Expected): ReturnFact {
  const { from } = reply
  const files = reply.files.length === 0 ? {} : { files: [...reply.files] }
  if (from === null || !isAmong([from], expected))
    return noteOf({ type: 'answered', data: { reply: replyText(reply), from, ...files } }, 'another recipient')
  return { type: 'answered', data: { answer: replyText(reply), answerId: replyId(reply), ...files } }
}

type Reply = Extract<Report, { kind: 'reply' }>

const replyText = ({ text, files }: Reply): string => text || (files.length === 0 ? '[sem texto]' : `[anexo] ${files.join(', ')}`)

/** The same when the message is delivered twice. */
const replyId = ({ id, from, text }: Reply): string => id ?? sha256(`${from} ${text}`)

/** A report counts only if it names our message and our recipient. */
function checked(fact: ReturnFact, ordinal: number | null, recipients: readonly string[], expected: Expected): ReturnFact {
  if (fact.type === 'note') return fact
  if (ordinal === null) return noteOf(fact, 'another message')
  if (!isAmong(recipients, expected)) return noteOf(fact, 'another recipient')
  return { ...fact, data: { ...fact.data, ordinal } }
}

const noteOf = ({ type, data }: ReturnFact, because: Objection): ReturnFact => ({
  type: 'note',
  data: { ...data, claimed: type, because },
})

/** Which message of the delivery is named; null: none. Our reference is the envelope id and the left side of the Message-ID. */
function ordinalIn(messages: readonly string[], { notification }: Expected): number | null {
  for (const name of messages) {
    const named = readReference(name.split('@', 1)[0]!.toLowerCase())
    if (named?.channel === 'email' && named.notification === notification) return named.ordinal
  }
  return null
}

const isAmong = (recipients: readonly string[], { recipient }: Expected): boolean =>
  recipients.some(named => named.toLowerCase() === recipient?.toLowerCase())

function fromEntry({ action, status, diagnostic, recipients }: DeliveryEntry): ReturnFact {
  const data = { status, diagnostic, finalRecipient: recipients[0] ?? null }
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
