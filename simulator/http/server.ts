import { STATUS_CODES } from 'node:http'
import fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { Refusal } from '../../src/domain/errors.js'
import { html } from '../../src/domain/text/html.js'
import { parseUntrustedJson } from '../../src/domain/text/json.js'
import { MIB } from '../../src/domain/units.js'
import { isLoopback } from '../addresses.js'
import { SimulatorError } from '../simulator-error.js'
import { type ApiParts, addApi } from './api.js'
import { layout, PAGE_POLICY } from './layout.js'
import { addPages } from './pages.js'
import { addReportRoutes, type ReportRouteParts } from './report-routes.js'

export interface HttpParts extends ApiParts, ReportRouteParts {
  port: number
}

const BODY_LIMIT = MIB

export async function openHttp(parts: HttpParts): Promise<{ url: string; close(): Promise<void> }> {
  const app = fastify({
    bodyLimit: BODY_LIMIT,
    forceCloseConnections: true,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 1_000 },
    frameworkErrors: answerError,
  })
  app.setErrorHandler(answerError)
  app.setNotFoundHandler((request, reply) =>
    answerError(new Refusal('routeMissing', [request.method, pathOf(request)]), request, reply),
  )
  guard(app, isLoopback(parts.host))
  readBodies(app)
  addApi(app, parts)
  addReportRoutes(app, parts)
  addPages(app, parts)
  for (const channel of parts.channels) app.register(async scope => channel.addRoutes?.(scope))
  const url = await app.listen({ host: parts.host, port: parts.port })
  return { url, close: () => app.close() }
}

/** Keeps other sites in the same browser from reading the inbox (DNS rebinding) and from submitting its forms. */
function guard(app: FastifyInstance, loopbackOnly: boolean): void {
  app.addHook('onRequest', async (request, reply) => {
    // With no-referrer the browser would send the simulator's own forms with "Origin: null", which is refused below.
    reply.headers({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'same-origin', 'cache-control': 'no-store' })
    const host = request.headers.host ?? ''
    if (loopbackOnly && !isLoopback(host.replace(/:\d+$/, ''))) {
      throw new SimulatorError(403, 'O simulador só atende por localhost ou 127.0.0.1.')
    }
    const { origin } = request.headers
    if (request.method !== 'GET' && origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`) {
      throw new SimulatorError(403, 'O simulador não aceita comandos vindos de outro site.')
    }
  })
}

function readBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    // Clients often send a DELETE with the content type and no body.
    if (body.length === 0) return done(null, undefined)
    try {
      done(null, parseUntrustedJson(body as Buffer))
    } catch (error) {
      done(error as Error)
    }
  })
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) => {
    done(null, new URLSearchParams(body as string))
  })
}

/** The same three members as the gateway's errors, or a page for browsers. */
function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { status, message } = describe(error, request)
  if (!request.url.startsWith('/simulator/') && request.headers.accept?.includes('text/html')) {
    const body = html`<h1>Não deu certo</h1><p class="alert">${message}</p><p><a href="/">Ver as mensagens</a></p>`
    reply.code(status).type('text/html; charset=utf-8').header('content-security-policy', PAGE_POLICY)
    return reply.send(layout({ title: 'Não deu certo', current: null, faults: 0, body }))
  }
  return reply.code(status).send({ statusCode: status, message, error: STATUS_CODES[status] ?? 'Error' })
}

function describe(error: unknown, request: FastifyRequest): { status: number; message: string } {
  if (error instanceof SimulatorError) return { status: error.status, message: error.message }
  if (error instanceof Refusal) return { status: error.kind === 'missing' ? 404 : 400, message: error.message }
  const { code, statusCode = 500 } = error as FastifyError
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return { status: 413, message: new Refusal('bodyTooLarge', ['1 MiB']).message }
  if (code?.startsWith('FST_ERR_CTP_')) return { status: 400, message: new Refusal('contentType').message }
  if (statusCode < 500) return { status: statusCode, message: new Refusal('wrongValue', [`URL (${pathOf(request)})`]).message }
  return { status: 500, message: `Erro interno do simulador: ${(error as Error).message}` }
}

const pathOf = (request: FastifyRequest): string => request.url.split('?')[0]!.slice(0, 200)
