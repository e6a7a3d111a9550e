import PostalMime, { type Attachment, type Email } from 'postal-mime'
import type { Composer } from '../message/composer.js'
import { textFromHtml } from '../message/text.js'
import { readPlainBounce } from './plain-bounce.js'
import { withoutQuotedText } from './reply-text.js'
import { type Fields, readFields } from './report-fields.js'

/** A message that came back to the envelope sender of a delivery. */
export type Report =
  /** A delivery status notification with one entry per recipient (RFC 3464, or a bounce in plain text). */
  | { kind: 'dsn'; entries: DeliveryEntry[] }
  /** A reading receipt (RFC 8098). automatic: a program sent it without the person's action. */
  | { kind: 'mdn'; disposition: Disposition; automatic: boolean }
  /** The recipient marked the message as spam (RFC 5965). */
  | { kind: 'complaint'; feedbackType: string }
  /** An automatic answer, such as an absence notice or a ticket system's confirmation. */
  | { kind: 'automatic' }
  /** A person's answer, without the quoted message. */
  | { kind: 'reply'; text: string }
  | { kind: 'unreadable' }

export interface DeliveryEntry {
  action: 'delivered' | 'relayed' | 'failed' | 'delayed' | 'expanded'
  /** Enhanced status code, RFC 3463. */
  status: string | null
  diagnostic: string | null
  finalRecipient: string | null
}

type Disposition = 'displayed' | 'deleted' | 'dispatched' | 'processed' | 'other'

/**
 * Only the first part of a message is read: a report precedes the message that it returns, and an answer precedes the quoted
 * text. The parser takes up to 30 µs per line, so a mebibyte of empty lines would block the event loop for seconds.
 */
export const REPORT_BYTES = 262_144
const MAX_LINES = 5_000
const MAX_HTML = 65_536
const MAX_ENTRIES = 50
const MAX_DIAGNOSTIC = 1_000

/** 64 KB of HTML take `toText` up to 150 ms, so the caller passes a version that works in a thread. */
export async function readReport(raw: Buffer, toText: Composer['toText'] = textFromHtml): Promise<Report> {
  const email = await parse(raw)
  if (email === null) return { kind: 'unreadable' }
  const part = (type: RegExp): Fields[] | null => {
    const found = email.attachments.find(attachment => type.test(attachment.mimeType))
    return found === undefined ? null : readFields(textOf(found))
  }
  const delivery = part(/^message\/(global-)?delivery-status$/)
  const entries = delivery === null ? [] : readEntries(delivery)
  if (entries.length > 0) return { kind: 'dsn', entries }
  const disposition = part(/^message\/(global-)?disposition-notification$/)
  if (disposition !== null) return readDisposition(disposition)
  const feedback = part(/^message\/feedback-report$/)
  if (feedback !== null) return { kind: 'complaint', feedbackType: find(feedback, 'feedback-type')?.toLowerCase() ?? 'other' }
  const text = email.text?.trim() || (await toText((email.html ?? '').slice(0, MAX_HTML)))
  const bounce = readPlainBounce(email, text)
  if (bounce !== null) return { kind: 'dsn', entries: [bounce] }
  if (isAutomatic(email)) return { kind: 'automatic' }
  return { kind: 'reply', text: withoutQuotedText(text) }
}

async function parse(raw: Buffer): Promise<Email | null> {
  try {
    return await PostalMime.parse(beginning(raw), {
      forceRfc822Attachments: true,
      maxRfc822NestingDepth: 0,
      maxNestingDepth: 20,
      maxHeadersSize: 262_144,
    })
  } catch {
    return null
  }
}

function beginning(raw: Buffer): Buffer {
  let end = -1
  for (let line = 0; line < MAX_LINES; line++) {
    const next = raw.indexOf(0x0a, end + 1)
    if (next === -1 || next >= REPORT_BYTES) return raw.subarray(0, REPORT_BYTES)
    end = next
  }
  return raw.subarray(0, end + 1)
}

const textOf = ({ content }: Attachment): string =>
  typeof content === 'string' ? content : Buffer.from(content as ArrayBuffer).toString('utf8')

const find = (groups: Fields[], name: string): string | null =>
  groups.map(group => group.get(name)).find(value => value !== undefined) ?? null

const actions = new Map<string, DeliveryEntry['action']>(
  (['delivered', 'relayed', 'failed', 'delayed', 'expanded'] as const).map(action => [action, action]),
)

function readEntries(groups: Fields[]): DeliveryEntry[] {
  return groups
    .filter(group => group.has('action') || group.has('status'))
    .slice(0, MAX_ENTRIES)
    .flatMap(group => {
      const status = /[245]\.\d{1,3}\.\d{1,3}/.exec(group.get('status') ?? '')?.[0] ?? null
      const word = /[a-z]+/i.exec(group.get('action') ?? '')?.[0]?.toLowerCase()
      // Some servers omit the action; the class of the status code implies it.
      const action = actions.get(word ?? '') ?? ({ '2': 'delivered', '4': 'delayed', '5': 'failed' } as const)[status?.[0] ?? '']
      if (action === undefined) return []
      const diagnostic = group.get('diagnostic-code')?.replace(/^\s*[\w-]+\s*;\s*/, '')
      return [
        {
          action,
          status,
          diagnostic: diagnostic === undefined ? null : diagnostic.slice(0, MAX_DIAGNOSTIC),
          finalRecipient: address(group.get('final-recipient') ?? group.get('original-recipient')),
        },
      ]
    })
}

/** Reads "rfc822; <a@b>" as a@b. */
const address = (field: string | undefined): string | null =>
  field
    ?.replace(/^\s*[\w-]+\s*;/, '')
    .replace(/[<>\s]/g, '')
    .slice(0, 320) || null

const dispositions = new Set<string>(['displayed', 'deleted', 'dispatched', 'processed'])

/** "manual-action/MDN-sent-manually; displayed/error" */
function readDisposition(groups: Fields[]): Report {
  const field = (find(groups, 'disposition') ?? '').toLowerCase().replace(/\s/g, '')
  const [mode = '', type = ''] = field.split(';')
  const word = type.split('/')[0]!
  return {
    kind: 'mdn',
    disposition: dispositions.has(word) ? (word as Disposition) : 'other',
    automatic: /automatic-action|sent-automatically/.test(mode),
  }
}

/** Reads the header of RFC 3834 and the older customs of mail programs. */
function isAutomatic(email: Email): boolean {
  return email.headers.some(({ key, value }) => {
    switch (key) {
      case 'auto-submitted':
        return !/^\s*no\b/i.test(value)
      case 'precedence':
        return /^\s*(auto_reply|bulk|junk|list)\b/i.test(value)
      case 'x-autoreply':
      case 'x-autorespond':
      case 'x-autoresponse':
      case 'x-auto-reply-from':
        return !/^\s*no\b/i.test(value)
      case 'subject':
        return /^\s*(resposta autom[áa]tica|automatic reply|auto(matic)? ?-?(reply|response)|out of (the )?office|fora do escrit[óo]rio|aus[êe]ncia tempor[áa]ria)\b/i.test(
          email.subject ?? '',
        )
      default:
        return false
    }
  })
}
