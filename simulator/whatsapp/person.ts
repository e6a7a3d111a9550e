import type { Clock } from '../../src/domain/clock.js'
import { newId } from '../../src/domain/id.js'
import type { Callbacks } from '../callbacks.js'
import type { DeskAction } from '../desk.js'
import type { FaultSwitch } from '../faults.js'
import { addReport, type Report } from '../message.js'
import { Refused } from '../refused.js'
import type { Visitor } from '../visitor.js'
import type { Act, Fate } from './fates.js'
import { replyCallback, statusCallback } from './reports.js'
import type { TemplateMessage } from './template-message.js'

const REPLY_TEXT = 'Recebido, obrigado.'
const BUTTON_TEXT = 'Confirmo'

/** What people may make the phone, its owner and the carrier do by hand. */
export const ACTIONS = {
  deliver: { label: 'Avisar entrega', act: { act: 'delivered' } },
  read: { label: 'Avisar leitura', act: { act: 'read' } },
  fail: { label: 'Avisar falha', act: { act: 'failed', code: 131026 } },
  open: { label: 'Abrir o link', act: { act: 'open' } },
  scan: { label: 'Passar o robô', act: { act: 'scan' } },
  button: { label: 'Tocar no botão', act: { act: 'button' } },
  reply: { label: 'Responder', act: { act: 'reply', quoting: true }, text: { label: 'Texto da resposta', value: REPLY_TEXT } },
} as const satisfies Record<string, DeskAction & { act: Act }>

export type Action = keyof typeof ACTIONS

const MAX_TIMERS = 20_000

export interface PersonParts {
  callbacks: Callbacks
  visitor: Visitor
  faults: FaultSwitch
  clock: Clock
}

/** Whoever holds the phone, and what the carrier tells of it. */
export class Person {
  readonly #parts: PersonParts
  readonly #timers = new Set<NodeJS.Timeout>()

  constructor(parts: PersonParts) {
    this.#parts = parts
  }

  /** Lives the fate of a message that was taken. */
  receive(message: TemplateMessage, fate: Fate): void {
    for (const { act, afterMs } of fate.steps) {
      if (!isBrowsing(act) || this.linkOf(message) !== null) this.#perform(message, act, afterMs)
    }
  }

  async act(message: TemplateMessage, action: Action, text?: string): Promise<Report> {
    const { act } = ACTIONS[action]
    if (isBrowsing(act) && this.linkOf(message) === null) throw new Refused(409, 'Esta mensagem não tem link.')
    return this.#perform(message, act, 0, text)
  }

  /** The link that the message shows: in its text, or behind its button, whose address only the carrier's template knows. */
  linkOf({ body, links: [suffix] }: TemplateMessage): string | null {
    const written = body.flatMap(({ text }) => text.match(/https?:\/\/[^\s"<>]+/g) ?? [])[0]
    const base = this.#parts.callbacks.route?.base
    if (written !== undefined || suffix === undefined || base === undefined) return written ?? null
    return `${base.replace(/\/callbacks\/simulator$/, '')}/s/${encodeURIComponent(suffix)}`
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer)
  }

  #perform(message: TemplateMessage, act: Act, afterMs: number, text = REPLY_TEXT): Report {
    const { callbacks, faults } = this.#parts
    const telling = { message, faults, type: act.act, afterMs }
    switch (act.act) {
      case 'open':
      case 'scan':
        return this.#browse(message, act.act, afterMs)
      case 'reply':
      case 'button': {
        const button = act.act === 'button'
        const saying = { text: button ? BUTTON_TEXT : text, button, quoting: button || (act.act === 'reply' && act.quoting) }
        return callbacks.send({ ...telling, compose: (route, stamp) => replyCallback(message, saying, route, stamp) })
      }
      default:
        return callbacks.send({
          ...telling,
          status: act.act === 'failed' ? String(act.code) : null,
          compose: (route, stamp) => statusCallback(message, act, route, stamp),
        })
    }
  }

  #browse(message: TemplateMessage, type: 'open' | 'scan', afterMs: number): Report {
    const { clock, visitor } = this.#parts
    const report = addReport(message, { id: newId(clock()), at: new Date(clock() + afterMs) }, type)
    const conclude = (state: Report['state'], detail: string): void =>
      void Object.assign(report, { state, detail, doneAt: new Date(clock()) })
    if (this.#timers.size >= MAX_TIMERS) {
      conclude('expired', 'Visitas demais à espera.')
      return report
    }
    const timer = setTimeout(async () => {
      this.#timers.delete(timer)
      const url = this.linkOf(message)
      if (url === null) return conclude('refused', 'A mensagem não tem link.')
      const { done, detail } =
        type === 'open' ? await visitor.open(url) : await visitor.visit({ method: 'GET', url, as: 'preview' })
      conclude(done ? 'done' : 'refused', detail)
    }, afterMs)
    this.#timers.add(timer)
    return report
  }
}

const isBrowsing = ({ act }: Act): boolean => act === 'open' || act === 'scan'
