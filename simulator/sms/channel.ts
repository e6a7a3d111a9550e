import { html } from '../../src/domain/text/html.js'
import { type ChannelContext, type ChannelDeclaration, type ChannelFates, listFates, type SimulatedChannel } from '../channel.js'
import { FaultSwitch } from '../faults.js'
import { FATES, type Fate, fateNumber } from './fates.js'
import { FAULT_FIELDS, REPORT_LABELS } from './labels.js'
import { renderSms } from './page.js'
import { ACTIONS, type Action, Recipient } from './recipient.js'
import { linkIn, type Sms } from './sms.js'
import { Smsc } from './smsc.js'
import { Zenvia } from './zenvia.js'

/** Two SMS carriers, one over SMPP and one over HTTP, and the phones of their recipients. */
export const sms: ChannelDeclaration = {
  port: { name: 'smpp', description: 'porta do SMSC simulado' },
  open: openSms,
}

async function openSms(context: ChannelContext): Promise<SimulatedChannel<Sms>> {
  const { inbox, visitor } = context
  const faults = new FaultSwitch(FAULT_FIELDS, () => smsc.interrupt())
  const accept = (message: Sms, raw: Buffer, fate: Fate): void => {
    inbox.add({ message, raw })
    inbox.record(message, { text: message.text, ids: message.parts.map(({ id }) => id).join(' ') })
    // Deferred so that no receipt is sent before the answer, except for the fate that tests exactly this.
    if (fate.receiptFirst) recipient.receive(message, fate)
    else setImmediate(() => recipient.receive(message, fate))
  }
  const zenvia = new Zenvia({ ...context, faults, accept })
  const smsc = new Smsc({ ...context, faults, accept })
  const recipient = new Recipient({ carriers: { smpp: smsc, zenvia }, visitor })
  const url = await smsc.open(context.port, context.host)
  return {
    channel: 'sms',
    name: 'SMS',
    url,
    faults,
    fates: SMS_FATES,
    actions: ACTIONS,
    reportLabels: REPORT_LABELS,
    allowedContent: [],
    carriers: simulatorUrl => ({ sms: url, 'sms-zenvia': zenvia.url(simulatorUrl) }),
    act: (message, action, text) => recipient.act(message, action as Action, text),
    summarize: ({ via, parts: { length }, encoding }) => ({ via, segments: length, encoding }),
    detail: async ({ message }) => ({ text: message.text, link: linkIn(message), parts: message.parts }),
    file: async () => null,
    render: renderSms,
    addRoutes: app => zenvia.addRoutes(app),
    async close() {
      zenvia.close()
      await smsc.close()
    },
  }
}

const SMS_FATES: ChannelFates = {
  lead: html`Estes números têm sempre o mesmo destino, em qualquer DDD: <code>2190000<wbr>0009</code> age como
<code>${fateNumber(FATES[8]!)}</code>. Qualquer outro número recebe a mensagem normalmente.`,
  list: listFates(FATES, fateNumber, ['não entregue', 'responde', 'abre o link']),
  more: null,
}
