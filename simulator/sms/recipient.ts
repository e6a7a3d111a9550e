import type { ChannelAction } from '../channel.js'
import type { Report } from '../message.js'
import { SimulatorError } from '../simulator-error.js'
import { SCANNER, type Visitor, type VisitResult } from '../visitor.js'
import { type Act, type Fate, REPLY_TEXT, type ReceiptType } from './fates.js'
import { linkIn, type Sms } from './sms.js'

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
} as const satisfies Record<string, ChannelAction & { act: Act }>

export type Action = keyof typeof ACTIONS

/** How a carrier reports to its sender: over SMPP or over HTTP. */
export interface SmsReports {
  /** Sends one receipt per part and returns the first report. */
  receipt(sms: Sms, type: ReceiptType, afterMs: number): Report
  reply(sms: Sms, text: string, afterMs: number): Report
}

export interface RecipientParts {
  carriers: Readonly<Record<Sms['via'], SmsReports>>
  visitor: Visitor
}

export class Recipient {
  readonly #parts: RecipientParts

  constructor(parts: RecipientParts) {
    this.#parts = parts
  }

  receive(sms: Sms, fate: Fate): void {
    for (const { act, afterMs } of fate.steps) {
      if (act.act === 'enroute' && !sms.intermediate) continue
      if (!needsLink(act) || linkIn(sms) !== null) this.#perform(sms, act, afterMs)
    }
  }

  async act(sms: Sms, action: Action, text?: string): Promise<Report> {
    const { act } = ACTIONS[action]
    if (needsLink(act) && linkIn(sms) === null) throw new SimulatorError(409, 'A mensagem não tem link que se possa abrir.')
    const reply = text?.trim()
    return this.#perform(sms, act.act === 'reply' && reply ? { act: 'reply', text: reply } : act, 0)
  }

  #perform(sms: Sms, act: Act, afterMs: number): Report {
    const { carriers, visitor } = this.#parts
    switch (act.act) {
      case 'open':
        return visitor.schedule(sms, 'open', afterMs, () => visitor.open(linkIn(sms)!))
      case 'scan':
        return visitor.schedule(sms, 'scan', afterMs, () => this.#scan(linkIn(sms)!))
      case 'reply':
        return carriers[sms.via].reply(sms, act.text, afterMs)
      default:
        return carriers[sms.via].receipt(sms, act.act, afterMs)
    }
  }

  async #scan(url: string): Promise<VisitResult> {
    const { visitor } = this.#parts
    await visitor.visit({ method: 'HEAD', url, headers: SCANNER })
    return visitor.visit({ method: 'GET', url, headers: SCANNER })
  }
}

const needsLink = ({ act }: Act): boolean => act === 'open' || act === 'scan'
