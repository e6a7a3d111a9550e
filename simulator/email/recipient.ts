import type { Clock } from '../../src/domain/clock.js'
import { newId } from '../../src/domain/id.js'
import type { DeskAction } from '../desk.js'
import type { FaultSwitch } from '../faults.js'
import type { Inbox } from '../inbox.js'
import { addReport, type Report, type Stamp } from '../message.js'
import type { Outbox } from '../outbox.js'
import { Refused } from '../refused.js'
import type { Visitor } from '../visitor.js'
import { linksIn, readContent, trackingImageIn } from './content.js'
import { type Act, type Fate, UNKNOWN_MAILBOX } from './fates.js'
import { findHeader, type Mail, receiptAddress } from './mail.js'
import { awayMail, complaintReport, deliveryReport, dispositionReport, type Mailing, replyMail } from './reports.js'
import type { REPORT_WORDS } from './words.js'

const REPLY_TEXT = 'Recebido, obrigado.'

/** What people may make a recipient do by hand, from the page or the API. */
export const ACTIONS = {
  deliver: { label: 'Avisar entrega', act: { act: 'delivered' } },
  bounce: { label: 'Devolver', act: { act: 'failed', ...UNKNOWN_MAILBOX } },
  open: { label: 'Abrir', act: { act: 'open' } },
  reply: { label: 'Responder', act: { act: 'reply' }, text: { label: 'Texto da resposta', value: REPLY_TEXT } },
  confirm: { label: 'Confirmar leitura', act: { act: 'confirm' } },
  away: { label: 'Resposta automática', act: { act: 'away' } },
  complain: { label: 'Marcar como spam', act: { act: 'complain' } },
  scan: { label: 'Passar o robô', act: { act: 'scan' } },
} as const satisfies Record<string, DeskAction & { act: Act }>

export type Action = keyof typeof ACTIONS

type ReportType = keyof typeof REPORT_WORDS

const DELIVERED = { status: '2.1.5', diagnostic: '250 2.1.5 Entregue na caixa postal' }
/** NOTIFY keywords of RFC 3461. Without NOTIFY, trouble is reported and success is not. */
const KEYWORDS = { delivered: 'SUCCESS', failed: 'FAILURE', delayed: 'DELAY' }
const ASKED_BY_DEFAULT = ['FAILURE', 'DELAY']
/** Larger originals come back as headers alone, as Postfix does (bounce_size_limit). */
const MAX_RETURNED = 50_000
const MAX_LINKS = 50
const MAX_TIMERS = 20_000

export interface RecipientParts {
  inbox: Inbox
  outbox: Outbox
  visitor: Visitor
  faults: FaultSwitch
  clock: Clock
}

export class Recipient {
  readonly #parts: RecipientParts
  readonly #timers = new Set<NodeJS.Timeout>()

  constructor(parts: RecipientParts) {
    this.#parts = parts
  }

  /** Lives the fate of a mail that was taken. */
  receive(mail: Mail, fate: Fate): void {
    for (const { act, afterMs } of fate.steps) if (objection(mail, act) === null) this.#perform(mail, act, afterMs)
  }

  async act(mail: Mail, action: Action, text?: string): Promise<Report> {
    const { act } = ACTIONS[action]
    const reason = objection(mail, act) ?? (act.act === 'open' ? await this.#imageObjection(mail) : null)
    if (reason !== null) throw new Refused(409, reason)
    return this.#perform(mail, act, 0, text)
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer)
  }

  #perform(mail: Mail, act: Act, afterMs: number, text = REPLY_TEXT): Report {
    switch (act.act) {
      case 'open':
        return this.#browse(mail, 'open', afterMs, () => this.#open(mail))
      case 'scan':
        return this.#browse(mail, 'scan', afterMs, () => this.#scan(mail))
      case 'reply':
        return this.#mail(mail, 'reply', afterMs, stamp => replyMail(mail, stamp, text))
      case 'away':
        return this.#mail(mail, 'away', afterMs, stamp => awayMail(mail, stamp))
      case 'complain':
        return this.#mail(mail, 'complaint', afterMs, stamp => complaintReport(mail, stamp))
      case 'confirm':
        return this.#mail(mail, 'confirmation', afterMs, stamp => dispositionReport(mail, stamp))
      default: {
        const facts = { action: act.act, ...(act.act === 'delivered' ? DELIVERED : act) }
        const compose = (stamp: Stamp): Mailing => deliveryReport(mail, facts, stamp, this.#original(mail, facts.action))
        return this.#mail(mail, act.act, afterMs, compose, facts.status)
      }
    }
  }

