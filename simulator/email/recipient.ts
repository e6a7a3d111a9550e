import type { ChannelAction } from '../channel.js'
import type { FaultSwitch } from '../faults.js'
import type { Inbox } from '../inbox.js'
import type { Report, Stamp } from '../message.js'
import { SimulatorError } from '../simulator-error.js'
import { SCANNER, type Visitor, type VisitResult } from '../visitor.js'
import { linksIn, readContent, trackingImageIn } from './content.js'
import { type Act, type Fate, UNKNOWN_MAILBOX } from './fates.js'
import type { REPORT_LABELS } from './labels.js'
import { findHeader, type Mail, receiptAddress } from './mail.js'
import type { Outbox } from './outbox.js'
import { awayMail, complaintReport, deliveryReport, dispositionReport, type Mailing, replyMail } from './reports.js'

const REPLY_TEXT = 'Recebido, obrigado.'

export const ACTIONS = {
  deliver: { label: 'Avisar entrega', act: { act: 'delivered' } },
  bounce: { label: 'Devolver', act: { act: 'failed', ...UNKNOWN_MAILBOX } },
  open: { label: 'Abrir', act: { act: 'open' } },
  reply: { label: 'Responder', act: { act: 'reply' }, text: { label: 'Texto da resposta', value: REPLY_TEXT } },
  confirm: { label: 'Confirmar leitura', act: { act: 'confirm' } },
  away: { label: 'Resposta automática', act: { act: 'away' } },
  complain: { label: 'Marcar como spam', act: { act: 'complain' } },
  scan: { label: 'Passar o robô', act: { act: 'scan' } },
} as const satisfies Record<string, ChannelAction & { act: Act }>

export type Action = keyof typeof ACTIONS

const DELIVERED = { status: '2.1.5', diagnostic: '250 2.1.5 Entregue na caixa postal' }
/** NOTIFY keywords of RFC 3461. Without NOTIFY, failures and delays are reported and successes are not. */
const KEYWORDS = { delivered: 'SUCCESS', failed: 'FAILURE', delayed: 'DELAY' }
const DEFAULT_NOTIFY = ['FAILURE', 'DELAY']
/** Larger originals come back as headers alone, as Postfix does (bounce_size_limit). */
const MAX_RETURNED = 50_000
const MAX_LINKS = 50
const MAIL_PROGRAM = {
  'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Thunderbird/140.4.0',
  accept: 'image/avif,image/webp,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5',
  'accept-language': 'pt-BR,pt;q=0.9',
}

export interface RecipientParts {
  inbox: Inbox
  outbox: Outbox
  visitor: Visitor
  faults: FaultSwitch
}

/** The recipient of a mail, with its server and its mail program. */
export class Recipient {
  readonly #parts: RecipientParts

  constructor(parts: RecipientParts) {
    this.#parts = parts
  }

  receive(mail: Mail, fate: Fate): void {
    for (const { act, afterMs } of fate.steps) if (objection(mail, act) === null) this.#perform(mail, act, afterMs)
  }

  async act(mail: Mail, action: Action, text?: string): Promise<Report> {
    const { act } = ACTIONS[action]
    const reason = objection(mail, act) ?? (act.act === 'open' ? await this.#imageObjection(mail) : null)
    if (reason !== null) throw new SimulatorError(409, reason)
    return this.#perform(mail, act, 0, text)
  }

  #perform(mail: Mail, act: Act, afterMs: number, text = REPLY_TEXT): Report {
    const { visitor } = this.#parts
    const send = (type: keyof typeof REPORT_LABELS, compose: (stamp: Stamp) => Mailing, status: string | null = null): Report =>
      this.#parts.outbox.send({ message: mail, faults: this.#parts.faults, type, status, afterMs }, compose)
    switch (act.act) {
      case 'open':
        return visitor.schedule(mail, 'open', afterMs, () => this.#open(mail))
      case 'scan':
        return visitor.schedule(mail, 'scan', afterMs, () => this.#scan(mail))
      case 'reply':
        return send('reply', stamp => replyMail(mail, stamp, text))
      case 'away':
        return send('away', stamp => awayMail(mail, stamp))
      case 'complain':
        return send('complaint', stamp => complaintReport(mail, stamp))
      case 'confirm':
        return send('confirmation', stamp => dispositionReport(mail, stamp))
      default: {
        const facts = { action: act.act, ...(act.act === 'delivered' ? DELIVERED : act) }
        const compose = (stamp: Stamp): Mailing => deliveryReport(mail, facts, stamp, this.#original(mail, facts.action))
        return send(act.act, compose, facts.status)
      }
    }
  }

  #original(mail: Mail, action: string): string | null {
    if (action !== 'failed' || mail.envelope.ret === 'HDRS') return null
    const raw = this.#parts.inbox.find(mail.id)?.raw
    return raw === undefined || raw.length > MAX_RETURNED ? null : raw.toString('utf8')
  }

  async #html(mail: Mail): Promise<string> {
    const stored = this.#parts.inbox.find(mail.id)
    return stored === null ? '' : ((await readContent(stored.raw)).html ?? '')
  }

  async #imageObjection(mail: Mail): Promise<string | null> {
    return trackingImageIn(await this.#html(mail)) === null ? NO_IMAGE : null
  }

  async #open(mail: Mail): Promise<VisitResult> {
    const image = trackingImageIn(await this.#html(mail))
    if (image === null) return { done: false, detail: NO_IMAGE }
    return this.#parts.visitor.visit({ method: 'GET', url: image, headers: MAIL_PROGRAM })
  }

  async #scan(mail: Mail): Promise<VisitResult> {
    const html = await this.#html(mail)
    const image = trackingImageIn(html)
    const urls = [...(image === null ? [] : [image]), ...linksIn(html)].slice(0, MAX_LINKS)
    const results: VisitResult[] = []
    for (const url of urls) {
      for (const method of ['HEAD', 'GET'] as const) {
        results.push(await this.#parts.visitor.visit({ method, url, headers: SCANNER }))
      }
    }
    const details = results.map(({ detail }) => detail).join('\n')
    return { done: results.some(({ done }) => done), detail: details || 'A mensagem não tem links nem imagem.' }
  }
}

const NO_IMAGE = 'A mensagem não tem imagem de rastreamento (uma imagem cujo caminho contém /o/).'

/** Why a real server or mail program would not do this for this mail, or null when it would. */
function objection(mail: Mail, act: Act): string | null {
  const { from, notify } = mail.envelope
  switch (act.act) {
    case 'open':
    case 'scan':
      return null
    case 'reply':
      return from === '' && mail.from === '' ? 'A mensagem não tem remetente a quem responder.' : null
    case 'confirm':
      return receiptAddress(mail) === null
        ? 'O remetente não pediu confirmação de leitura (Disposition-Notification-To): nenhum programa de e-mail a manda.'
        : null
    case 'complain':
    case 'away':
      if (from === '') return 'A mensagem tem remetente vazio (<>): ninguém responde a ela automaticamente.'
      // RFC 3834, 2: automatic replies to automatic mail would never end.
      return act.act === 'away' && !['no', null].includes(findHeader(mail.header, 'auto-submitted'))
        ? 'A mensagem é automática: não há resposta automática a ela.'
        : null
    default:
      if (from === '') return 'A mensagem tem remetente vazio (<>): não há aviso a mandar.'
      return (notify ?? DEFAULT_NOTIFY).includes(KEYWORDS[act.act])
        ? null
        : `O remetente não pediu este aviso (NOTIFY=${notify?.join(',') ?? 'ausente'}).`
  }
}
