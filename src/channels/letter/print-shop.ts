import { createHmac } from 'node:crypto'
import { isSameSecret } from '../../domain/access/secret.js'
import type { Clock } from '../../domain/clock.js'
import { readTrackingCode } from '../../domain/delivery/tracking-code.js'
import { OperatorError } from '../../domain/errors.js'
import { cutText } from '../../domain/text/text.js'
import { MIB } from '../../domain/units.js'
import { type CallbackAccount, contentOf, secretsOf } from '../callback-accounts.js'
import { type CarrierAnswer, CarrierHttp, mayComeFromProxy, objectOf, textOf } from '../carrier-http.js'
import { type Callback, type CallbackRequest, type CarrierReport, type Provider, type Receipt, SendError } from '../provider.js'
import type { ProviderModule } from '../provider-module.js'
import { readCredential, refuseUnknown } from '../url-options.js'
import { LETTERS_AT_ONCE, type LetterMessage, letterContent } from './letter-message.js'
import { readPostDate } from './post-date.js'
import type { PostalAddress } from './postal-address.js'

const PRINT_SHOP = 'print-shop'
const TIMEOUT_MS = 18_000
const MAX_ANSWER = 4 * MIB
const REASONS = { unsent: 'O serviço de impressão não pôde ser alcançado.', unanswered: 'O serviço de impressão não respondeu.' }
/** An older callback may be a replayed one. */
const FRESH_MS = 300_000

/**
 * print+https://TOKEN:SEGREDO@host/caminho; options: conta=name of the account, rate=letters a second (of the lane). `secret` is
 * the key of the callbacks' signatures, empty where the service sends no callbacks. `account`: the token names the account, unless
 * the operator gives a name that stays when the token changes.
 */
function readPrintAccount(url: URL): { base: string; token: string; secret: string; account: string } {
  const wrong = (what: string): never => {
    throw new OperatorError(`LETTER_URL: ${what}. Exemplo: print+https://TOKEN:SEGREDO@servidor/caminho`)
  }
  const token = readCredential(url.username, wrong)
  if (token === '' || url.hostname === '') wrong('faltam o token ou o servidor do serviço de impressão')
  refuseUnknown(url, ['conta', 'rate'], wrong)
  const base = `${url.protocol.slice('print+'.length)}//${url.host}${url.pathname.replace(/\/+$/, '')}`
  return { base, token, secret: readCredential(url.password, wrong), account: url.searchParams.get('conta') || token }
}

/** The meaning of `situacao`. */
const SITUATIONS: Record<string, Pick<CarrierReport, 'type' | 'failure'>> = {
  processando: { type: 'processed' },
  preparada: { type: 'prepared' },
  postada: { type: 'sent' },
  entregue: { type: 'delivered' },
  devolvida: { type: 'failed', failure: 'returned' },
  extraviada: { type: 'failed', failure: 'undelivered' },
  recusada: { type: 'failed', failure: 'rejected' },
}

/**
 * A print service over HTTP, as docs/carta.md describes it: it prints letters, puts them into envelopes and posts them. Our reference
 * is the idempotency key of an order and its name in lookups.
 */
export function printShopProvider(): Provider<LetterMessage> {
  return {
    name: PRINT_SHOP,
    channel: 'letter',
    whenUnknown: 'lookup',
    timeoutMs: TIMEOUT_MS,
    async open(url) {
      const { base, token } = readPrintAccount(url)
      const http = new CarrierHttp({ timeoutMs: TIMEOUT_MS, maxAnswerBytes: MAX_ANSWER, reasons: REASONS })
      const headers = { authorization: `Bearer ${token}`, accept: 'application/json' }
      return {
        async send(message, signal) {
          const order = {
            method: 'POST' as const,
            url: `${base}/cartas`,
            headers: { ...headers, 'content-type': 'application/json', 'idempotency-key': message.reference },
            body: JSON.stringify(toOrder(message)),
          }
          return { ...readReceipt(await http.send(order, signal)), facts: { pages: message.pages } }
        },
        async find(reference, _sentTo, signal) {
          const url = `${base}/cartas/${encodeURIComponent(reference)}`
          const answer = await http.send({ method: 'GET', url, headers }, signal)
          // The body must say it: a 404 of a proxy in between must not make the letter be printed twice.
          return answer.status === 404 && objectOf(answer)?.situacao === 'desconhecida' ? 'unknown' : readReceipt(answer)
        },
        contentOf: letterContent,
        close: () => http.close(),
      }
    },
  }
}

