import type { Mail, Report } from '../email/mail.js'
import { type Html, html } from './html.js'

/** What people read about the things that a recipient's side did. */
const REPORTS: Record<Report['type'], { text: string; tone: string }> = {
  delivered: { text: 'Entrega avisada', tone: 'good' },
  failed: { text: 'Devolvida', tone: 'bad' },
  delayed: { text: 'Atraso avisado', tone: 'warn' },
  reply: { text: 'Respondida', tone: 'good' },
  away: { text: 'Resposta automática', tone: 'plain' },
  complaint: { text: 'Marcada como spam', tone: 'bad' },
  confirmation: { text: 'Leitura confirmada', tone: 'good' },
  open: { text: 'Aberta', tone: 'good' },
  scan: { text: 'Visitada por robô', tone: 'plain' },
}

const STATES: Record<Report['state'], string> = {
  waiting: 'à espera',
  done: 'feito',
  refused: 'não feito',
  expired: 'abandonado',
}

const MAX_CHIPS = 4

export const reportText = ({ type, status }: Report): string => `${REPORTS[type].text}${status === null ? '' : ` (${status})`}`

export const stateText = ({ state }: Report): string => STATES[state]

export const tone = ({ type, state }: Report): string =>
  state === 'done' ? REPORTS[type].tone : state === 'waiting' ? 'wait' : 'warn'

/** What became of a mail, at a glance: each kind of report once, the newest that count. */
export function chips(mail: Mail): Html[] {
  const kinds = new Map(mail.reports.map(report => [report.type, report]))
  const shown = [...kinds.values()].slice(-MAX_CHIPS).map(report => {
    const undone = report.state === 'done' ? '' : `: ${stateText(report)}`
    return html`<span class="chip ${tone(report)}">${REPORTS[report.type].text}${undone}</span>`
  })
  return mail.answer === null ? [html`<span class="chip bad">Sem resposta</span>`, ...shown] : shown
}
