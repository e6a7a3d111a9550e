import type { Clock } from '../../domain/clock.js'
import { OperatorError } from '../../domain/errors.js'
import { cutText } from '../../domain/text/text.js'
import { MIB } from '../../domain/units.js'
import { CarrierHttp, objectOf, textOf } from '../carrier-http.js'
import type { CarrierReport } from '../provider.js'
import { readPostDate } from './post-date.js'
import { outcomeOf } from './return-reasons.js'

export type Rastro = ReturnType<typeof createRastro>

export interface PostEvent extends Pick<CarrierReport, 'failure' | 'reason'> {
  at: Date
  type: 'sent' | 'delivered' | 'failed' | 'note'
  /** The description that Correios gives. */
  text: string
}

/** The most codes that Correios allows in one request. */
export const MAX_TRACKED = 50
const TOKEN_MARGIN_MS = 60_000
const DEFAULT_TOKEN_MS = 30 * 60_000
const TIMEOUT_MS = 20_000
const MAX_ANSWER = 4 * MIB
const REASONS = { unsent: 'Os Correios não puderam ser alcançados.', unanswered: 'Os Correios não responderam.' }

/** The tracking of registered letters by Correios (SRO Rastro): https://usuario:codigo-de-acesso@api.correios.com.br?cartao=0012345678 */
export function createRastro(url: URL, clock: Clock) {
  const base = `${url.protocol}//${url.host}${url.pathname.replace(/\/+$/, '')}`
  const card = url.searchParams.get('cartao') ?? ''
  if (url.username === '' || url.password === '' || card === '') {
    throw new OperatorError('CORREIOS_URL deve ter usuário, código de acesso e ?cartao= com o cartão de postagem.')
  }
  const basic = Buffer.from(`${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`).toString('base64')
  const http = new CarrierHttp({ timeoutMs: TIMEOUT_MS, maxAnswerBytes: MAX_ANSWER, reasons: REASONS })
  let token: { text: string; until: number } | null = null

  async function authenticate(signal: AbortSignal): Promise<string> {
    if (token !== null && clock() < token.until) return token.text
    const url = `${base}/token/v1/autentica/cartaopostagem`
    const headers = { authorization: `Basic ${basic}`, 'content-type': 'application/json', accept: 'application/json' }
    const answer = await http.send({ method: 'POST', url, headers, body: JSON.stringify({ numero: card }) }, signal)
    const body = objectOf(answer)
    if (answer.status >= 300 || typeof body?.token !== 'string')
      throw new Error(`Correios gave no token: ${answer.status} ${textOf(answer).slice(0, 40)}`)
    const ends = typeof body.expiraEm === 'string' ? readPostDate(body.expiraEm) : null
    token = { text: body.token, until: (ends?.getTime() ?? clock() + DEFAULT_TOKEN_MS) - TOKEN_MARGIN_MS }
    return token.text
  }

  return {
    /** The events of each code, oldest first; codes that Correios does not know yet are absent. */
    async track(codes: readonly string[], signal: AbortSignal): Promise<Map<string, PostEvent[]>> {
      const query = new URLSearchParams({ codigosObjetos: codes.slice(0, MAX_TRACKED).join(','), resultado: 'T' })
      const authorization = `Bearer ${await authenticate(signal)}`
      const headers = { authorization, accept: 'application/json', 'accept-language': 'pt-BR' }
      const answer = await http.send({ method: 'GET', url: `${base}/srorastro/v1/objetos?${query}`, headers }, signal)
      const { status } = answer
      const objects = objectOf(answer)?.objetos
      if (status === 401 || status === 403) token = null
      if (status >= 300 || !Array.isArray(objects))
        throw new Error(`Correios did not answer for its objects: ${status} ${textOf(answer).slice(0, 500)}`)
      return new Map(objects.flatMap(readObject))
    },
  }
}

function readObject(object: unknown): [string, PostEvent[]][] {
  const { codObjeto, eventos } = (object ?? {}) as { codObjeto?: unknown; eventos?: unknown }
  if (typeof codObjeto !== 'string' || !Array.isArray(eventos)) return []
  // Correios lists the newest first, with times to the second: reversed, events of one second keep their order.
  const events = eventos.toReversed().flatMap(readEvent)
  return [[codObjeto, events.sort((a, b) => a.at.getTime() - b.at.getTime())]]
}

function readEvent(event: unknown): PostEvent[] {
  const { codigo, tipo, dtHrCriado, descricao } = (event ?? {}) as Record<string, unknown>
  if (typeof codigo !== 'string' || typeof dtHrCriado !== 'string') return []
  const at = readPostDate(dtHrCriado)
  if (at === null) return []
  const text = typeof descricao === 'string' ? cutText(descricao, 200) : `${codigo}/${String(tipo)}`
  return [{ at, text, ...meaningOf(codigo, Number(tipo)) }]
}

/** By code and type together: the same type means something else under another code. */
function meaningOf(code: string, type: number): Pick<PostEvent, 'type' | 'failure' | 'reason'> {
  if (code === 'PO' && (type === 1 || type === 9)) return { type: 'sent' }
  if (!['BDE', 'BDI', 'BDR'].includes(code)) return { type: 'note' }
  // 23: returned to the sender, without a reason.
  if (type === 23) return { type: 'failed', failure: 'returned', reason: 'Devolvido ao remetente' }
  return outcomeOf(type) ?? { type: 'note' }
}