const toOrder = ({ reference, layout, subject, recipient, sender, pdf, sha256, pages }: LetterMessage) => ({
  referencia: reference,
  modelo: layout,
  assunto: subject,
  destinatario: { nome: recipient.name, ...toAddress(recipient.address) },
  remetente: { nome: sender.name, ...(sender.address === null ? {} : toAddress(sender.address)) },
  documento: { base64: Buffer.from(pdf).toString('base64'), sha256, paginas: pages },
})

function toAddress({ street, number, complement, district, city, state, postcode }: PostalAddress) {
  const place = { bairro: district, cidade: city, uf: state, cep: postcode }
  return { logradouro: street, numero: number, complemento: complement, ...place }
}

/** Only its own 503, with a `mensagem`, says that the order was not taken. After any other 5xx, or a 408, it is looked up before it is sent again. */
function readReceipt(answer: CarrierAnswer): Receipt {
  const { status, retryAfterMs } = answer
  const body = objectOf(answer)
  const text = `${status} ${cutText(textOf(answer), 500)}`
  if (status >= 200 && status < 300) {
    const id = body?.id
    if (typeof id === 'string' && id !== '') return { references: [id], answer: text, delivered: false }
    throw new SendError('uncertain', 'O serviço de impressão respondeu sem o número da carta.', { answer: text })
  }
  const options = { answer: text, ...(retryAfterMs === null ? {} : { retryAfterMs }) }
  if (status === 429) throw new SendError('throttled', 'O serviço de impressão pediu para esperar.', options)
  const said = typeof body?.mensagem === 'string' ? cutText(body.mensagem, 300) : null
  if (status === 503 && said !== null) throw new SendError('temporary', 'O serviço de impressão está fora do ar.', options)
  if ([400, 409, 413, 422].includes(status)) {
    throw new SendError('permanent', `O serviço de impressão recusou a carta: ${said ?? `resposta ${status}`}`, options)
  }
  if (mayComeFromProxy(status)) throw new SendError('uncertain', 'O serviço de impressão falhou ao responder.', options)
  // The operator can correct a wrong token or path: the letters wait.
  throw new SendError('temporary', `O serviço de impressão não aceitou a chamada (${status}). Verifique LETTER_URL.`, options)
}

export const printShop: ProviderModule<LetterMessage, unknown, { clock: Clock }> = {
  create: printShopProvider,
  identify(url) {
    const { account, base } = readPrintAccount(url)
    return `${account}@${base}`
  },
  concurrency: () => LETTERS_AT_ONCE,
  callback: (senders, { clock }) =>
    printShopCallback(
      secretsOf(senders, url => readPrintAccount(url).secret),
      clock,
    ),
}

/** An account with an empty secret signs nothing. */
export function printShopCallback(accounts: readonly CallbackAccount[], clock: Clock): Callback {
  return {
    name: PRINT_SHOP,
    channel: 'letter',
    async read(request) {
      const isSigner = ({ secret }: CallbackAccount): boolean => secret !== '' && isSigned(request, secret, clock())
      return request.method === 'POST' ? contentOf(accounts, isSigner, () => readReports(request.body)) : null
    },
  }
}

function isSigned({ headers, body }: CallbackRequest, secret: string, now: number): boolean {
  const [timestamp, signature] = [headers['carteiro-timestamp'], headers['carteiro-signature']]
  if (typeof timestamp !== 'string' || typeof signature !== 'string' || !/^\d{1,12}$/.test(timestamp)) return false
  if (Math.abs(now - Number(timestamp) * 1_000) > FRESH_MS) return false
  return isSameSecret(signature, `v1=${createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex')}`)
}

/** A callback without a meaning for us has no report. It is accepted nevertheless, because the service would repeat it. */
function readReports(body: Buffer): CarrierReport[] {
  const { referencia, situacao, em, sro, motivo } = objectOf({ body, complete: true }) ?? {}
  const situation = typeof situacao === 'string' && Object.hasOwn(SITUATIONS, situacao) ? SITUATIONS[situacao]! : null
  if (typeof referencia !== 'string' || situation === null) return []
  const at = typeof em === 'string' ? readPostDate(em) : null
  const code = typeof sro === 'string' ? readTrackingCode(sro) : null
  const reason = typeof motivo === 'string' && motivo.trim() !== '' ? cutText(motivo.trim(), 200) : undefined
  const answer = reason === undefined ? `${situacao}` : `${situacao}: ${reason}`
  const failed = situation.failure === undefined ? {} : { reason: reason ?? 'motivo não informado' }
  const tracking = code === null ? {} : { trackingCode: code }
  return [{ kind: 'report', of: { ours: referencia }, ...situation, at, answer, ...failed, ...tracking }]
}
