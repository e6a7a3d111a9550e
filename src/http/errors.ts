import { STATUS_CODES } from 'node:http'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import {
  FileDamaged,
  FilesUnavailable,
  overloaded,
  Refusal,
  type RefusalKind,
  StoreBusy,
  StoreUnavailable,
} from '../domain/errors.js'
import { isOutage } from '../store/postgres.js'

/** The one place where refusals become HTTP. */
export const httpStatusOf: Record<RefusalKind, number> = {
  invalid: 400,
  unauthorized: 401,
  'cap-reached': 402,
  forbidden: 403,
  missing: 404,
  'too-slow': 408,
  conflict: 409,
  'in-progress': 409,
  gone: 410,
  'too-large': 413,
  'key-reused': 422,
  limited: 429,
  unavailable: 503,
  unknown: 504,
}

/** The body of every refusal. */
export const errorBody = (statusCode: number, message: string) => ({
  statusCode,
  message,
  error: STATUS_CODES[statusCode] ?? 'Error',
})

function sendRefusal(reply: FastifyReply, refusal: Refusal): FastifyReply {
  const status = httpStatusOf[refusal.kind]
  if (refusal.retryAfter !== undefined) reply.header('retry-after', String(refusal.retryAfter))
  return reply.code(status).send(errorBody(status, refusal.message))
}

/** The URL is cut, because the caller may have made it as long as a header may be. */
export const unknownRoute = ({ method, url }: FastifyRequest): Refusal =>
  new Refusal('routeMissing', [method, url.split('?')[0]!.slice(0, 200)])

export const refuseRoute = (request: FastifyRequest, reply: FastifyReply): FastifyReply =>
  sendRefusal(reply, unknownRoute(request))

export function handleError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const refusal = toRefusal(error)
  if (refusal === null) {
    request.log.error({ err: error }, 'request failed')
    return reply.code(500).send(errorBody(500, 'Internal Server Error'))
  }
  const err = refusal.cause ?? refusal
  if (refusal.kind === 'unknown' || (refusal.kind === 'unavailable' && !isOutage(err)))
    request.log.warn({ err }, 'request refused')
  return sendRefusal(reply, refusal)
}

/** null: no file outside of the database is to blame. */
export function toFileRefusal(error: unknown): Refusal | null {
  if (error instanceof FilesUnavailable) return new Refusal('filesAway', [], { retryAfter: 60, cause: error })
  return error instanceof FileDamaged ? new Refusal('fileDamaged', [], { cause: error }) : null
}

function toRefusal(error: unknown): Refusal | null {
  if (error instanceof Refusal) return error
  if (error instanceof StoreBusy) return overloaded(error)
  const ofFile = toFileRefusal(error)
  if (ofFile !== null) return ofFile
  if (error instanceof StoreUnavailable) return unavailable(error)
  const { code, statusCode } = error as FastifyError
  if (code?.startsWith('FST_ERR_CTP_')) return new Refusal('contentType', [], { cause: error })
  if (code === 'FST_ERR_BAD_URL') return new Refusal('badUrl', [], { cause: error })
  return statusCode === 400 ? new Refusal('malformed', [], { cause: error }) : null
}

/** 503 promises that nothing was written; a commit whose answer was lost is 504, which bears no Retry-After. */
function unavailable({ maybeCommitted, reachable, cause }: StoreUnavailable): Refusal {
  if (maybeCommitted) return new Refusal('writeUnknown', [], { cause })
  return new Refusal(reachable ? 'databaseRefused' : 'databaseAway', [], { retryAfter: 5, cause })
}

const rawErrors: Record<string, [status: number, message: string]> = {
  HPE_HEADER_OVERFLOW: [431, 'Os cabeçalhos da requisição são grandes demais. Reduza-os.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, new Refusal('tooSlow').message],
}

/** The answer to bytes that Node could not read as a request: too large headers, malformed HTTP. */
export function rawErrorResponse(code: string | undefined, requestId: string): string {
  const [status, message] = rawErrors[code ?? ''] ?? [400, new Refusal('malformed').message]
  const body = JSON.stringify(errorBody(status, message))
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    'connection: close',
    '',
    body,
  ].join('\r\n')
}
