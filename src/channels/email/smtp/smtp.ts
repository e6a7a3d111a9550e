import { setMaxListeners } from 'node:events'
import { hostname } from 'node:os'
import { OperatorError } from '../../../domain/errors.js'
import { type Carrier, type EmailMessage, type Provider, type Receipt, SendError } from '../../provider.js'
import { refuseUnknown } from '../../url-options.js'
import type { Signer } from '../dkim/signer.js'
import { composeEmail } from '../message/compose.js'
import type { Composer } from '../message/composer.js'
import { ofRelay } from './relay-refusal.js'
import { SmtpRefusal } from './reply.js'
import type { Patience, ServerSettings } from './session.js'
import { SessionPool } from './session-pool.js'

/**
 * E-mail through a relay: smtp://user:password@host:587, smtps://host:465.
 * Options: tls=required|opportunistic|off, pool=connections, name=what EHLO says, rate=messages a second (of the lane).
 */
export interface SmtpOptions {
  /** Signs what leaves; null: the relay does, or nobody. */
  signer: Signer | null
  /** Makes what is large elsewhere. Default: everything is made on the spot. */
  compose?: Composer['compose']
  /** Trusted instead of the usual authorities. */
  ca?: string
  patience?: Partial<Patience>
}

/**
 * Every step has its own time (Patience); this bounds their sum, of which only a large message on a slow line gets near.
 * Longer than any lease: it is renewed while the worker lives, and whoever takes the message up after its death sends it again
 * under the same Message-ID.
 */
export const LONGEST_MS = 3_600_000
const OPTIONS = ['tls', 'pool', 'name', 'rate']
const POOL = 20
const MAX_POOL = 200

export function smtpProvider(options: SmtpOptions): Provider<EmailMessage> {
  return {
    name: 'smtp',
    channel: 'email',
    // Sent again under the same Message-ID: mail programs show a double once, or twice; a loss nobody sees.
    whenUnknown: 'safe',
    timeoutMs: LONGEST_MS,
    open: async url => openRelay(url, options),
  }
}

function openRelay(url: URL, options: SmtpOptions): Carrier<EmailMessage> {
  const { ca, patience } = options
  const { server, size } = readSmtpUrl(url)
  const pool = new SessionPool({
    server: { ...server, ...(ca === undefined ? {} : { ca }), ...(patience === undefined ? {} : { patience }) },
    size,
  })
  return {
    get ready() {
      return !pool.isStuck
    },
    async send(message, signal): Promise<Receipt> {
      shareable(signal)
      const raw = await prepare(message, options)
      try {
        const reply = await pool.run(signal, (session, limits) => session.send(envelopeOf(message), raw, limits))
        return { references: [], answer: reply.text, delivered: false }
      } catch (error) {
        throw error instanceof SmtpRefusal ? ofRelay(error) : error
      }
    },
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
  refuseUnknown(url, OPTIONS, wrong)
  const implicit = url.protocol === 'smtps:'
  if (implicit && (readTls(url) ?? 'required') !== 'required')
    wrong('com smtps:// o TLS é sempre exigido; tire tls ou use smtp://')
  const credentials = url.username === '' ? null : { user: decode(url.username), password: decode(url.password) }
  // A password is for the right server only, so its certificate must check unless the operator says otherwise.
  const tls = implicit ? 'implicit' : (readTls(url) ?? (credentials === null ? 'opportunistic' : 'required'))
  return {
    server: {
      host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: url.port === '' ? (implicit ? 465 : credentials === null ? 25 : 587) : Number(url.port),
      helo: readHelo(url.searchParams.get('name') ?? hostname()),
      tls,
      credentials,
    },
    size: readPool(url),
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (cause) {
    throw new OperatorError('EMAIL_URL: usuário ou senha com um % que não é um código. Escreva-o como %25', { cause })
  }
}

export function readTls(url: URL): 'required' | 'opportunistic' | 'off' | null {
  const tls = url.searchParams.get('tls')
  if (tls === null || tls === 'required' || tls === 'opportunistic' || tls === 'off') return tls
  throw new OperatorError('EMAIL_URL: tls deve ser required, opportunistic ou off')
}

export function readPool(url: URL): number {
  const size = url.searchParams.get('pool') ?? String(POOL)
  if (/^[1-9]\d{0,2}$/.test(size) && Number(size) <= MAX_POOL) return Number(size)
  throw new OperatorError(`EMAIL_URL: pool deve ser um número de 1 a ${MAX_POOL}`)
}

export function readHelo(name: string): string {
  if (/^[A-Za-z0-9]([A-Za-z0-9.-]{0,252})$/.test(name)) return name
  throw new OperatorError('EMAIL_URL: o nome deste servidor (name) deve ser um nome de domínio')
}

/** One signal may end any number of sends: no leak, no warning. */
export const shareable = (signal: AbortSignal): void => setMaxListeners(0, signal)

export const envelopeOf = ({ envelopeFrom, to, reference }: EmailMessage) => ({ from: envelopeFrom, to, id: reference })

/** Our own trouble: no server has a part in it. */
export class Unsigned extends SendError {}

/** The message as it travels, signed where a signer is at hand. */
export async function prepare(
  message: EmailMessage,
  { signer, compose = composeEmail }: Pick<SmtpOptions, 'signer' | 'compose'>,
): Promise<Buffer> {
  const raw = await composed(message, compose)
  if (signer === null) return raw
  try {
    return await signer.sign(raw, message.from.slice(message.from.lastIndexOf('@') + 1))
  } catch (cause) {
    throw new Unsigned('temporary', 'A assinatura DKIM da mensagem falhou.', { cause })
  }
}

async function composed(message: EmailMessage, compose: Composer['compose']): Promise<Buffer> {
  try {
    return await compose(message)
  } catch (cause) {
    if (cause instanceof SendError) throw cause
    // Of this message: the carrier has no part in it.
    throw new SendError('temporary', 'A mensagem não pôde ser montada.', { scope: 'message', cause })
  }
}
