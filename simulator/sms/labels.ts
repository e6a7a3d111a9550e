import type { ReportLabel } from '../channel.js'
import { describeFaults } from '../faults.js'

export const REPORT_LABELS = {
  delivered: { text: 'Entrega avisada', tone: 'good' },
  enroute: { text: 'A caminho', tone: 'plain' },
  undelivered: { text: 'Não entregue', tone: 'bad' },
  expired: { text: 'Validade vencida', tone: 'bad' },
  reply: { text: 'Respondida', tone: 'good' },
  open: { text: 'Link aberto', tone: 'good' },
  scan: { text: 'Visitada por robô', tone: 'plain' },
} as const satisfies Record<string, ReportLabel>

export const FAULT_FIELDS = describeFaults({
  outage: 'O SMSC derruba as conexões e não aceita outras; a API HTTP responde 503.',
  errorRate: 'De 0 a 1: 0,25 adia um em cada quatro com ESME_RSYSERR ou 503.',
  latencyMs: 'Espera antes de responder ao envio.',
  resetAfterAccept: 'Guarda a mensagem e corta a conexão sem responder: quem envia não sabe se chegou.',
})
