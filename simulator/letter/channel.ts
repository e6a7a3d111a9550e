import { html } from '../../src/domain/text/html.js'
import {
  type ChannelAction,
  type ChannelContext,
  type ChannelDeclaration,
  type ChannelFates,
  listFates,
  type SimulatedChannel,
} from '../channel.js'
import { FaultSwitch } from '../faults.js'
import { addReport, newStamp, type Report, settleReport } from '../message.js'
import { SimulatorError } from '../simulator-error.js'
import { ABSENT, DELIVERED, FATES, formatPostcode, LOST, type PostEvent } from './fates.js'
import { FAULT_FIELDS, REPORT_LABELS } from './labels.js'
import type { Letter } from './letter.js'
import { renderLetter } from './page.js'
import { PostOffice } from './post-office.js'
import { PrintShop } from './print-shop.js'

const ACTIONS = {
  deliver: { label: 'Entregar' },
  absent: { label: 'Não atender o carteiro' },
  lose: { label: 'Extraviar' },
  return: { label: 'Devolver', text: { label: 'Código do motivo (3 a 10, 21)', value: '10' } },
} as const satisfies Record<string, ChannelAction>

const REASONS: Record<string, string> = Object.fromEntries(
  FATES.filter(({ meaning }) => meaning.startsWith('Devolvida: ')).map(({ postcode, meaning }) => [
    String(Number(postcode.slice(5))),
    meaning.slice('Devolvida: '.length),
  ]),
)

/** A print shop, which takes the orders, and Correios, which delivers and tracks the letters. */
export const letter: ChannelDeclaration = { open: openLetter }

async function openLetter(context: ChannelContext): Promise<SimulatedChannel<Letter>> {
  const { clock, key } = context
  const faults = new FaultSwitch(FAULT_FIELDS)
  const post = new PostOffice(clock, key)
  const shop = new PrintShop({ ...context, faults, post })
  return {
    channel: 'letter',
    name: 'Carta',
    hasTitles: true,
    faults,
    fates: LETTER_FATES,
    actions: ACTIONS,
    reportLabels: REPORT_LABELS,
    allowedContent: ['frame'],
    carriers: url => ({ letter: shop.url(url), 'letter-tracking': post.url(url) }),
    act: async (message, action, text) => act(message, action, text),
    summarize: ({ code, order }) => ({ sro: code, modelo: order.layout, cep: order.recipient.postcode }),
    detail: async ({ message }) => ({ order: message.order, tracking: post.known(message), file: 'carta.pdf' }),
    file: async ({ raw }, path) => (path === 'carta.pdf' ? { type: 'application/pdf', bytes: raw } : null),
    render: async stored => renderLetter(stored, post.known(stored.message)),
    addRoutes(app) {
      app.register(async scope => shop.addRoutes(scope))
      post.addRoutes(app)
    },
    close: async () => shop.close(),
  }

  function act(message: Letter, action: string, text = '10'): Report {
    if (message.code === null) throw new SimulatorError(409, 'A carta ainda não foi postada, ou não é registrada.')
    const event = eventOf(action, text)
    post.write(message, event)
    const report = addReport(message, newStamp(clock), 'post', `${event.code}/${event.type}`)
    return settleReport(report, 'done', event.text, clock)
  }
}

function eventOf(action: string, text: string): PostEvent {
  if (action === 'deliver') return DELIVERED
  if (action === 'absent') return ABSENT
  if (action === 'lose') return LOST
  const code = text.trim().replace(/^0+/, '')
  const reason = Object.hasOwn(REASONS, code) ? REASONS[code]! : null
  if (reason === null) throw new SimulatorError(400, `O motivo deve ser um destes códigos: ${Object.keys(REASONS).join(', ')}.`)
  return { code: 'BDE', type: code.padStart(2, '0'), text: `Objeto não entregue: ${reason.toLowerCase()}` }
}

const LETTER_FATES: ChannelFates = {
  lead: html`O destino de uma carta é o CEP (todos de SP). Os três últimos dígitos são o código dos Correios para o motivo. Os dias
do correio duram segundos; uma carta de modelo <code>simples</code> não tem rastreamento e fica em “Enviado”.`,
  list: listFates(FATES, ({ postcode }) => formatPostcode(postcode), ['entregue', 'mudou-se']),
  more: null,
}
