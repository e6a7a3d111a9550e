import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify'
import type { TemplateRunner } from '../channels/template-runner.js'
import type { Clock } from '../domain/clock.js'
import { Refusal } from '../domain/errors.js'
import { MIB } from '../domain/units.js'
import type { AllowedSendOptions } from '../engine/accept/allowed-send.js'
import type { Pool } from '../store/postgres.js'
import { arrivalMs, closeWhenDone } from './arrivals.js'
import { type AuthOptions, createAuthentication } from './auth.js'
import { addBodyParser, type BodyLimits } from './body.js'
import { addCallbacks, type CallbackOptions } from './callbacks.js'
import { limitConnections } from './connections.js'
import { addConsole, type ConsoleOptions } from './console/console.js'
import { addDocuments, type ServedDocument } from './documents.js'
import { handleError, rawErrorResponse, refuseRoute, unknownRoute } from './errors.js'
import { addGuide, type GuideOptions } from './guide.js'
import { addBulk, type BulkLimits } from './gw/bulk.js'
import { addEvents } from './gw/events.js'
import { addEvidence, type EvidenceOptions } from './gw/evidence.js'
import { addProofs, type ProofOptions } from './gw/proofs.js'
import { addSearch } from './gw/search.js'
import { addSend, type SendOptions } from './gw/send.js'
import { addSequence } from './gw/sequence.js'
import { addFull, addStatus, type StatusOptions } from './gw/status.js'
import { addTemplates } from './gw/templates.js'
import { addUsage } from './gw/usage.js'
import { addWebhookListening } from './gw/webhook-listening.js'
import { addWebhooks, type WebhookOptions } from './gw/webhooks.js'
import { addMetrics, type MetricsOptions } from './metrics/metrics.js'
import { addOpenApi, type OpenApiOptions } from './openapi.js'
import { addHome, answerUnknownPath, type HomeOptions } from './people.js'
import { addAssets } from './recipient/assets.js'
import { addImage } from './recipient/image.js'
import { addPages, type PageOptions } from './recipient/pages.js'
import { addSecurityHeaders } from './security-headers.js'
import { serializerOf } from './serializers.js'
import { nameUnknownMembers } from './unknown-members.js'
import { LONGEST_TURN_WAIT_MS } from './uploads.js'
import { addVerification, type VerificationOptions } from './verification/pages.js'

export interface ServerOptions {
  log: FastifyBaseLogger
  pool: Pool
  clock: Clock
  isStopping(): boolean
  /** Rejects unless a send would be accepted now. */
  checkReadiness(): Promise<void>
  auth: AuthOptions
  send: SendOptions & AllowedSendOptions
  bulk: BulkLimits
  status: StatusOptions
  proofs: ProofOptions
  callbacks: CallbackOptions
  templates: TemplateRunner
  webhooks: Omit<WebhookOptions, 'pool' | 'clock' | 'isStopping'>
  openApi: OpenApiOptions
  guide: GuideOptions
  recipient: PageOptions
  home: HomeOptions
  console: Omit<ConsoleOptions, SharedWithConsole>
  documents: readonly ServedDocument[]
  evidence: EvidenceOptions
  verification: VerificationOptions
  metrics: MetricsOptions
  /** People reach us by https. */
  secure: boolean
  bodies: BodyLimits
  /** Connections of one address at once. */
  connectionsPerAddress: number
  /** How long a stop waits for requests that are still arriving, and for answers that are still being read. */
  stopMs: number
}

/** What other parts of the server have as well. */
type SharedWithConsole =
  | 'pool'
  | 'clock'
  | 'secure'
  | 'contracts'
  | 'budgets'
  | 'trustedProxies'
  | 'status'
  | 'proofs'
  | 'evidence'
  | 'cleaner'
  | 'verificationOf'
  | 'readLog'
  | 'templates'
  | 'send'
  | 'bulk'
  | keyof ServerOptions['webhooks']

/** For all routes except the send. */
const BODY_LIMIT = MIB
const LINGER_MS = 10_000
/** For a sender whose body is not read: it must look at the answer while it writes. */
const UNREAD_LINGER_MS = 1_000
/** For the first bytes of a connection and for the headers of every request. */
const HEADERS_MS = 15_000
const LOOK_AT_CONNECTIONS_MS = 5_000
/** Every route below these prefixes requires a token. */
const GUARDED = ['/gw', '/regua-notificacao']

