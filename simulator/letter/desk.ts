import { html } from '../../src/domain/html.js'
import { newId } from '../../src/domain/id.js'
import type { Desk, DeskAction, DeskFates, DeskParts } from '../desk.js'
import { FaultSwitch } from '../faults.js'
import { addReport, type Report } from '../message.js'
import { Refused } from '../refused.js'
import { ABSENT, DELIVERED, FATES, formatPostcode, LOST, type PostStep } from './fates.js'
import type { Letter } from './letter.js'
import { renderLetter } from './page.js'
import { PostOffice } from './post-office.js'
import { PrintShop } from './print-shop.js'
import { FAULT_FIELDS, REPORT_WORDS } from './words.js'

const ACTIONS = {
  deliver: { label: 'Entregar' },
  absent: { label: 'Não atender o carteiro' },
  lose: { label: 'Extraviar' },
  return: { label: 'Devolver', text: { label: 'Código do motivo (3 a 10, 21)', value: '10' } },
} as const satisfies Record<string, DeskAction>

const REASONS: Record<string, string> = Object.fromEntries(
  FATES.filter(({ meaning }) => meaning.startsWith('Devolvida: ')).map(({ postcode, meaning }) => [
    String(Number(postcode.slice(5))),
    meaning.slice('Devolvida: '.length),
  ]),
)

/** The print shop and the post. */
export async function openLetterDesk(parts: DeskParts): Promise<Desk<Letter>> {
  const { clock } = parts
  const faults = new FaultSwitch(FAULT_FIELDS, () => {})
  const post = new PostOffice(clock, newId(clock()))
  const shop = new PrintShop({ ...parts, faults, post })
  return {
    channel: 'letter',
    name: 'Carta',
    faults,
    fates: LETTER_FATES,
    actions: ACTIONS,
    reportWords: REPORT_WORDS,
    shows: ['frame'],
    carriers: url => ({ letter: shop.url(url), 'letter-tracking': post.url(url) }),
    act: async (letter, action, text) => act(letter, action, text),
    summarize: ({ code, order }) => ({ sro: code, modelo: order.layout, cep: order.recipient.postcode }),
    detail: async ({ message }) => ({ order: message.order, tracking: post.known(message) }),
    file: async ({ raw }, path) => (path === 'carta.pdf' ? { type: 'application/pdf', bytes: raw } : null),
    render: async kept => renderLetter(kept, post.known(kept.message)),
    addRoutes(app) {
      app.register(async scope => shop.addRoutes(scope))
      post.addRoutes(app)
    },
    close: async () => shop.close(),
  }

  function act(letter: Letter, action: string, text = '10'): Report {
    if (letter.code === null) throw new Refused(409, 'A carta ainda não foi postada, ou não é registrada.')
    const step = stepOf(action, text)
    post.write(letter, step)
    const report = addReport(letter, { id: newId(clock()), at: new Date(clock()) }, 'post', `${step.code}/${step.type}`)
    return Object.assign(report, { state: 'done' as const, doneAt: new Date(clock()), detail: step.text })
  }
}

function stepOf(action: string, text: string): Omit<PostStep, 'afterMs'> {
  if (action === 'deliver') return DELIVERED
  if (action === 'absent') return ABSENT
  if (action === 'lose') return LOST
  const code = text.trim().replace(/^0+/, '')
  const reason = Object.hasOwn(REASONS, code) ? REASONS[code]! : null
  if (reason === null) throw new Refused(400, `O motivo deve ser um destes códigos: ${Object.keys(REASONS).join(', ')}.`)
  return { code: 'BDE', type: code.padStart(2, '0'), text: `Objeto não entregue: ${reason.toLowerCase()}` }
}

const LETTER_FATES: DeskFates = {
  lead: html`O destino de uma carta é o CEP (todos de SP). Os três últimos dígitos são o código dos Correios para o motivo. Os dias
do correio duram segundos; uma carta de modelo <code>simples</code> não tem rastreamento e fica em “Enviado”.`,
  list: FATES.map(({ name, postcode, meaning, does }) => ({
    name,
    address: formatPostcode(postcode),
    meaning,
    does,
    example: ['entregue', 'mudou-se'].includes(name),
  })),
  more: null,
}
