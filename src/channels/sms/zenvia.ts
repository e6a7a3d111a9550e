import { isSameSecret } from '../../domain/access/secret.js'
import { planParts } from '../../domain/delivery/message-parts.js'
import { OperatorError } from '../../domain/errors.js'
import { readReportedNumber } from '../../domain/text/phone.js'
import { cutText, storable } from '../../domain/text/text.js'
import { type CallbackAccount, contentOf, secretsOf } from '../callback-accounts.js'
import { type CarrierAnswer, CarrierHttp, mayComeFromProxy, objectOf, parseJson, textOf } from '../carrier-http.js'
import {
  type Callback,
  type CarrierEvent,
  type CarrierReport,
  type Provider,
  SendError,
  type SendErrorKind,
} from '../provider.js'
import type { ProviderModule } from '../provider-module.js'
import { integerReader, readCredential, refuseUnknown } from '../url-options.js'
import { type SmsMessage, smsContent } from './sms-message.js'

/** The provider's name, stored with every attempt and the last part of its callbacks' path. */
const ZENVIA = 'zenvia'
const REQUESTS_AT_ONCE = 50

/**
 * SMS through Zenvia's API v2: zenvia://TOKEN@api.zenvia.com?from=sender&secret=of-the-subscription.
 * Options: tls=off, towards this machine only, window=messages under way, rate=messages a second (both of the lane).
 */
const TIMEOUT_MS = 15_000
const MAX_ANSWER = 65_536
const REASONS = {
  unsent: 'Sem conexão com a Zenvia.',
  unanswered: 'A Zenvia não respondeu a tempo, ou a conexão caiu antes da resposta.',
}
const MAX_WORDS = 500
/** Zenvia does not sign its callbacks, but adds the headers that the subscription names: this one holds the secret. */
const SECRET_HEADER = 'x-carteiro-secret'

/** messageStatus.code of a MESSAGE_STATUS event. Other codes are not final. */
const statuses: Readonly<Record<string, Pick<CarrierReport, 'type' | 'failure' | 'reason'>>> = {
  DELIVERED: { type: 'delivered' },
  // The reading of an SMS is known by its link alone.
  READ: { type: 'delivered' },
  NOT_DELIVERED: { type: 'failed', failure: 'undelivered', reason: 'A operadora não conseguiu entregar a mensagem.' },
  REJECTED: { type: 'failed', failure: 'undelivered', reason: 'A operadora rejeitou a mensagem depois de aceitá-la.' },
}

export const zenviaProvider = (): Provider<SmsMessage> => ({
  name: ZENVIA,
  channel: 'sms',
  // Its reports do not carry our reference and it has no lookup: only a person can resolve an unknown outcome.
  whenUnknown: 'never',
  timeoutMs: TIMEOUT_MS,
  async open(url) {
    const { endpoint, token, from } = readZenviaUrl(url)
    const http = new CarrierHttp({ timeoutMs: TIMEOUT_MS, maxAnswerBytes: MAX_ANSWER, reasons: REASONS })
    const headers = { 'content-type': 'application/json', 'x-api-token': token }
    return {
      async send({ to, text }, signal) {
        const { parts, encoding } = planParts(text)
        const body = JSON.stringify({ from, to: to.replace(/^\+/, ''), contents: [{ type: 'text', text }] })
        const answer = await http.send({ method: 'POST', url: endpoint.href, headers, body }, signal)
        if (answer.status < 200 || answer.status > 299) throw errorOf(answer)
        const id = objectOf(answer)?.id
        if (!isId(id))
          throw new SendError('uncertain', 'A Zenvia respondeu sem identificar a mensagem.', { answer: textOf(answer) })
        return {
          references: [id],
          answer: `${answer.status} ${cutText(textOf(answer), MAX_WORDS)}`,
          delivered: false,
          facts: { segments: parts.length, encoding },
        }
      },
      contentOf: smsContent,
      close: () => http.close(),
    }
  },
})

export const zenvia: ProviderModule<SmsMessage> = {
  create: zenviaProvider,
  identify(url) {
    const { endpoint, from } = readZenviaUrl(url)
    return `${from}@${endpoint}`
  },
  concurrency: url => Number(url.searchParams.get('window') ?? REQUESTS_AT_ONCE),
  callback: senders => zenviaCallback(secretsOf(senders, url => readZenviaUrl(url).secret)),
}

/** One reader for all subscriptions of this gateway: a request with one of their secrets comes from Zenvia. */
export function zenviaCallback(accounts: readonly CallbackAccount[]): Callback {
  return {
    name: ZENVIA,
    channel: 'sms',
    async read({ method, headers, body }) {
      const given = headers[SECRET_HEADER]
      if (method !== 'POST' || typeof given !== 'string') return null
      return contentOf(
        accounts,
        ({ secret }) => isSameSecret(given, secret),
        () => readEvent(body),
      )
    },
  }
}