  #mail(mail: Mail, type: ReportType, afterMs: number, compose: (stamp: Stamp) => Mailing, status: string | null = null): Report {
    const { outbox, faults, clock } = this.#parts
    const delayMs = afterMs + faults.now.lateReportsMs
    const stamp = { id: newId(clock()), at: new Date(clock() + delayMs) }
    const report = addReport(mail, stamp, type, status)
    outbox.add({ report, compose: () => compose(stamp) }, delayMs)
    if (faults.now.duplicateReports) {
      const again = addReport(mail, stamp, type, status)
      outbox.add({ report: again, compose: () => compose(stamp) }, delayMs)
    }
    return report
  }

  #original(mail: Mail, action: string): string | null {
    if (action !== 'failed' || mail.envelope.ret === 'HDRS') return null
    const raw = this.#parts.inbox.find(mail.id)?.raw
    return raw === undefined || raw.length > MAX_RETURNED ? null : raw.toString('utf8')
  }

  #browse(mail: Mail, type: ReportType, afterMs: number, visit: () => Promise<{ done: boolean; detail: string }>): Report {
    const { clock } = this.#parts
    const report = addReport(mail, { id: newId(clock()), at: new Date(clock() + afterMs) }, type)
    const settle = (state: Report['state'], detail: string): void => {
      Object.assign(report, { state, detail, doneAt: new Date(clock()) })
    }
    if (this.#timers.size >= MAX_TIMERS) {
      settle('expired', 'Descartado: visitas demais à espera.')
      return report
    }
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      visit().then(
        ({ done, detail }) => settle(done ? 'done' : 'refused', detail),
        error => settle('refused', (error as Error).message),
      )
    }, afterMs)
    this.#timers.add(timer)
    return report
  }

  async #html(mail: Mail): Promise<string> {
    const kept = this.#parts.inbox.find(mail.id)
    return kept === null ? '' : ((await readContent(kept.raw)).html ?? '')
  }

  async #imageObjection(mail: Mail): Promise<string | null> {
    return trackingImageIn(await this.#html(mail)) === null ? NO_IMAGE : null
  }

  async #open(mail: Mail): Promise<{ done: boolean; detail: string }> {
    const image = trackingImageIn(await this.#html(mail))
    if (image === null) return { done: false, detail: NO_IMAGE }
    return this.#parts.visitor.visit({ method: 'GET', url: image, as: 'mail' })
  }

  async #scan(mail: Mail): Promise<{ done: boolean; detail: string }> {
    const html = await this.#html(mail)
    const image = trackingImageIn(html)
    const urls = [...(image === null ? [] : [image]), ...linksIn(html)].slice(0, MAX_LINKS)
    const details: string[] = []
    let visited = 0
    for (const url of urls) {
      for (const method of ['HEAD', 'GET'] as const) {
        const { done, detail } = await this.#parts.visitor.visit({ method, url, as: 'scanner' })
        if (done) visited++
        details.push(detail)
      }
    }
    return { done: visited > 0, detail: details.length === 0 ? 'A mensagem não tem links nem imagem.' : details.join('\n') }
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
      // RFC 3834, 2: automatic answers to automatic mail would never end.
      return act.act === 'away' && !['no', null].includes(findHeader(mail.header, 'auto-submitted'))
        ? 'A mensagem é automática: não há resposta automática a ela.'
        : null
    default:
      if (from === '') return 'A mensagem tem remetente vazio (<>): não há aviso a mandar.'
      return (notify ?? ASKED_BY_DEFAULT).includes(KEYWORDS[act.act])
        ? null
        : `O remetente não pediu este aviso (NOTIFY=${notify?.join(',') ?? 'ausente'}).`
  }
}
