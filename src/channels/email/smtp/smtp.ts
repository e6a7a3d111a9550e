import { setMaxListeners } from 'node:events'
import { hostname } from 'node:os'
import type { PackedContent, SentContent } from '../../../domain/delivery/sent-content.js'
import { OperatorError } from '../../../domain/errors.js'
import { HOUR_MS } from '../../../domain/units.js'
import { type Carrier, type Facts, type Provider, SendError } from '../../provider.js'
import type { ProviderModule } from '../../provider-module.js'
import { integerReader, readCredential, readHost, refuseUnknown } from '../../url-options.js'
import type { Signer } from '../dkim/signer.js'
import type { EmailMessage } from '../email-message.js'
import { composeEmail } from '../message/compose.js'
import type { Composed, Composer } from '../message/composer.js'
import { emailContent } from '../message/content.js'
import { classifyRelayRefusal } from './relay-refusal.js'
import { SmtpRefusal } from './reply.js'
import { type Limits, type ServerSettings, SmtpSession, type StepTimeouts } from './session.js'
import { SessionPool } from './session-pool.js'

export interface SmtpOptions {
  signer: Signer | null
  /** Composes messages in a thread. By default the event loop composes them, and they are packed when they have left. */
  compose?: Composer['compose']
  /** Trusted instead of the system's certificate authorities. */
  ca?: string
  timeouts?: Partial<StepTimeouts>
}

/**
 * The limit of one whole attempt, which only a large message on a slow line approaches: every step has its own timeout. It is
 * longer than a lease, because a living worker renews its lease; after a worker's death another one resends under the same
 * Message-ID.
 */
export const SEND_TIMEOUT_MS = HOUR_MS

/**
 * E-mail through a relay: smtp://user:password@host:587, smtps://host:465.
 * Options: tls=required|opportunistic|off, pool=connections, name=host name in EHLO, rate=messages per second (of the lane).
 */
export const smtpProvider = (options: SmtpOptions): Provider<EmailMessage> => ({
  name: 'smtp',
  channel: 'email',
  // A resend has the same Message-ID, so a duplicate is shown once or twice, while nobody would notice a loss.
  whenUnknown: 'safe',
  timeoutMs: SEND_TIMEOUT_MS,
  open: async url => openRelay(url, options),
})

/** The time-out of a trial of the credentials, which a person waits for. */
const CHECK_MS = 10_000

/** The next messages are composed when a connection is free, in groups that are large enough. More would wait for a slow server here, where no other worker can take them. */
export const MESSAGES_PER_CONNECTION = 10

export const smtp: ProviderModule<EmailMessage, SmtpOptions> = {
  create: smtpProvider,
  concurrency: url => MESSAGES_PER_CONNECTION * readSmtpUrl(url).size,
  async checkCredentials(url, signal) {
    const { server } = readSmtpUrl(url)
    try {
      const session = await SmtpSession.open(server, { deadline: performance.now() + CHECK_MS, signal })
      session.close()
    } catch (error) {
      throw error instanceof SmtpRefusal ? classifyRelayRefusal(error) : error
    }
    const signedIn = server.credentials === null ? 'sem usuário e senha' : 'usuário e senha aceitos'
    return `${server.host}:${server.port} atende (${signedIn}).`
  },
}

function openRelay(url: URL, options: SmtpOptions): Carrier<EmailMessage> {
  const { server, size } = readSmtpUrl(url)
  const pool = new SessionPool({ server: { ...server, ca: options.ca, timeouts: options.timeouts }, size })
  const composed = new WeakMap<EmailMessage, Composed>()
  return {
    get ready() {
      return !pool.isStuck
    },
    async send(message, signal) {
      allowManyListeners(signal)
      const prepared = await prepare(message, options)
      composed.set(message, prepared)
      try {
        const { answer, facts } = await pool.run(signal, (session, limits) => handOver(session, message, prepared.raw, limits))
        return { references: [], answer, delivered: false, facts }
      } catch (error) {
        throw error instanceof SmtpRefusal ? classifyRelayRefusal(error) : error
      }
    },
    contentOf: message => sentContent(message, composed.get(message)),
    async close() {
      pool.close()
    },
  }
}

