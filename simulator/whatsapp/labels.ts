import type { ReportLabel } from '../channel.js'
import { describeFaults } from '../faults.js'

export const REPORT_LABELS = {
  sent: { text: 'Envio avisado', tone: 'plain' },
  delivered: { text: 'Entrega avisada', tone: 'good' },
  read: { text: 'Leitura avisada', tone: 'good' },
  failed: { text: 'Falha avisada', tone: 'bad' },
  reply: { text: 'Respondida', tone: 'good' },
  button: { text: 'Botão tocado', tone: 'good' },
  open: { text: 'Link aberto', tone: 'good' },
  scan: { text: 'Link visitado por robô', tone: 'plain' },
} as const satisfies Record<string, ReportLabel>

export const FAULT_FIELDS = describeFaults({
  outage: 'Toda requisição é recusada com 503 e o erro 131016.',
  errorRate: 'De 0 a 1: 0,25 recusa uma em cada quatro com 500 e o erro 131000.',
  latencyMs: 'Espera entre guardar a mensagem e responder.',
  resetAfterAccept: 'Guarda a mensagem e corta a conexão sem responder: quem envia só sabe o que houve pelos avisos.',
})
