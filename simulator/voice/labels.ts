import type { ReportLabel } from '../channel.js'
import { describeFaults } from '../faults.js'

export const REPORT_LABELS = {
  initiated: { text: 'Ligação iniciada', tone: 'plain' },
  ringing: { text: 'Tocando', tone: 'plain' },
  'in-progress': { text: 'Atendida', tone: 'good' },
  script: { text: 'Perguntou o que falar', tone: 'plain' },
  key: { text: 'Tecla 1', tone: 'good' },
  message: { text: 'Pediu a mensagem', tone: 'good' },
  completed: { text: 'Encerrada', tone: 'good' },
  busy: { text: 'Ocupado', tone: 'bad' },
  'no-answer': { text: 'Não atendida', tone: 'bad' },
  failed: { text: 'Falhou', tone: 'bad' },
  recording: { text: 'Gravação pronta', tone: 'good' },
} as const satisfies Record<string, ReportLabel>

export const FAULT_FIELDS = describeFaults({
  outage: 'Todo pedido é respondido com 503.',
  errorRate: 'De 0 a 1: 0,25 responde a um em cada quatro pedidos com 503.',
  latencyMs: 'Espera entre aceitar a ligação e responder ao pedido.',
  resetAfterAccept: 'Aceita a ligação e corta a conexão sem responder: quem envia não sabe se ela foi aceita.',
})
