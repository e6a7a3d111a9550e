import { html } from '../../src/domain/html.js'
import type { Desk, DeskFates, DeskParts } from '../desk.js'
import { FaultSwitch } from '../faults.js'
import { addCloudApi } from './carrier.js'
import { FATES, fateNumber } from './fates.js'
import { renderPhone } from './page.js'
import { ACTIONS, type Action, Person } from './person.js'
import { PHONE_NUMBER_ID, type TemplateMessage, TOKEN, VERSION } from './template-message.js'
import { FAULT_FIELDS, REPORT_WORDS } from './words.js'

export interface WhatsappDeskParts extends DeskParts {
  /** How long the number that falls silent keeps a connection without an answer. */
  silenceMs: number
}

/** WhatsApp's Cloud API, the phones behind it, and what people see of them. */
export async function openWhatsappDesk(parts: WhatsappDeskParts): Promise<Desk<TemplateMessage>> {
  const faults = new FaultSwitch(FAULT_FIELDS, () => {})
  const person = new Person({ ...parts, faults })
  return {
    channel: 'whatsapp',
    name: 'WhatsApp',
    faults,
    fates: WHATSAPP_FATES,
    actions: ACTIONS,
    reportWords: REPORT_WORDS,
    shows: [],
    carriers: url => ({ whatsapp: `whatsapp://${TOKEN}@${new URL(url).host}/${VERSION}/${PHONE_NUMBER_ID}?tls=off` }),
    act: (message, action, text) => person.act(message, action as Action, text),
    summarize: ({ template, wamid }) => ({ template, wamid }),
    detail: async ({ message, raw }) => ({
      waId: message.waId,
      language: message.language,
      header: message.header,
      body: message.body,
      link: person.linkOf(message),
      request: JSON.parse(raw.toString()),
    }),
    file: async ({ raw }, path) => (path === 'raw' ? { type: 'application/json', bytes: raw } : null),
    render: async kept => renderPhone(kept, person.linkOf(kept.message)),
    addRoutes: app => addCloudApi(app, { ...parts, person, faults }),
    async close() {
      person.close()
    },
  }
}

const WHATSAPP_FATES: DeskFates = {
  lead: html`Estes números têm sempre o mesmo destino, com qualquer DDD, que serve para distinguir um teste do outro:
<code>21900000002</code> age como <code>11900000002</code>. Qualquer outro número recebe a mensagem e a lê em 2 s.`,
  list: FATES.map(fate => ({
    name: fate.name,
    address: fateNumber(fate),
    meaning: fate.meaning,
    does: fate.does,
    example: ['lido', 'responde', 'sem-whatsapp'].includes(fate.name),
  })),
  more: null,
}
