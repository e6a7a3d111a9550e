import type { Callbacks } from '../callbacks.js'
import type { ChannelAction } from '../channel.js'
import type { FaultSwitch } from '../faults.js'
import type { Report } from '../message.js'
import { SimulatorError } from '../simulator-error.js'
import type { Visitor, VisitResult } from '../visitor.js'
import type { Act, Fate } from './fates.js'
import { replyCallback, statusCallback } from './reports.js'
import type { TemplateMessage } from './template-message.js'

const REPLY_TEXT = 'Recebido, obrigado.'
const BUTTON_TEXT = 'Confirmo'
/** The app loads a link to draw its preview. */
const LINK_PREVIEW = { 'user-agent': 'WhatsApp/2.25.20.80 A', accept: '*/*' }

export const ACTIONS = {
  deliver: { label: 'Avisar entrega', act: { act: 'delivered' } },
  read: { label: 'Avisar leitura', act: { act: 'read' } },
  fail: { label: 'Avisar falha', act: { act: 'failed', code: 131026 } },
  open: { label: 'Abrir o link', act: { act: 'open' } },
  scan: { label: 'Passar o robô', act: { act: 'scan' } },
  button: { label: 'Tocar no botão', act: { act: 'button' } },
  reply: { label: 'Responder', act: { act: 'reply', quoting: true }, text: { label: 'Texto da resposta', value: REPLY_TEXT } },
} as const satisfies Record<string, ChannelAction & { act: Act }>

export type Action = keyof typeof ACTIONS

export interface RecipientParts {
  callbacks: Callbacks
  visitor: Visitor
  faults: FaultSwitch
}

export class Recipient {
  readonly #parts: RecipientParts

  constructor(parts: RecipientParts) {
    this.#parts = parts
  }

  receive(message: TemplateMessage, fate: Fate): void {
    for (const { act, afterMs } of fate.steps) {
      if (!needsLink(act) || this.linkOf(message) !== null) this.#perform(message, act, afterMs)
    }
  }

  async act(message: TemplateMessage, action: Action, text?: string): Promise<Report> {
    const { act } = ACTIONS[action]
    if (needsLink(act) && this.linkOf(message) === null) throw new SimulatorError(409, 'Esta mensagem não tem link.')
    return this.#perform(message, act, 0, text)
  }

  /** The link in the text, else the link of the button. Only the approved template has the button's whole address. */
  linkOf({ body, links: [suffix] }: TemplateMessage): string | null {
    const written = body.flatMap(({ text }) => text.match(/https?:\/\/[^\s"<>]+/g) ?? [])[0]
    const base = this.#parts.callbacks.route?.base
    if (written !== undefined || suffix === undefined || base === undefined) return written ?? null
    return `${base.replace(/\/callbacks\/simulator$/, '')}/s/${encodeURIComponent(suffix)}`
  }

  #perform(message: TemplateMessage, act: Act, afterMs: number, text = REPLY_TEXT): Report {
    const { callbacks, visitor, faults } = this.#parts
    const report = { message, faults, type: act.act, afterMs }
    switch (act.act) {
      case 'open':
        return visitor.schedule(message, 'open', afterMs, () => this.#visit(message, url => visitor.open(url)))
      case 'scan':
        return visitor.schedule(message, 'scan', afterMs, () =>
          this.#visit(message, url => visitor.visit({ method: 'GET', url, headers: LINK_PREVIEW })),
        )
      case 'reply':
      case 'button': {
        const button = act.act === 'button'
        const reply = { text: button ? BUTTON_TEXT : text, button, quoting: button || (act.act === 'reply' && act.quoting) }
        return callbacks.send({ ...report, compose: (route, stamp) => replyCallback(message, reply, route, stamp) })
      }
      default:
        return callbacks.send({
          ...report,
          status: act.act === 'failed' ? String(act.code) : null,
          compose: (route, stamp) => statusCallback(message, act, route, stamp),
        })
    }
  }

  async #visit(message: TemplateMessage, visit: (url: string) => Promise<VisitResult>): Promise<VisitResult> {
    const url = this.linkOf(message)
    return url === null ? { done: false, detail: 'A mensagem não tem link.' } : visit(url)
  }
}

const needsLink = ({ act }: Act): boolean => act === 'open' || act === 'scan'
