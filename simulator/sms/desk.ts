import { html } from '../../src/domain/html.js'
import type { Desk, DeskFates, DeskParts } from '../desk.js'
import { FaultSwitch } from '../faults.js'
import { FATES, type Fate, fateNumber } from './fates.js'
import { renderSms } from './page.js'
import { ACTIONS, type Action, Phones } from './phones.js'
import { linkIn, type Sms } from './sms.js'
import { openSmsc, type Smsc } from './smsc.js'
import { FAULT_FIELDS, REPORT_WORDS } from './words.js'
import { openZenvia } from './zenvia.js'

/** The carriers of short messages, by SMPP and by HTTP, and the phones behind them. */
export interface SmsDeskParts extends DeskParts {
  port: number
}

export interface SmsDesk extends Desk<Sms> {
  readonly smppUrl: string
}

export async function openSmsDesk(parts: SmsDeskParts): Promise<SmsDesk> {
  const { inbox, visitor, callbacks, clock } = parts
  let smsc: Smsc | undefined
  const faults = new FaultSwitch(FAULT_FIELDS, () => smsc?.interrupt())
  const take = (sms: Sms, raw: Buffer, fate: Fate): void => {
    inbox.add({ message: sms, raw })
    inbox.record(sms, { text: sms.text, ids: sms.parts.map(({ id }) => id).join(' ') })
    // After the answer: receipts do not overtake it in this process, but for those who are meant to.
    if (fate.hasty) phones.receive(sms, fate)
    else setImmediate(() => phones.receive(sms, fate))
  }
  const zenvia = openZenvia({ faults, callbacks, clock, take })
  smsc = await openSmsc({ ...parts, faults, take })
  const phones = new Phones({ tellers: { smpp: smsc.teller, zenvia: zenvia.teller }, visitor, clock })
  const { url: smppUrl, close } = smsc
  return {
    channel: 'sms',
    name: 'SMS',
    smppUrl,
    faults,
    fates: SMS_FATES,
    actions: ACTIONS,
    reportWords: REPORT_WORDS,
    shows: [],
    carriers: simulatorUrl => ({ sms: smppUrl, 'sms-zenvia': zenvia.url(simulatorUrl) }),
    act: (sms, action, text) => phones.act(sms, action as Action, text),
    summarize: ({ via, parts: { length }, encoding }) => ({ via, segments: length, encoding }),
    detail: async ({ message }) => ({ text: message.text, link: linkIn(message), parts: message.parts }),
    file: async () => null,
    render: renderSms,
    addRoutes: zenvia.addRoutes,
    async close() {
      phones.close()
      zenvia.close()
      await close()
    },
  }
}

const SMS_FATES: DeskFates = {
  lead: html`Estes números têm sempre o mesmo destino, em qualquer DDD: <code>2190000<wbr>0009</code> age como
<code>${fateNumber(FATES[8]!)}</code>. Qualquer outro número recebe a mensagem normalmente.`,
  list: FATES.map(fate => ({
    name: fate.name,
    address: fateNumber(fate),
    meaning: fate.meaning,
    does: fate.does,
    example: ['02', '07', '09'].includes(fate.digits),
  })),
  more: null,
}
