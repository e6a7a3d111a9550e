import { StringDecoder } from 'node:string_decoder'
import { cutText } from '../../../domain/text/text.js'
import { SendError, type SendErrorKind } from '../../provider.js'
import { findStatus, reasonOfStatus } from '../status-code.js'

/** One reply of an SMTP server (RFC 5321 4.2). */
export interface Reply {
  code: number
  /** All lines with their codes, without control characters. */
  text: string
  /** The lines without their codes. */
  lines: string[]
}

/** RFC 5321 4.5.3.1.5 allows 512 octets a line; some servers write more. */
const MAX_LINE = 4_096
const MAX_LINES = 200
const MAX_ANSWER = 1_000

/** Assembles replies from the bytes of a connection. Throws when the server breaks the grammar of SMTP. */
export class ReplyReader {
  /** Keeps a character that is split between two reads together. */
  readonly #decoder = new StringDecoder('utf8')
  #rest = ''
  #lines: string[] = []

  get isIncomplete(): boolean {
    return this.#rest !== '' || this.#lines.length > 0
  }

  *read(bytes: Buffer): Generator<Reply> {
    // Replies are ASCII, or UTF-8 with SMTPUTF8.
    const text = this.#rest + this.#decoder.write(bytes)
    let start = 0
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      const line = text.slice(start, text[end - 1] === '\r' ? end - 1 : end)
      start = end + 1
      if (!/^[2-5]\d\d(?:[ -]|$)/.test(line) || line.length > MAX_LINE) throw new Error('not an SMTP reply')
      this.#lines.push(line)
      if (this.#lines.length > MAX_LINES) throw new Error('an SMTP reply without end')
      if (line[3] === '-') continue
      yield createReply(this.#lines)
      this.#lines = []
    }
    this.#rest = text.slice(start)
    if (this.#rest.length > MAX_LINE) throw new Error('an SMTP reply line without end')
  }
}

function createReply(lines: string[]): Reply {
  // PostgreSQL refuses to store a NUL, and other control characters would disturb the timeline.
  const clean = lines.map(line => line.replace(/[\u0000-\u001f\u007f-\u009f]/g, ' ').toWellFormed())
  return {
    code: Number(clean.at(-1)!.slice(0, 3)),
    text: cutText(clean.join('\n'), MAX_ANSWER),
    lines: clean.map(line => line.slice(4)),
  }
}

/**
 * The step of the conversation that the server refused. Before a transaction begins, a refusal concerns our account or the
 * connection and not the message, so the message is retried.
 */
export type Stage = 'greeting' | 'hello' | 'tls' | 'auth' | 'sender' | 'recipient' | 'data'

export const isInTransaction = (stage: Stage): boolean => ['sender', 'recipient', 'data'].includes(stage)

const refused: Record<Stage, string> = {
  greeting:
    'O servidor de e-mail recusou a conexão. Confira se ele aceita o endereço IP desta máquina e, num relay, a porta em EMAIL_URL.',
  hello:
    'O servidor de e-mail recusou a apresentação (EHLO). Confira o nome com que EMAIL_URL nos apresenta (name ou mx://nome).',
  tls: 'O servidor de e-mail recusou a conexão segura (STARTTLS). Confira a porta e a opção tls em EMAIL_URL.',
  auth: 'O servidor de e-mail recusou o usuário ou a senha. Confira-os em EMAIL_URL.',
  sender: 'O servidor de e-mail recusou o remetente.',
  recipient: 'O servidor de e-mail recusou o destinatário.',
  data: 'O servidor de e-mail recusou a mensagem.',
}

/** A negative reply of a server. */
export class SmtpRefusal extends SendError {
  readonly stage: Stage
  readonly code: number

  constructor(stage: Stage, code: number, ...rest: ConstructorParameters<typeof SendError>) {
    super(...rest)
    this.stage = stage
    this.code = code
  }
}

export function refusal(reply: Reply, stage: Stage): SmtpRefusal {
  const kind = kindOf(reply, stage)
  const status = findStatus(reply.lines[0] ?? '')
  const later = kind === 'throttled' ? 'O servidor de e-mail pediu para enviar mais devagar.' : null
  const retryAfterMs = kind === 'permanent' ? null : requestedDelayMs(reply.text)
  const reason = later ?? (isInTransaction(stage) ? reasonOfStatus(status) : null) ?? refused[stage]
  return new SmtpRefusal(stage, reply.code, kind, reason, { answer: reply.text, retryAfterMs })
}

const THROTTLING = /\b(rate|throttl|too (many|fast|much)|slow down|exceed|limit|excessive|congest|overload|busy|back ?off)/i
/** Greylisting and full mailboxes concern one recipient and do not slow down the others. */
const ONE_RECIPIENT = /gr[ea]y-?list|quota|mailbox|over ?size|storage/i

function kindOf({ code, text, lines }: Reply, stage: Stage): SendErrorKind {
  if (code >= 500 && code < 600) {
    // 530 and 535 mean that our account is not signed in, which the operator can repair.
    return !isInTransaction(stage) || code === 530 || code === 535 ? 'temporary' : 'permanent'
  }
  const status = findStatus(lines[0] ?? '')
  // 4.1 concerns one address and 4.2 one mailbox.
  if (![421, 450, 451, 452].includes(code) || ONE_RECIPIENT.test(text) || /^4\.[12]\./.test(status ?? '')) return 'temporary'
  return THROTTLING.test(text) || status === '4.4.5' || status?.startsWith('4.7.') ? 'throttled' : 'temporary'
}

/** The delay that the server names ("try again in 5 minutes"), at most one day. */
function requestedDelayMs(text: string): number | null {
  const [, amount, unit] = /\bin (\d{1,5}) ?(s|sec|secs|seconds?|m|min|mins|minutes?|h|hours?)\b/i.exec(text) ?? []
  if (amount === undefined || unit === undefined) return null
  const seconds = { s: 1, m: 60, h: 3_600 }[unit[0]!.toLowerCase() as 's' | 'm' | 'h']
  return Math.min(Number(amount) * seconds, 86_400) * 1_000
}
