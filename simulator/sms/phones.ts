import type { Clock } from '../../src/domain/clock.js'
import { newId } from '../../src/domain/id.js'
import type { DeskAction } from '../desk.js'
import { addReport, type Report } from '../message.js'
import { Refused } from '../refused.js'
import type { Visitor } from '../visitor.js'
import { type Act, type Fate, REPLY_TEXT } from './fates.js'
import { linkIn, type Sms } from './sms.js'
import type { ReportType } from './words.js'

/** What people may make a phone do by hand, from the page or the API. */
export const ACTIONS = {
  deliver: { label: 'Avisar entrega', act: { act: 'delivered' } },
  fail: { label: 'Não entregar', act: { act: 'undelivered' } },
  open: { label: 'Abrir o link', act: { act: 'open' } },
  stop: { label: 'Responder SAIR', act: { act: 'reply', text: 'SAIR' } },
  scan: { label: 'Passar o robô', act: { act: 'scan' } },
  reply: {
    label: 'Responder',
    act: { act: 'reply', text: REPLY_TEXT },
    text: { label: 'Texto da resposta', value: REPLY_TEXT },
  },
} as const satisfies Record<string, DeskAction & { act: Act }>

export type Action = keyof typeof ACTIONS

/** How a carrier tells its sender of things: by SMPP or by HTTP. */
export interface Teller {
  /** One report per part. */
  receipt(sms: Sms, type: ReportType, afterMs: number): Report
  reply(sms: Sms, text: string, afterMs: number): Report
}

export interface PhoneParts {
  tellers: Readonly<Record<Sms['via'], Teller>>
  visitor: Visitor
  clock: Clock
}

const MAX_TIMERS = 20_000

/** The phones of everybody: they live their fate, and do what is asked of them. */
export class Phones {
  readonly #parts: PhoneParts
  readonly #timers = new Set<NodeJS.Timeout>()

  constructor(parts: PhoneParts) {
    this.#parts = parts
  }

  receive(sms: Sms, fate: Fate): void {
    for (const { act, afterMs } of fate.steps) {
      if ((act.act === 'open' || act.act === 'scan') && linkIn(sms) === null) continue
      this.#perform(sms, act, afterMs)
    }
  }

  async act(sms: Sms, action: Action, text?: string): Promise<Report> {
    const { act } = ACTIONS[action]
    if ((act.act === 'open' || act.act === 'scan') && linkIn(sms) === null)
      throw new Refused(409, 'A mensagem não tem link que se possa abrir.')
    const said = text?.trim()
    return this.#perform(sms, act.act === 'reply' && said ? { act: 'reply', text: said } : act, 0)
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer)
  }

  #perform(sms: Sms, act: Act, afterMs: number): Report {
    const teller = this.#parts.tellers[sms.via]
    if (act.act === 'open' || act.act === 'scan') return this.#browse(sms, act.act, afterMs)
    return act.act === 'reply' ? teller.reply(sms, act.text, afterMs) : teller.receipt(sms, act.act, afterMs)
  }

  #browse(sms: Sms, type: 'open' | 'scan', afterMs: number): Report {
    const { clock } = this.#parts
    const report = addReport(sms, { id: newId(clock()), at: new Date(clock() + afterMs) }, type)
    const settle = (state: Report['state'], detail: string): void => {
      Object.assign(report, { state, detail, doneAt: new Date(clock()) })
    }
    if (this.#timers.size >= MAX_TIMERS) {
      settle('expired', 'Descartado: visitas demais à espera.')
      return report
    }
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      this.#visit(linkIn(sms)!, type).then(
        ({ done, detail }) => settle(done ? 'done' : 'refused', detail),
        error => settle('refused', (error as Error).message),
      )
    }, afterMs)
    this.#timers.add(timer)
    return report
  }

  async #visit(url: string, type: 'open' | 'scan'): Promise<{ done: boolean; detail: string }> {
    const { visitor } = this.#parts
    if (type === 'open') return visitor.open(url)
    await visitor.visit({ method: 'HEAD', url, as: 'scanner' })
    return visitor.visit({ method: 'GET', url, as: 'scanner' })
  }
}
