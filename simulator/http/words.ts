import { type Html, html } from '../../src/domain/html.js'
import type { Desk, ReportWords } from '../desk.js'
import type { Message, Report } from '../message.js'

/** What people read about the things that a recipient's side did. */
const STATES: Record<Report['state'], string> = {
  waiting: 'à espera',
  done: 'feito',
  refused: 'não feito',
  expired: 'abandonado',
}

const MAX_CHIPS = 4

const wordsOf = ({ reportWords }: Desk, { type }: Report): ReportWords => reportWords[type] ?? { text: type, tone: 'plain' }

export const reportText = (desk: Desk, report: Report): string =>
  `${wordsOf(desk, report).text}${report.status === null ? '' : ` (${report.status})`}`

export const stateText = ({ state }: Report): string => STATES[state]

export const tone = (desk: Desk, report: Report): string =>
  report.state === 'done' ? wordsOf(desk, report).tone : report.state === 'waiting' ? 'wait' : 'warn'

/** Its channel and what became of a message, at a glance: each kind of report once, the newest that count. */
export function chips(desk: Desk, message: Message): Html[] {
  const kinds = new Map(message.reports.map(report => [report.type, report]))
  const shown = [...kinds.values()].slice(-MAX_CHIPS).map(report => {
    const undone = report.state === 'done' ? '' : `: ${stateText(report)}`
    return html`<span class="chip ${tone(desk, report)}">${wordsOf(desk, report).text}${undone}</span>`
  })
  if (message.answer === null) shown.unshift(html`<span class="chip bad">Sem resposta</span>`)
  return [html`<span class="chip channel"><span class="hidden">canal </span>${desk.name}</span>`, ...shown]
}
