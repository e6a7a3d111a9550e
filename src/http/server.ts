import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify'
import { Refusal } from '../domain/errors.js'
import { type AuthOptions, createAuthentication } from './auth.js'
import { addBodyParser, type BodyLimits } from './body.js'
import { addCallbacks, type CallbackOptions } from './callbacks.js'
import { addDocuments, type ServedDocument } from './documents.js'
import { handleError, rawErrorResponse, sendRefusal } from './errors.js'
import { addFinalize, type FinalizeOptions } from './gw/finalize.js'
import { addFull, type FullOptions } from './gw/full.js'
import { addProofs } from './gw/proofs.js'
import { addSend, type SendOptions } from './gw/send.js'
import { addSequence, type SequenceOptions } from './gw/sequence.js'
import { addStatus, type StatusOptions } from './gw/status.js'
import { addTemplates, type TemplateOptions } from './gw/templates.js'
import { addWebhookListening } from './gw/webhook-listening.js'
import { addWebhooks, type WebhookOptions } from './gw/webhooks.js'
import { addHealth, type Readiness } from './health.js'
import { addMetrics, type MetricSources } from './metrics.js'
import { addOpenApi, type OpenApiOptions } from './openapi.js'
import { addAssets } from './recipient/assets.js'
import { addImage } from './recipient/image.js'
import { addPages, type PageOptions } from './recipient/pages.js'

export interface ServerOptions {
  log: FastifyBaseLogger
  auth: AuthOptions
  send: SendOptions
  status: StatusOptions & FullOptions
  templates: TemplateOptions
  sequence: SequenceOptions & FinalizeOptions
  callbacks: CallbackOptions
  webhooks: WebhookOptions
  openApi: OpenApiOptions
  recipient: PageOptions
  documents: readonly ServedDocument[]
  metrics: MetricSources
  readiness: Readiness
  bodies: BodyLimits
}

/** Of routes other than the send. */
const BODY_LIMIT = 1_048_576
const LINGER_MS = 10_000
/** Below these, everything asks for a token. */
const GUARDED = ['/gw', '/regua-notificacao']

/** The HTTP server with all its routes. Nothing listens yet. */
export function buildServer(options: ServerOptions): FastifyInstance {
  const { log, auth, metrics, readiness, bodies } = options
  const nextRequestId = requestIds()
  const authenticate = createAuthentication(auth)
  const app = fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: nextRequestId,
    bodyLimit: BODY_LIMIT,
    // No path that Node lets through is too long for the router: a long id is an unknown one, not an error of its own.
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 16_384 },
    // Requests that arrive on open connections while we stop are still served; the load balancer has been told.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    requestTimeout: 120_000,
    // Without Host is refused below: Node's own refusal would have no body.
    http: { requireHostHeader: false },
    clientErrorHandler: (error, socket) => answerRaw(error as NodeJS.ErrnoException, socket, nextRequestId()),
    // A path that cannot be decoded meets no hook: what they would have done is done here.
    frameworkErrors: (error, request, reply) => {
      reply.header('x-request-id', request.id)
      const guarded = GUARDED.some(prefix => request.url.startsWith(`${prefix}/`))
      const allowed = guarded ? authenticate(request, reply) : Promise.resolve()
      allowed.then(
        () => handleError(error, request, reply),
        refusal => handleError(refusal, request, reply),
      )
    },
  })
  app.setErrorHandler(handleError)
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1') done(new Refusal('malformed'))
    else done()
  })
  app.addHook('onSend', (request, _reply, _payload, done) => {
    const { raw } = request
    if (!raw.complete) {
      // Refused before its body was read: closing now would reset the connection, and the sender would never see why.
      raw.resume()
      raw.socket.destroySoon = () => linger(raw.socket)
    }
    done()
  })
  // RFC 9110, 10.1.1: an expectation that is not understood may be ignored.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  app.addHook('onResponse', (request, reply, done) => {
    request.log.info(
      {
        method: request.method,
        route: request.routeOptions.url,
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime * 10) / 10,
        account: request.caller?.account,
      },
      'request',
    )
    done()
  })
  addBodyParser(app, bodies)
  addOpenApi(app, options.openApi)
  addHealth(app, readiness)
  addImage(app, options.recipient)
  addDocuments(app, options.documents)
  addCallbacks(app, options.callbacks)
  addAssets(app, options.recipient.recipient)
  addPages(app, options.recipient)
  addMetrics(app, metrics)
  app.setNotFoundHandler((request, reply) => sendRefusal(reply, routeMissing(request)))

  // Unknown routes below these prefixes ask for the token first, like known ones.
  for (const prefix of GUARDED) {
    app.register(
      async scope => {
        scope.addHook('onRequest', authenticate)
        scope.setNotFoundHandler((request, reply) => sendRefusal(reply, routeMissing(request)))
      },
      { prefix },
    )
  }
  app.register(async scope => {
    scope.addHook('onRequest', authenticate)
    addSend(scope, options.send)
    addStatus(scope, options.status)
    addFull(scope, options.status)
    addProofs(scope, options.status)
    addTemplates(scope, options.templates)
    addSequence(scope, options.sequence)
    addFinalize(scope, options.sequence)
    addWebhooks(scope, options.webhooks)
    addWebhookListening(scope, options.webhooks)
  })
  return app
}

const routeMissing = (request: { method: string; url: string }): Refusal =>
  new Refusal('routeMissing', [request.method, request.url.split('?')[0]!.slice(0, 200)])

/** Unique across processes, short, and free to make: eight random bytes once, then a counter. */
function requestIds(): () => string {
  const prefix = randomBytes(8).toString('base64url')
  let count = 0
  return () => `${prefix}-${(++count).toString(36)}`
}

function answerRaw(error: NodeJS.ErrnoException, socket: Socket, requestId: string): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) {
    socket.destroy()
    return
  }
  // What arrives after the answer is an error again, and no second answer.
  if (!socket.writable) return
  socket.write(rawErrorResponse(error.code, requestId))
  linger(socket)
}

/** Ends our side, and takes in what the sender still writes, for a while: it reads the answer only after that. */
function linger(socket: Socket): void {
  socket.end()
  socket.resume()
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref()
  socket.once('close', () => clearTimeout(timer))
}
