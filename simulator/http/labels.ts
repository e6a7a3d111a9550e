import { type Html, html } from '../../src/domain/text/html.js'
import type { ReportLabel, SimulatedChannel } from '../channel.js'
import type { Message, Report } from '../message.js'

const STATES: Record<Report['state'], string> = {
  waiting: 'à espera',
  done: 'feito',
  refused: 'não feito',
  expired: 'abandonado',
}

const MAX_CHIPS = 2

const labelOf = ({ reportLabels }: SimulatedChannel, { type }: Report): ReportLabel =>
  reportLabels[type] ?? { text: type, tone: 'plain' }

export const reportText = (channel: SimulatedChannel, report: Report): string =>
  `${labelOf(channel, report).text}${report.status === null ? '' : ` (${report.status})`}`

export const stateText = ({ state }: Report): string => STATES[state]

export const tone = (channel: SimulatedChannel, report: Report): string =>
  report.state === 'done' ? labelOf(channel, report).tone : report.state === 'waiting' ? 'wait' : 'warn'

/** What a person should notice about a message, and its newest reports, each type once. */
export function chips(channel: SimulatedChannel, message: Message): Html[] {
  const kinds = new Map(message.reports.map(report => [report.type, report]))
  const shown = [...kinds.values()].slice(-MAX_CHIPS).map(report => {
    const undone = report.state === 'done' ? '' : `: ${stateText(report)}`
    return html`<span class="chip ${tone(channel, report)}">${labelOf(channel, report).text}${undone}</span>`
  })
  if (message.answer === null) shown.unshift(html`<span class="chip bad">Sem resposta</span>`)
  const warning = channel.warn?.(message) ?? null
  return warning === null ? shown : [html`<span class="chip warn">${warning}</span>`, ...shown]
}
