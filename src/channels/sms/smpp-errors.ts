import { SendError, type SendErrorKind } from '../provider.js'

/**
 * The status codes of SMPP 3.4, 5.1.3. Only a fault of the message itself is permanent; a fault of SMS_URL or of the carrier's
 * contract is temporary, so that the message waits until the operator has corrected it.
 */
const statuses: Readonly<Record<number, readonly [name: string, kind: SendErrorKind, reason: string]>> = {
  3: ['ESME_RINVCMDID', 'temporary', 'A operadora não aceita este tipo de envio. Confira o contrato com ela.'],
  4: ['ESME_RINVBNDSTS', 'temporary', 'A operadora diz que a conexão não está autenticada.'],
  5: ['ESME_RALYBND', 'temporary', 'A operadora diz que este usuário já está conectado.'],
  7: [
    'ESME_RINVREGDLVFLG',
    'temporary',
    'A operadora não aceita o pedido de avisos intermediários. Use intermediate=off em SMS_URL.',
  ],
  8: ['ESME_RSYSERR', 'temporary', 'Erro interno da operadora.'],
  10: ['ESME_RINVSRCADR', 'temporary', 'A operadora não aceita o remetente (from em SMS_URL).'],
  11: ['ESME_RINVDSTADR', 'permanent', 'A operadora não aceita o número do destinatário.'],
  13: ['ESME_RBINDFAIL', 'temporary', 'A operadora recusou a conexão.'],
  14: ['ESME_RINVPASWD', 'temporary', 'A operadora recusou a senha (SMS_URL).'],
  15: ['ESME_RINVSYSID', 'temporary', 'A operadora recusou o usuário (SMS_URL).'],
  20: ['ESME_RMSGQFUL', 'throttled', 'A fila da operadora está cheia.'],
  21: ['ESME_RINVSERTYP', 'temporary', 'A operadora não aceita o tipo de serviço (unanswered=replace em SMS_URL).'],
  51: ['ESME_RINVNUMDESTS', 'temporary', 'A operadora não aceita o número de destinatários.'],
  67: ['ESME_RINVESMCLASS', 'temporary', 'A operadora não aceita mensagens em partes. Confira o contrato com ela.'],
  69: ['ESME_RSUBMITFAIL', 'temporary', 'A operadora não conseguiu aceitar a mensagem.'],
  72: ['ESME_RINVSRCTON', 'temporary', 'A operadora não aceita o tipo do remetente (ton em SMS_URL).'],
  73: ['ESME_RINVSRCNPI', 'temporary', 'A operadora não aceita o plano do remetente (npi em SMS_URL).'],
  80: [
    'ESME_RINVDSTTON',
    'temporary',
    'A operadora não aceita números no formato internacional (TON 1). Confira o contrato com ela.',
  ],
  81: ['ESME_RINVDSTNPI', 'temporary', 'A operadora não aceita números do plano E.164 (NPI 1). Confira o contrato com ela.'],
  83: ['ESME_RINVSYSTYP', 'temporary', 'A operadora recusou o tipo de sistema (system-type em SMS_URL).'],
  88: ['ESME_RTHROTTLED', 'throttled', 'A operadora pediu para enviar mais devagar.'],
  97: ['ESME_RINVSCHED', 'temporary', 'A operadora não aceita a data de envio.'],
  98: ['ESME_RINVEXPIRY', 'temporary', 'A operadora não aceita a validade (validity em SMS_URL).'],
  100: ['ESME_RX_T_APPN', 'temporary', 'A operadora não pôde aceitar a mensagem agora.'],
  101: ['ESME_RX_P_APPN', 'permanent', 'A operadora recusou a mensagem.'],
  102: ['ESME_RX_R_APPN', 'permanent', 'A operadora recusou a mensagem.'],
  196: [
    'ESME_RINVOPTPARAMVAL',
    'temporary',
    'A operadora não aceita um parâmetro opcional da mensagem. Confira o contrato com ela.',
  ],
  254: ['ESME_RDELIVERYFAILURE', 'permanent', 'A operadora não conseguiu entregar a mensagem.'],
  255: ['ESME_RUNKNOWNERR', 'temporary', 'Erro da operadora, sem explicação.'],
}

/** Codes from 0x400 on are the carrier's own. An unknown code counts as temporary, because the retries end after a day. */
export function errorOf(status: number): SendError {
  const code = `0x${status.toString(16).padStart(8, '0')}`
  const [name, kind, reason] = statuses[status] ?? ['', 'temporary', `A operadora recusou a mensagem com o código ${code}.`]
  // ESME_RINVESMCLASS concerns messages in several parts only and must not stop the others.
  return new SendError(kind, reason, { answer: `${code} ${name}`.trim(), scope: status === 67 ? 'message' : 'carrier' })
}
