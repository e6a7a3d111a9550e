import type { FastifyReply, FastifyRequest } from 'fastify'
import { brazilianDate } from '../domain/text/dates.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Why the token was refused, for the log. */
    tokenFault?: string
  }
}

/** Why a request is not authenticated. */
export type TokenFault =
  | { fault: 'missing' | 'repeated' | 'prefix' | 'no token' | 'forged' | 'revoked' }
  | { fault: 'expired'; at: Date }

/** A text that was refused as a token: what is wrong with its form, or else with its signature. */
export function faultOfText(text: string): TokenFault {
  if (/^(bearer|token|jwt)[\s:]/i.test(text)) return { fault: 'prefix' }
  return { fault: /^[\w-]+\.[\w-]+\.[\w-]+$/.test(text) ? 'forged' : 'no token' }
}

/**
 * Tells the caller how to correct a 401 whose body is fixed, in the header that RFC 9110 (11.6.1) asks of every 401. The scheme is
 * not Bearer, because clients would answer with the prefix that is refused. Nothing of the request is repeated, and what was forged,
 * revoked or never issued here reads the same: the holder of a found token must not learn what it was.
 */
export function explainUnauthorized(request: FastifyRequest, reply: FastifyReply, fault: TokenFault): void {
  request.tokenFault = reasonOf(fault)
  reply.header('www-authenticate', `JWT realm="carteiro", error_description="${hintOf(fault)}"`)
}

const hints = {
  missing: 'falta o token no cabecalho Authorization',
  repeated: 'o cabecalho Authorization veio mais de uma vez',
  prefix: 'envie o token puro, sem o prefixo Bearer',
  'no token': 'o texto nao e um token: confira se foi copiado inteiro, sem espacos nem aspas',
  unknown: 'este token nao vale aqui: confira o endereco ou peca outro',
} as const

/** In ASCII, because older clients read no other letters in headers. */
function hintOf(fault: TokenFault): string {
  if (fault.fault === 'expired') return `token expirado em ${brazilianDate(fault.at)} (Brasilia): peca outro`
  return hints[fault.fault === 'forged' || fault.fault === 'revoked' ? 'unknown' : fault.fault]
}

const reasons = {
  missing: 'sem token',
  repeated: 'Authorization repetido',
  prefix: 'prefixo Bearer',
  'no token': 'não é um token',
  forged: 'assinatura de outra instalação, ou inválida',
  revoked: 'revogado ou apagado',
} as const

const reasonOf = (fault: TokenFault): string =>
  fault.fault === 'expired' ? `token expirado em ${brazilianDate(fault.at)}` : reasons[fault.fault]
