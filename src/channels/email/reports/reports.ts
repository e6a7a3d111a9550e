import PostalMime, { type Attachment, type Email } from 'postal-mime'
import type { Composer } from '../message/composer.js'
import { textFromHtml } from '../message/text.js'
import { readPlainBounce } from './plain-bounce.js'
import { withoutQuotedText } from './reply-text.js'

/**
 * A message that came back to an address of a delivery. Anybody who has seen the address can write to it, so a report also says
 * which message and which recipient it is about. `messages`: envelope ids and Message-IDs.
 */
export type Report =
  /** A delivery status notification with one entry per recipient (RFC 3464, or a bounce in plain text). */
  | { kind: 'dsn'; messages: readonly string[]; entries: readonly DeliveryEntry[] }
  /** A reading receipt (RFC 8098). automatic: a program sent it without the person's action. */
  | {
      kind: 'mdn'
      messages: readonly string[]
      recipients: readonly string[]
      disposition: (typeof DISPOSITIONS)[number] | 'other'
      automatic: boolean
    }
  /** The recipient marked the message as spam (RFC 5965). Providers often leave out who it was. */
  | { kind: 'complaint'; messages: readonly string[]; recipients: readonly string[]; feedbackType: string }
  /** An automatic answer, such as an absence notice or a ticket system's confirmation. */
  | { kind: 'automatic' }
  /** A person's answer, without the quoted message. `id`: its Message-ID. `files`: the names of its attachments, as far as it was read. */
  | { kind: 'reply'; text: string; from: string | null; id: string | null; files: readonly string[] }
  | { kind: 'unreadable' }

export interface DeliveryEntry {
  action: (typeof ACTIONS)[number]
  /** Enhanced status code, RFC 3463. */
  status: string | null
  diagnostic: string | null
  /** Final and original recipient: a mailbox behind an alias reports under its own name. */
  recipients: readonly string[]
}

const ACTIONS = ['delivered', 'relayed', 'failed', 'delayed', 'expanded'] as const
const DISPOSITIONS = ['displayed', 'deleted', 'dispatched', 'processed'] as const

/**
 * Only the first part of a message is read: a report precedes the message that it returns, and an answer precedes the quoted
 * text. The parser takes up to 30 µs per line, so a mebibyte of empty lines would block the event loop for seconds.
 */
export const REPORT_BYTES = 262_144
const MAX_LINES = 5_000
const MAX_HTML = 65_536
const MAX_GROUPS = 60
const MAX_ENTRIES = 50

/** A machine-readable report consists of groups of header fields with an empty line between the groups. Names are in lower case. */
type Fields = Map<string, string>

/** 64 KB of HTML take `toText` up to 400 ms, so the caller passes a version that works in a thread. */
export async function readReport(raw: Buffer, toText: Composer['toText'] = textFromHtml): Promise<Report> {
  const email = await parse(raw)
  if (email === null) return { kind: 'unreadable' }
  const part = (type: RegExp): Fields[] | null => {
    const found = email.attachments.find(attachment => type.test(attachment.mimeType))
    return found === undefined ? null : readFields(textOf(found))
  }
  const delivery = part(/^message\/(global-)?delivery-status$/)
  const entries = delivery === null ? [] : readEntries(delivery)
  if (entries.length > 0) return { kind: 'dsn', messages: [...namesIn(delivery!), ...returnedNames(part)], entries }
  const disposition = part(/^message\/(global-)?disposition-notification$/)
  if (disposition !== null) return readDisposition(disposition, returnedNames(part))
  const feedback = part(/^message\/feedback-report$/)
  if (feedback !== null) return readComplaint(feedback, returnedNames(part))
  const text = email.text?.trim() || (await toText((email.html ?? '').slice(0, MAX_HTML)))
  const bounce = readPlainBounce(email, text)
  if (bounce !== null) return { kind: 'dsn', messages: [...bounce.messages, ...returnedNames(part)], entries: [bounce.entry] }
  if (isAutomatic(email)) return { kind: 'automatic' }
  return readReply(email, withoutQuotedText(text))
}

const MAX_FILES = 20

