import type { ReportLabel } from '../channel.js'
import { describeFaults } from '../faults.js'

export const REPORT_LABELS = {
  processando: { text: 'Em produção', tone: 'plain' },
  preparada: { text: 'Impressa e envelopada', tone: 'plain' },
  postada: { text: 'Postada', tone: 'good' },
  recusada: { text: 'Recusada pela gráfica', tone: 'bad' },
  post: { text: 'Correios', tone: 'plain' },
} as const satisfies Record<string, ReportLabel>

export const FAULT_FIELDS = describeFaults({
  outage: 'Todo pedido é respondido com 503.',
  errorRate: 'De 0 a 1: 0,25 responde 503 a um em cada quatro.',
  latencyMs: 'Espera antes de responder.',
  resetAfterAccept: 'Guarda a carta e corta a conexão sem responder: quem envia não sabe se chegou.',
})