export function readZenviaUrl(url: URL): { endpoint: URL; token: string; from: string; secret: string } {
  const wrong = (what: string): never => {
    throw new OperatorError(
      `SMS_URL: ${what}. Exemplo: zenvia://TOKEN@api.zenvia.com?from=minha-conta&secret=um-segredo-de-16-ou-mais`,
    )
  }
  const { searchParams, username, hostname, host, pathname } = url
  const from = searchParams.get('from') ?? ''
  const secret = searchParams.get('secret') ?? ''
  if (username === '') wrong('falta o token da Zenvia antes do @')
  if (hostname === '') wrong('falta o nome do servidor')
  refuseUnknown(url, ['from', 'secret', 'tls', 'window', 'rate'], wrong)
  if (from === '' || from.length > 64) wrong('from deve ser o remetente criado na Zenvia, com até 64 caracteres')
  if (!/^[\x21-\x7e]{16,200}$/.test(secret)) wrong('secret deve ter 16 caracteres ou mais, sem espaços nem acentos')
  const tls = searchParams.get('tls') ?? 'required'
  const local = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
  if (tls !== 'required' && !(tls === 'off' && local)) wrong('tls só pode ser off para esta máquina (127.0.0.1)')
  integerReader(url, wrong)('window', 1, 1, 1_000)
  const base = pathname.replace(/\/+$/, '')
  const endpoint = new URL(`${tls === 'off' ? 'http' : 'https'}://${host}${base}/v2/channels/sms/messages`)
  return { endpoint, token: readCredential(username, wrong, 'token'), from, secret }
}

function errorOf(answer: CarrierAnswer): SendError {
  const { status, retryAfterMs } = answer
  const shown = `${status} ${cutText(textOf(answer), MAX_WORDS)}`
  return new SendError(...meaningOf(answer), { answer: shown, retryAfterMs })
}

/** Only errors of the message itself are permanent: the operator can correct the account and SMS_URL, and messages wait for that. */
function meaningOf(answer: CarrierAnswer): [SendErrorKind, string] {
  const { status } = answer
  if (status === 429) return ['throttled', 'A Zenvia pediu para enviar mais devagar.']
  // Its own 503 or 408 says that the message was not taken.
  if ((status === 503 || status === 408) && isOwnError(answer))
    return ['temporary', 'A Zenvia não pôde aceitar a mensagem agora.']
  if (mayComeFromProxy(status) || status < 400) return ['uncertain', 'A Zenvia falhou sem dizer se aceitou a mensagem.']
  if (status === 401 || status === 403) return ['temporary', 'A Zenvia recusou o token (SMS_URL).']
  if (status === 402) return ['temporary', 'A Zenvia recusou por falta de saldo ou de pagamento. Confira a conta.']
  if (![400, 413, 422].includes(status)) return ['temporary', `A Zenvia não aceitou a chamada (${status}). Verifique SMS_URL.`]
  const details = objectOf(answer)?.details
  const isOfSender = Array.isArray(details) && details.length > 0 && details.every(detail => detail?.path === 'from')
  return isOfSender
    ? ['temporary', 'A Zenvia não aceita o remetente (from em SMS_URL).']
    : ['permanent', 'A Zenvia recusou a mensagem.']
}

/** Every error of Zenvia's API has a code and a message. A page, or the JSON of a gateway before it, does not. */
function isOwnError(answer: CarrierAnswer): boolean {
  const { code, message } = objectOf(answer) ?? {}
  return typeof code === 'string' && typeof message === 'string'
}

/** Any other value could not be stored as a reference. */
const isId = (value: unknown): value is string => typeof value === 'string' && /^[\x21-\x7e]{1,200}$/.test(value)

interface ZenviaEvent {
  id?: unknown
  type?: unknown
  direction?: unknown
  messageId?: unknown
  messageStatus?: { code?: unknown; description?: unknown; causes?: unknown }
  message?: { id?: unknown; from?: unknown; direction?: unknown; contents?: unknown }
}

/** Events of other kinds are accepted and ignored: Zenvia would repeat a refused one. */
function readEvent(body: Buffer): CarrierEvent[] {
  const event = parseJson(body) as ZenviaEvent | null
  if (event === null || typeof event !== 'object') return []
  if (event.type === 'MESSAGE_STATUS') return readStatus(event)
  return event.type === 'MESSAGE' ? readAnswer(event) : []
}

function readStatus({ messageId, messageStatus }: ZenviaEvent): CarrierEvent[] {
  const code = messageStatus?.code
  if (!isId(messageId) || typeof code !== 'string') return []
  const causes = messageStatus?.causes === undefined ? '' : ` ${cutText(JSON.stringify(messageStatus.causes), MAX_WORDS)}`
  const answer = `${cutText(code, MAX_WORDS)}${causes}`
  return [{ kind: 'report', of: { carrier: [messageId] }, at: null, answer, ...(statuses[code] ?? { type: 'note' }) }]
}

function readAnswer({ direction, message }: ZenviaEvent): CarrierEvent[] {
  const { id, from, contents } = message ?? {}
  if ((message?.direction ?? direction) !== 'IN' || typeof from !== 'string' || !Array.isArray(contents)) return []
  const texts = contents.flatMap((content: { type?: unknown; text?: unknown } | null) =>
    typeof content?.text === 'string' ? [content.text] : [],
  )
  const text = storable(texts.join('\n'))
  const number = readReportedNumber(from)
  if (text === '' || number === null) return []
  return [{ kind: 'reply', from: [number], text, id: isId(id) ? id : null, inReplyTo: null, at: null }]
}
