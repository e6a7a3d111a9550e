import { OperatorError } from '../../domain/errors.js'
import { cutText } from '../../domain/text/text.js'
import { DAY_MS } from '../../domain/units.js'
import { askWithCredentials, type CarrierAnswer, CarrierHttp, objectOf, textOf } from '../carrier-http.js'
import { type Provider, type Receipt, SendError } from '../provider.js'
import type { ProviderModule } from '../provider-module.js'
import { choiceReader, integerReader, refuseUnknown } from '../url-options.js'
import { CLOUD_NAME, cloudCallback } from './cloud-callback.js'
import { readRefusal } from './graph-errors.js'
import type { TemplateParameter, WhatsappMessage } from './whatsapp-message.js'

/** Less than a third of the lease: a worker that is alive is never taken for dead in the middle of a send. */
const TIMEOUT_MS = 15_000
const MAX_ANSWER = 65_536
/** The longest text of an answer that the timeline shows. */
const MAX_SHOWN = 1_000
/** Meta repeats a callback that failed for seven days: until then its report may come. */
const LONGEST_REPORT_MS = 7 * DAY_MS
const REASONS = {
  unsent: 'Não foi possível conectar ao WhatsApp.',
  unanswered: 'O WhatsApp recebeu a mensagem e não respondeu.',
}

/**
 * WhatsApp through Meta's Cloud API: whatsapp://TOKEN@graph.facebook.com/v23.0/PHONE_NUMBER_ID.
 * Options: pool=connections, tls=off (simulator and tests), unanswered=person or repeat, rate=messages a second (of the lane).
 */
export const cloudProvider: Provider<WhatsappMessage> = {
  name: CLOUD_NAME,
  channel: 'whatsapp',
  // The carrier cannot be asked, but its reports give our reference back. A missing report proves nothing: docs/adr/0026.
  whenUnknown: 'report',
  timeoutMs: TIMEOUT_MS,
  async open(url) {
    const { origin, token, version, phoneNumberId, connections, unanswered } = readCloudUrl(url)
    const http = new CarrierHttp({ timeoutMs: TIMEOUT_MS, maxAnswerBytes: MAX_ANSWER, connections, reasons: REASONS })
    const target = `${origin}/${version}/${phoneNumberId}/messages`
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    return {
      async send(message, signal) {
        const body = bodyOf(message)
        return readAnswer(await http.send({ method: 'POST', url: target, headers, body }, signal))
      },
      ...(unanswered === 'repeat' ? { repeatAfterMs: LONGEST_REPORT_MS } : {}),
      contentOf: message => ({
        type: 'application/json',
        extension: 'json',
        bytes: Buffer.from(bodyOf(message)),
        secrets: message.secrets ?? [],
      }),
      close: () => http.close(),
    }
  },
}

/** The next message is ready when a connection is; more would use up their time while they wait for a slow carrier. */
const MESSAGES_PER_CONNECTION = 2

export const cloud: ProviderModule<WhatsappMessage, unknown, CloudSecrets> = {
  create: () => cloudProvider,
  identify: url => `${readCloudUrl(url).phoneNumberId}@${url.host}`,
  concurrency: url => MESSAGES_PER_CONNECTION * readCloudUrl(url).connections,
  checkCredentials(url, signal) {
    const { origin, token, version, phoneNumberId } = readCloudUrl(url)
    const address = `${origin}/${version}/${phoneNumberId}?fields=display_phone_number,verified_name,quality_rating`
    return askWithCredentials({ method: 'GET', url: address, headers: { authorization: `Bearer ${token}` } }, signal)
  },
  callback(senders, { appSecret, verifyToken }) {
    if ('carriers' in senders) {
      const numbers = new Map(senders.carriers.map(({ url, identity }) => [readCloudUrl(url).phoneNumberId, identity]))
      return cloudCallback({
        appSecret: appSecret!,
        verifyToken: verifyToken!,
        identityOf: number => numbers.get(number) ?? null,
      })
    }
    // The simulator has one number.
    const { simulatorSecret, identity } = senders
    return cloudCallback({ appSecret: simulatorSecret, verifyToken: simulatorSecret, identityOf: () => identity })
  },
}

/** Both are set where there is a carrier. */
export interface CloudSecrets {
  appSecret: string | null
  verifyToken: string | null
}

/** The token is a credential and is shown in no message. */
export function readCloudUrl(url: URL) {
  const wrong = (what: string): never => {
    throw new OperatorError(`WHATSAPP_URL: ${what}. Exemplo: whatsapp://TOKEN@graph.facebook.com/v23.0/106540352242922`)
  }
  const [, version, phoneNumberId] = /^\/(v\d{1,3}\.\d{1,2})\/(\d{5,20})\/?$/.exec(url.pathname) ?? []
  if (url.protocol !== 'whatsapp:' || url.hostname === '') wrong('o endereço deve começar com whatsapp://')
  // A token with characters that no header may hold would fail every send instead of the start.
  const token = url.username.replaceAll('%7C', '|')
  if (!/^[\w.~|-]+$/.test(token) || url.password !== '') wrong('falta o token de acesso, como a Meta o deu, antes do @')
  if (version === undefined || phoneNumberId === undefined) wrong('o caminho deve ser /versão/identificador-do-número')
  refuseUnknown(url, ['pool', 'tls', 'unanswered', 'rate'], wrong)
  const tls = url.searchParams.get('tls')
  if (tls !== null && tls !== 'off') wrong('tls só pode ser off')
  return {
    origin: `${tls === 'off' ? 'http' : 'https'}://${url.host}`,
    token,
    version: version!,
    phoneNumberId: phoneNumberId!,
    connections: integerReader(url, wrong)('pool', 20, 1, 200),
    unanswered: choiceReader(url, wrong)('unanswered', ['person', 'repeat']),
  }
}

const bodyOf = (message: WhatsappMessage): string => JSON.stringify(toRequest(message))

const toRequest = ({ reference, to, template, language, header, body, buttons }: WhatsappMessage) => ({
  messaging_product: 'whatsapp',
  recipient_type: 'individual',
  to: to.replace(/^\+/, ''),
  type: 'template',
  template: {
    name: template,
    language: { code: language },
    components: [
      ...(header.length === 0 ? [] : [{ type: 'header', parameters: header.map(toParameter) }]),
      ...(body.length === 0 ? [] : [{ type: 'body', parameters: body.map(toParameter) }]),
      ...buttons.map(({ index, suffix }) => ({
        type: 'button',
        sub_type: 'url',
        index: String(index),
        parameters: [{ type: 'text', text: suffix }],
      })),
    ],
  },
  biz_opaque_callback_data: reference,
})

const toParameter = ({ name, text }: TemplateParameter) =>
  name === null ? { type: 'text', text } : { type: 'text', parameter_name: name, text }

function readAnswer(answer: CarrierAnswer): Receipt {
  const { status } = answer
  if (status < 200 || status > 299) throw readRefusal(answer)
  const shown = `${status} ${cutText(textOf(answer), MAX_SHOWN)}`
  const { messages } = (objectOf(answer) ?? {}) as { messages?: { id?: unknown }[] }
  const id = Array.isArray(messages) ? messages[0]?.id : null
  // The message was taken without a name: the reports give our reference back and so tell which message they are about.
  if (typeof id !== 'string' || id === '')
    throw new SendError('uncertain', 'O WhatsApp respondeu sem identificar a mensagem.', { answer: shown })
  return { references: [id], answer: shown, delivered: false }
}