function readReply({ from, messageId, attachments }: Email, text: string): Report {
  const files = attachments.slice(0, MAX_FILES).map(({ filename, mimeType }) => (filename || mimeType).slice(0, 200))
  return { kind: 'reply', text, from: from?.address || null, id: messageId === undefined ? null : bare(messageId) || null, files }
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

/** The first of two equal fields in a group counts. */
function readFields(text: string): Fields[] {
  const groups: Fields[] = [new Map()]
  let last: string | null = null
  for (const line of text.split(/\r\n|\r|\n/)) {
    const group = groups.at(-1)!
    if (line.trim() === '') {
      last = null
      if (group.size > 0) groups.push(new Map())
      if (groups.length > MAX_GROUPS) break
      continue
    }
    if (/^[ \t]/.test(line) && last !== null) {
      group.set(last, `${group.get(last)} ${line.trim()}`)
      continue
    }
    const colon = line.indexOf(':')
    if (colon < 1) continue
    const name = line.slice(0, colon).trim().toLowerCase()
    // Some servers omit the empty line between recipients; this field starts the next recipient.
    const target: Fields = name === 'final-recipient' && group.has('final-recipient') ? new Map() : group
    if (target !== group) groups.push(target)
    last = target.has(name) ? null : name
    const value = line.slice(colon + 1).replace(/[\u0000-\u001f\u007f]/g, ' ')
    if (last !== null) target.set(name, value.trim())
  }
  return groups.filter(group => group.size > 0)
}

/** RFC 3464, 8098 and 5965; Gmail writes X-Original-Message-ID. */
const NAMES = ['original-envelope-id', 'original-message-id', 'x-original-message-id']

const namesIn = (groups: Fields[]): string[] =>
  NAMES.flatMap(name => {
    const value = find(groups, name)
    return value === null ? [] : [bare(name === 'original-envelope-id' ? fromXtext(value) : value)]
  })

/** The Message-ID of the returned message, or of its headers alone. */
function returnedNames(part: (type: RegExp) => Fields[] | null): string[] {
  const returned = part(/^(message\/(rfc822|global|global-headers)|text\/rfc822-headers)$/)
  const id = returned?.[0]?.get('message-id')
  return id === undefined ? [] : [bare(id)]
}

const bare = (id: string): string => id.replace(/[<>\s]/g, '').slice(0, 320)

/** RFC 3461 4: +XX is a byte. */
const fromXtext = (text: string): string =>
  text.replace(/\+([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))

function readEntries(groups: Fields[]): DeliveryEntry[] {
  return groups
    .filter(group => group.has('action') || group.has('status'))
    .slice(0, MAX_ENTRIES)
    .flatMap(group => {
      const status = /[245]\.\d{1,3}\.\d{1,3}/.exec(group.get('status') ?? '')?.[0] ?? null
      const word = /[a-z]+/i.exec(group.get('action') ?? '')?.[0]?.toLowerCase()
      // Some servers omit the action; the class of the status code implies it.
      const action =
        ACTIONS.find(known => known === word) ?? ({ '2': 'delivered', '4': 'delayed', '5': 'failed' } as const)[status?.[0] ?? '']
      if (action === undefined) return []
      const diagnostic =
        group
          .get('diagnostic-code')
          ?.replace(/^\s*[\w-]+\s*;\s*/, '')
          .slice(0, 1_000) ?? null
      return [{ action, status, diagnostic, recipients: recipientsIn([group]) }]
    })
}

const RECIPIENTS = ['final-recipient', 'original-recipient', 'original-rcpt-to']

const recipientsIn = (groups: Fields[]): string[] => [...new Set(RECIPIENTS.flatMap(name => addresses(find(groups, name))))]

/** Reads "rfc822; <a@b>" as a@b, as it is and as xtext: servers disagree. "utf-8; j\x{E3}o@b" (RFC 6533 3) is jão@b. */
function addresses(field: string | null): string[] {
  const [, type = '', rest = ''] = /^\s*(?:([\w-]+)\s*;)?(.*)$/s.exec(field ?? '') ?? []
  const text = bare(rest)
  if (text === '') return []
  return type.toLowerCase() === 'utf-8' ? [text.replace(/\\x\{([0-9A-F]{1,6})\}/gi, fromHex)] : [text, fromXtext(text)]
}

const fromHex = (_: string, hex: string): string => {
  const code = Number.parseInt(hex, 16)
  return code <= 0x10ffff ? String.fromCodePoint(code) : ''
}

const readComplaint = (groups: Fields[], returned: string[]): Report => ({
  kind: 'complaint',
  messages: [...namesIn(groups), ...returned],
  recipients: recipientsIn(groups),
  feedbackType: find(groups, 'feedback-type')?.toLowerCase() ?? 'other',
})

/** "manual-action/MDN-sent-manually; displayed/error" */
function readDisposition(groups: Fields[], returned: string[]): Report {
  const field = (find(groups, 'disposition') ?? '').toLowerCase().replace(/\s/g, '')
  const [mode = '', type = ''] = field.split(';')
  const word = type.split('/')[0]!
  return {
    kind: 'mdn',
    messages: [...namesIn(groups), ...returned],
    recipients: recipientsIn(groups),
    disposition: DISPOSITIONS.find(known => known === word) ?? 'other',
    automatic: /automatic-action|sent-automatically/.test(mode),
  }
}

const NOT_NO = /^(?!\s*no\b)/i

/** The header of RFC 3834 and the older customs of mail programs. */
const AUTOMATIC = new Map([
  ['auto-submitted', NOT_NO],
  ...['x-autoreply', 'x-autorespond', 'x-autoresponse', 'x-auto-reply-from'].map(key => [key, NOT_NO] as const),
  ['precedence', /^\s*(auto_reply|bulk|junk|list)\b/i],
])
const AUTOMATIC_SUBJECT =
  /^\s*(resposta autom[áa]tica|automatic reply|auto(matic)? ?-?(reply|response)|out of (the )?office|fora do escrit[óo]rio|aus[êe]ncia tempor[áa]ria)\b/i

const isAutomatic = ({ headers, subject }: Email): boolean =>
  AUTOMATIC_SUBJECT.test(subject ?? '') || headers.some(({ key, value }) => AUTOMATIC.get(key)?.test(value))
