import { SendError, type SendErrorKind } from '../../provider.js'
import { findStatus, reasonOfStatus } from '../status-code.js'

/** What an SMTP server says (RFC 5321 4.2), and what that means for a message. */
export interface Reply {
  code: number
  /** All its lines as they came, without control characters. */
  text: string
  /** Lines without code, in order. */
  lines: string[]
}

/** RFC 5321 4.5.3.1.5 allows 512 octets a line; some servers write more. */
const MAX_LINE = 4_096
const MAX_LINES = 200
const MAX_ANSWER = 1_000

/** Puts bytes together to replies. A server that breaks the grammar is not understood, and never will be: it throws. */
export class ReplyReader {
  #rest = ''
  #lines: string[] = []

  /** Whether part of a reply is still to come. */
  get isMidway(): boolean {
    return this.#rest !== '' || this.#lines.length > 0
  }

  *read(bytes: Buffer): Generator<Reply> {
    // Server text should be ASCII; UTF-8 is allowed with SMTPUTF8. A character cut between two reads shows as two marks.
    const text = this.#rest + bytes.toString('utf8')
    let start = 0
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      const line = text.slice(start, text[end - 1] === '\r' ? end - 1 : end)
      start = end + 1
      if (!/^[2-5]\d\d(?:[ -]|$)/.test(line) || line.length > MAX_LINE) throw new Error('not an SMTP reply')
      this.#lines.push(line)
      if (this.#lines.length > MAX_LINES) throw new Error('an SMTP reply without end')
      if (line[3] === '-') continue
      yield toReply(this.#lines)
      this.#lines = []
    }
    this.#rest = text.slice(start)
    if (this.#rest.length > MAX_LINE) throw new Error('an SMTP reply line without end')
  }
}

function toReply(lines: string[]): Reply {
  // Control characters do not survive: a NUL could not even be stored.
  const clean = lines.map(line => line.replace(/[\u0000-\u001f\u007f-\u009f]/g, ' ').toWellFormed())
  return {
    code: Number(clean.at(-1)!.slice(0, 3)),
    text: clean.join('\n').slice(0, MAX_ANSWER),
    lines: clean.map(line => line.slice(4)),
  }
}

/**
 * Where a conversation stood. Until the server takes part in a transaction, a refusal is about us or the connection, not
 * about the message: such a message is tried again.
 */
export type Stage = 'connect' | 'greeting' | 'hello' | 'tls' | 'auth' | 'sender' | 'recipient' | 'data'

const NOT_LET_IN =
  'O servidor de e-mail recusou a conexão. Confira se ele aceita o endereço IP desta máquina e, num relay, a porta em EMAIL_URL.'

const refused: Record<Stage, string> = {
  connect: NOT_LET_IN,
  greeting: NOT_LET_IN,
  hello:
    'O servidor de e-mail recusou a apresentação (EHLO). Confira o nome com que EMAIL_URL nos apresenta (name ou mx://nome).',
  tls: 'O servidor de e-mail recusou a conexão segura (STARTTLS). Confira a porta e a opção tls em EMAIL_URL.',
  auth: 'O servidor de e-mail recusou o usuário ou a senha. Confira-os em EMAIL_URL.',
  sender: 'O servidor de e-mail recusou o remetente.',
  recipient: 'O servidor de e-mail recusou o destinatário.',
  data: 'O servidor de e-mail recusou a mensagem.',
}

/** A server's no. */
export class SmtpRefusal extends SendError {
  readonly stage: Stage
  readonly code: number

  constructor(stage: Stage, code: number, ...rest: ConstructorParameters<typeof SendError>) {
    super(...rest)
    this.stage = stage
    this.code = code
  }
}

/** The error that a negative reply stands for. */
export function refusal(reply: Reply, stage: Stage): SmtpRefusal {
  const kind = kindOf(reply, stage)
  const status = findStatus(reply.lines[0] ?? '')
  const later = kind === 'throttled' ? 'O servidor de e-mail pediu para enviar mais devagar.' : null
  const aboutUs = ['greeting', 'hello', 'tls', 'auth'].includes(stage)
  const retryAfterMs = kind === 'permanent' ? null : waitAskedFor(reply.text)
  return new SmtpRefusal(stage, reply.code, kind, later ?? (aboutUs ? null : reasonOfStatus(status)) ?? refused[stage], {
    answer: reply.text,
    ...(retryAfterMs === null ? {} : { retryAfterMs }),
  })
}

const SLOWER = /\b(rate|throttl|too (many|fast|much)|slow down|exceed|limit|excessive|congest|overload|busy|back ?off)/i
/** One mailbox's trouble, or a first visit's wait: no reason to slow down for everybody. */
const NOT_OURS = /gr[ea]y-?list|quota|mailbox|over ?size|storage/i

function kindOf({ code, text, lines }: Reply, stage: Stage): SendErrorKind {
  if (code >= 500 && code < 600) {
    // 530 and 535: not signed in. The operator can mend that; the message is good.
    const ours = !['sender', 'recipient', 'data'].includes(stage) || code === 530 || code === 535
    return ours ? 'temporary' : 'permanent'
  }
  const status = findStatus(lines[0] ?? '')
  // 4.1 and 4.2 are about one address and one mailbox.
  if (![421, 450, 451, 452].includes(code) || NOT_OURS.test(text) || /^4\.[12]\./.test(status ?? '')) return 'temporary'
  return SLOWER.test(text) || status === '4.4.5' || status?.startsWith('4.7.') ? 'throttled' : 'temporary'
}

/** "try again in 5 minutes": a wait of up to a day that the server itself names. */
function waitAskedFor(text: string): number | null {
  const [, amount, unit] = /\bin (\d{1,5}) ?(s|sec|secs|seconds?|m|min|mins|minutes?|h|hours?)\b/i.exec(text) ?? []
  if (amount === undefined || unit === undefined) return null
  const seconds = { s: 1, m: 60, h: 3_600 }[unit[0]!.toLowerCase() as 's' | 'm' | 'h']
  return Math.min(Number(amount) * seconds, 86_400) * 1_000
}
