import { html } from '../../src/domain/text/html.js'
import { type ChannelContext, type ChannelDeclaration, type ChannelFates, listFates, type SimulatedChannel } from '../channel.js'
import { FaultSwitch } from '../faults.js'
import { addCloudApi } from './cloud-api.js'
import { FATES, fateNumber } from './fates.js'
import { FAULT_FIELDS, REPORT_LABELS } from './labels.js'
import { renderPhone } from './page.js'
import { ACTIONS, type Action, Recipient } from './recipient.js'
import { ShownTexts } from './shown-texts.js'
import { PHONE_NUMBER_ID, type TemplateMessage, VERSION } from './template-message.js'

/** WhatsApp's Cloud API and the phones of its recipients. */
export const whatsapp: ChannelDeclaration = { open: openWhatsapp }

async function openWhatsapp(context: ChannelContext): Promise<SimulatedChannel<TemplateMessage>> {
  const faults = new FaultSwitch(FAULT_FIELDS)
  const recipient = new Recipient({ ...context, faults })
  const texts = new ShownTexts()
  return {
    channel: 'whatsapp',
    name: 'WhatsApp',
    faults,
    fates: WHATSAPP_FATES,
    actions: ACTIONS,
    reportLabels: REPORT_LABELS,
    allowedContent: [],
    carriers: url => ({ whatsapp: `whatsapp://${context.key}@${new URL(url).host}/${VERSION}/${PHONE_NUMBER_ID}?tls=off` }),
    act: (message, action, text) => recipient.act(message, action as Action, text),
    summarize: ({ template, wamid }) => ({ template, wamid }),
    warn: ({ text }) => (text === null ? 'Template não cadastrado' : null),
    detail: async ({ message, raw }) => ({
      text: message.text,
      waId: message.waId,
      language: message.language,
      header: message.header,
      body: message.body,
      link: recipient.linkOf(message),
      request: JSON.parse(raw.toString()),
    }),
    file: async ({ raw }, path) => (path === 'raw' ? { type: 'application/json', bytes: raw } : null),
    render: async stored => renderPhone(stored, recipient.linkOf(stored.message)),
    addRoutes(app) {
      texts.addRoutes(app, context.key)
      // The carrier's own parsers and errors apply to its routes alone.
      app.register(async carrier => addCloudApi(carrier, { ...context, recipient, faults, texts }))
    },
    async close() {},
  }
}

const WHATSAPP_FATES: ChannelFates = {
  lead: html`Estes números têm sempre o mesmo destino, com qualquer DDD, que serve para distinguir um teste do outro:
<code>21900000002</code> age como <code>11900000002</code>. Qualquer outro número recebe a mensagem e a lê em 2 s.`,
  list: listFates(FATES, fate => fateNumber(fate), ['lido', 'responde', 'sem-whatsapp']),
  more: null,
}