export function readSmtpUrl(url: URL): { server: ServerSettings; size: number } {
  const wrong = (what: string): never => {
    throw new OperatorError(`EMAIL_URL: ${what}. Exemplo: smtp://usuario:senha@smtp.example.com:587?tls=required`)
  }
  if (url.protocol !== 'smtp:' && url.protocol !== 'smtps:') wrong('deve começar com smtp:// ou smtps://')
  if (url.hostname === '') wrong('falta o nome do servidor')
  refuseUnknown(url, ['tls', 'pool', 'name', 'rate'], wrong)
  const implicit = url.protocol === 'smtps:'
  if (implicit && (readTls(url) ?? 'required') !== 'required')
    wrong('com smtps:// o TLS é sempre exigido; tire tls ou use smtp://')
  const [user, password] = [readCredential(url.username, wrong), readCredential(url.password, wrong)]
  const credentials = user === '' ? null : { user, password }
  // The password must reach the right server only, so a valid certificate is required unless the operator decides otherwise.
  const tls = implicit ? 'implicit' : (readTls(url) ?? (credentials === null ? 'opportunistic' : 'required'))
  const usual = implicit ? 465 : credentials === null ? 25 : 587
  const port = url.port === '' ? usual : Number(url.port)
  const helo = readHelo(url.searchParams.get('name') ?? hostname())
  return { server: { host: readHost(url), port, helo, tls, credentials }, size: readPool(url, wrong) }
}

export function readTls(url: URL): 'required' | 'opportunistic' | 'off' | null {
  const tls = url.searchParams.get('tls')
  if (tls === null || tls === 'required' || tls === 'opportunistic' || tls === 'off') return tls
  throw new OperatorError('EMAIL_URL: tls deve ser required, opportunistic ou off')
}

export const readPool = (url: URL, wrong: (what: string) => never): number => integerReader(url, wrong)('pool', 20, 1, 200)

export function readHelo(name: string): string {
  if (/^[A-Za-z0-9]([A-Za-z0-9.-]{0,252})$/.test(name)) return name
  throw new OperatorError('EMAIL_URL: o nome deste servidor (name) deve ser um nome de domínio')
}

/** One signal cancels many sends, which Node would otherwise report as a listener leak. */
export const allowManyListeners = (signal: AbortSignal): void => setMaxListeners(0, signal)

/** Hands one message to a server, and tells its answer and the conversation. */
export async function handOver(
  session: SmtpSession,
  { envelopeFrom, to, reference }: EmailMessage,
  raw: Buffer,
  limits: Limits,
): Promise<{ answer: string; facts: Facts }> {
  const { text } = await session.send({ from: envelopeFrom, to, id: reference }, raw, limits)
  return { answer: text, facts: session.facts }
}

/** undefined: it was never composed. */
export const sentContent = (message: EmailMessage, composed: Composed | undefined): SentContent | PackedContent | null =>
  composed === undefined ? null : (composed.packed ?? emailContent(message, composed.raw))

/** A failure on our side, which does not count against the destination. */
export class PreparationFailed extends SendError {}

const composeHere: Composer['compose'] = async message => ({ raw: composeEmail(message), packed: null })

/** The bytes of the message, signed if its sender's domain has a key. */
export async function prepare(
  message: EmailMessage,
  { signer, compose = composeHere }: Pick<SmtpOptions, 'signer' | 'compose'>,
): Promise<Composed> {
  const domain = message.from.slice(message.from.lastIndexOf('@') + 1)
  const sign = signer?.forDomain(domain) ?? null
  let composed: Composed
  try {
    composed = await compose(message, sign === null)
  } catch (cause) {
    if (cause instanceof SendError) throw cause
    // The carrier was not involved, so only this message is retried.
    throw new PreparationFailed('temporary', 'A mensagem não pôde ser montada.', { scope: 'message', cause })
  }
  if (sign === null) return composed
  try {
    return { raw: await sign(composed.raw), packed: null }
  } catch (cause) {
    throw new PreparationFailed('temporary', 'A assinatura DKIM da mensagem falhou.', { scope: 'message', cause })
  }
}