/** The HTTP server with all its routes. Nothing listens yet. */
export function buildServer(options: ServerOptions): FastifyInstance {
  const { log, auth, pool, clock, isStopping } = options
  const nextRequestId = requestIds()
  const authenticate = createAuthentication(auth)
  const app = fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: nextRequestId,
    bodyLimit: BODY_LIMIT,
    // No path that Node accepts is too long for the router, so that a long id is refused like an unknown one.
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 16_384 },
    // Requests on open connections are still served while the process stops; the load balancer sees /readyz.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    // Node counts the wait of a file for its turn too.
    requestTimeout: arrivalMs(Math.max(options.send.maxBodyBytes, options.bulk.maxBytes)) + LONGEST_TURN_WAIT_MS,
    // A request without Host is refused below, because Node's own refusal has no body.
    http: { requireHostHeader: false, headersTimeout: HEADERS_MS, connectionsCheckingInterval: LOOK_AT_CONNECTIONS_MS },
    clientErrorHandler: (error, socket) => answerRaw(error as NodeJS.ErrnoException, socket, nextRequestId()),
    // No hook runs for a path that cannot be decoded, so their work is done here.
    frameworkErrors: (error, request, reply) => {
      reply.header('x-request-id', request.id)
      const guarded = GUARDED.some(prefix => request.url.startsWith(`${prefix}/`))
      const allowed = guarded ? authenticate(request, reply) : Promise.resolve()
      allowed.then(
        () => (guarded ? handleError : answerUnknownPath)(error, request, reply),
        refusal => handleError(refusal, request, reply),
      )
    },
  })
  app.setSerializerCompiler(({ schema }) => serializerOf(schema))
  app.setErrorHandler(handleError)
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1') done(new Refusal('malformed'))
    else done()
  })
  app.addHook('onSend', (request, reply, _payload, done) => {
    const { raw } = request
    if (!raw.complete) {
      // The request was refused before its body was read. Closing now would reset the connection before the sender reads the answer.
      const reads = !raw.isPaused()
      if (reads) raw.resume()
      else reply.header('connection', 'close')
      raw.socket.destroySoon = () => linger(raw.socket, reads)
    }
    done()
  })
  limitConnections(app.server, { perAddress: options.connectionsPerAddress, trustedProxies: auth.trustedProxies })
  closeWhenDone(app.server, options.stopMs)
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
        mode: request.caller?.mode,
        reason: request.tokenFault,
      },
      'request',
    )
    done()
  })
  addSecurityHeaders(app, options.secure)
  const readBody = addBodyParser(app, options.bodies)
  addOpenApi(app, options.openApi)
  addGuide(app, options.guide)
  addHealth(app, options)
  addImage(app, options.recipient)
  addDocuments(app, options.documents)
  addCallbacks(app, options.callbacks, readBody)
  addAssets(app, options.recipient.recipient)
  addPages(app, options.recipient, readBody)
  addVerification(app, options.verification, readBody)
  addHome(app, options.home)
  const { contracts } = options.status
  const { secure } = options
  addConsole(app, {
    ...options.console,
    ...options.webhooks,
    pool,
    clock,
    contracts,
    secure,
    trustedProxies: auth.trustedProxies,
    budgets: auth.budgets,
    status: options.status,
    proofs: options.proofs,
    evidence: options.evidence,
    cleaner: options.recipient.cleaner,
    verificationOf: options.recipient.verificationOf,
    readLog: options.verification.readLog,
    templates: options.templates,
    send: options.send,
    bulk: options.bulk,
  })
  addMetrics(app, options.metrics)
  app.setNotFoundHandler((request, reply) => answerUnknownPath(unknownRoute(request), request, reply))

  // Unknown routes below these prefixes require the token first, like known ones.
  for (const prefix of GUARDED) {
    app.register(
      async scope => {
        scope.addHook('onRequest', authenticate)
        scope.setNotFoundHandler(refuseRoute)
      },
      { prefix },
    )
  }
  app.register(async scope => {
    scope.addHook('onRequest', authenticate)
    scope.addHook('preHandler', nameUnknownMembers)
    addSend(scope, options.send)
    addBulk(scope, options)
    addStatus(scope, options.status)
    addFull(scope, options.status)
    addProofs(scope, options.proofs)
    addSearch(scope, { pool, contracts: options.status.contracts })
    addEvents(scope, { pool })
    addEvidence(scope, options.evidence)
    addTemplates(scope, options)
    addSequence(scope, options)
    addUsage(scope, options)
    const webhooks = { ...options.webhooks, pool, clock, isStopping }
    addWebhooks(scope, webhooks)
    addWebhookListening(scope, webhooks)
  })
  return app
}

/** /healthz: the process runs. /readyz: a send would be accepted now. */
function addHealth(app: FastifyInstance, { isStopping, checkReadiness }: ServerOptions): void {
  app.get('/healthz', async () => ({ status: 'ok' }))
  app.get('/readyz', async () => {
    if (isStopping()) throw new Refusal('stopping', [], { retryAfter: 5 })
    await checkReadiness()
    return { status: 'ok' }
  })
}

/** Short ids that are unique across processes and cost nothing: eight random bytes once, then a counter. */
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
  // Bytes that arrive after the answer are an error again and get no second answer.
  if (!socket.writable) return
  socket.write(rawErrorResponse(error.code, requestId))
  linger(socket)
}

/** Ends our side and reads the rest of the request for a while, because the sender reads the answer only after writing it. */
function linger(socket: Socket, reads = true): void {
  socket.end()
  if (reads) socket.resume()
  const timer = setTimeout(() => socket.destroy(), reads ? LINGER_MS : UNREAD_LINGER_MS).unref()
  socket.once('close', () => clearTimeout(timer))
}
