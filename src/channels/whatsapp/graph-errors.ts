import { type CarrierAnswer, mayComeFromProxy, objectOf, textOf } from '../carrier-http.js'
import { SendError, type SendErrorKind } from '../provider.js'

/** The meaning of Meta's error codes and the reason shown to people. One table for answers and for reports. */
interface Meaning {
  kind: Exclude<SendErrorKind, 'uncertain'>
  reason: string
  /** How long the carrier asks to wait, where its documents say so. */
  waitMs?: number
  /** The error says nothing about messages to other people or of other templates. */
  ofMessage?: true
}

const temporary = (reason: string): Meaning => ({ kind: 'temporary', reason })
const permanent = (reason: string): Meaning => ({ kind: 'permanent', reason })
const throttled = (reason: string, waitMs: number): Meaning => ({ kind: 'throttled', reason, waitMs })

const TOKEN = temporary('A Meta recusou o token de acesso do WhatsApp. Troque o token em WHATSAPP_URL.')
const PERMISSION = temporary('O token do WhatsApp não tem permissão para enviar por este número. Confira o app na Meta.')
const TROUBLE = temporary('O WhatsApp está com problemas. O envio será tentado de novo.')
const ACCOUNT = temporary('A conta do WhatsApp Business está bloqueada, restrita ou com pendências. Confira-a na Meta.')
const PARAMETERS = permanent('As variáveis enviadas não são as do template aprovado na Meta. Confira nomes, ordem e quantidade.')

/** Errors of the account, the token or the carrier are temporary: no accepted notification is lost to them. Errors of the message are permanent. */
const MEANINGS: Readonly<Record<number, Meaning>> = {
  0: TOKEN,
  1: TROUBLE,
  2: TROUBLE,
  3: PERMISSION,
  4: throttled('A Meta pediu para enviar mais devagar.', 60_000),
  10: PERMISSION,
  33: PERMISSION,
  100: permanent('A Meta considerou a mensagem inválida. Confira o template e as variáveis.'),
  190: TOKEN,
  368: ACCOUNT,
  80007: throttled('A conta do WhatsApp Business atingiu o limite de envios.', 60_000),
  130429: throttled('O número remetente atingiu o limite de mensagens por segundo.', 1_000),
  130472: permanent('O WhatsApp não entregou: o número participa de um experimento da Meta.'),
  130497: permanent('A conta do WhatsApp Business não pode enviar para o país deste número.'),
  131000: TROUBLE,
  131008: PARAMETERS,
  131009: PARAMETERS,
  131016: TROUBLE,
  131021: permanent('O destinatário é o próprio número remetente.'),
  131026: permanent('O número não tem WhatsApp, não aceitou os termos ou usa uma versão que não recebe a mensagem.'),
  131030: permanent('O número não está na lista de destinatários permitidos do app na Meta.'),
  131031: ACCOUNT,
  131037: ACCOUNT,
  131042: temporary('Há uma pendência de pagamento na conta do WhatsApp Business. Confira-a na Meta.'),
  131045: ACCOUNT,
  131047: permanent('Passaram mais de 24 horas desde a última mensagem da pessoa: só um template aprovado pode ser enviado.'),
  131048: throttled('O número remetente foi limitado por mensagens bloqueadas ou marcadas como spam.', 60_000),
  131049: permanent('A Meta reteve a mensagem para proteger a pessoa do excesso de mensagens.'),
  131050: permanent('A pessoa pediu para não receber mensagens de marketing deste remetente.'),
  131051: permanent('O WhatsApp não aceita este tipo de mensagem.'),
  131056: { ...temporary('Mensagens demais para o mesmo número em pouco tempo.'), waitMs: 6_000, ofMessage: true },
  131057: ACCOUNT,
  132000: permanent('O número de variáveis é diferente do que o template aprovado na Meta espera.'),
  132001: permanent('O template não existe na Meta neste idioma, ou ainda não foi aprovado.'),
  132005: permanent('O texto do template fica longo demais com as variáveis enviadas.'),
  132007: permanent('O conteúdo do template viola as políticas do WhatsApp.'),
  132012: PARAMETERS,
  132015: { ...temporary('O template está pausado na Meta por baixa qualidade.'), ofMessage: true },
  132016: permanent('O template foi desativado na Meta por baixa qualidade.'),
  132018: PARAMETERS,
  133004: TROUBLE,
  133010: ACCOUNT,
}

/** null: the code is not in the table. */
export const meaningOf = (code: number | null): Meaning | null => (code === null ? null : (MEANINGS[code] ?? null))

export const unknownReason = (code: number | null): string =>
  code === null ? 'O WhatsApp não aceitou a mensagem.' : `O WhatsApp não aceitou a mensagem (código ${code} da Meta).`

/** The error of an answer that is no success. */
export function readRefusal(given: CarrierAnswer): SendError {
  const { status } = given
  const answer = `${status} ${textOf(given)}`
  const error = readError(given)
  // Without an error of Meta's a proxy in between may have answered, which knows nothing of the message.
  if (error === null && mayComeFromProxy(status)) {
    return new SendError('uncertain', 'O WhatsApp não confirmou o recebimento da mensagem.', { answer })
  }
  const { kind, reason, waitMs, ofMessage } = meaningOfAnswer(status, error)
  // At most ten minutes, because the carrier's problem may end sooner than it asks to wait.
  const retryAfterMs = given.retryAfterMs === null ? (waitMs ?? null) : Math.min(given.retryAfterMs, 600_000)
  return new SendError(kind, reason, { answer, scope: ofMessage ? 'message' : 'carrier', retryAfterMs })
}

function meaningOfAnswer(status: number, error: ReturnType<typeof readError>): Meaning {
  if (error?.isUnseen === true) return PERMISSION
  const known = meaningOf(error?.code ?? null)
  if (known !== null) return known
  if (status === 429) return throttled('A Meta pediu para enviar mais devagar.', 1_000)
  if (status === 401 || status === 403) return TOKEN
  // An answer without an error of Meta's comes from a proxy, a redirect or a wrong address: no message fails by that.
  if (error === null || status >= 500 || error.isTransient) return TROUBLE
  return permanent(unknownReason(error.code))
}

function readError(answer: CarrierAnswer) {
  const { error } = (objectOf(answer) ?? {}) as { error?: Record<string, unknown> | null }
  const { code, message, is_transient: isTransient, error_subcode: subcode } = error ?? {}
  if (typeof code !== 'number') return null
  // Code 100 is an error of the message, except where the token does not see the number in our URL.
  const isUnseen =
    code === 100 && (subcode === 33 || /object with id .* does not exist|missing permissions/i.test(String(message)))
  return { code, isTransient: isTransient === true, isUnseen }
}
