import type { ReportLabel } from '../channel.js'
import { describeFaults } from '../faults.js'

export const REPORT_LABELS = {
  delivered: { text: 'Entrega avisada', tone: 'good' },
  failed: { text: 'Devolvida', tone: 'bad' },
  delayed: { text: 'Atraso avisado', tone: 'warn' },
  reply: { text: 'Respondida', tone: 'good' },
  away: { text: 'Resposta automática', tone: 'plain' },
  complaint: { text: 'Marcada como spam', tone: 'bad' },
  confirmation: { text: 'Leitura confirmada', tone: 'good' },
  open: { text: 'Aberta', tone: 'good' },
  scan: { text: 'Visitada por robô', tone: 'plain' },
} as const satisfies Record<string, ReportLabel>

export const FAULT_FIELDS = describeFaults({
  outage: 'Conexões abertas caem e novas são recusadas com 421.',
  errorRate: 'De 0 a 1: 0,25 adia um em cada quatro com 451.',
  latencyMs: 'Espera antes de responder ao conteúdo.',
  resetAfterAccept: 'Guarda a mensagem e corta a conexão sem responder: quem envia não sabe se chegou.',
})
