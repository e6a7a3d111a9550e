import type { Socket } from 'node:net'
import { type PeerCertificate, TLSSocket } from 'node:tls'
import type { Json } from '../../../domain/evidence/canonical-json.js'
import { cutText } from '../../../domain/text/text.js'
import type { Facts } from '../../provider.js'
import type { Reply } from './reply.js'

/**
 * What the timeline and the proofs tell of the conversation with a server: who answered, over which encryption, and what. Commands
 * are named without their parameters, and of a sign-in only the codes of its replies are kept: no credential can get in.
 */
export class Dialogue {
  #connection: Readonly<Record<string, Json>>
  #opening: Step[] = []
  #steps: Step[] = []
  #startedAt = new Date()
  #started = performance.now()

  constructor({ name, socket }: { name: string; socket: Socket }) {
    const { remoteAddress = null, remotePort = null } = socket
    this.#connection = { server: cutText(name, MAX_TEXT), address: remoteAddress, port: remotePort, tls: tlsOf(socket) }
  }

  /** The connection is encrypted from now on. */
  secured(socket: Socket): void {
    this.#connection = { ...this.#connection, tls: tlsOf(socket) }
  }

  replied(command: string, { code, text }: Reply): void {
    if (this.#steps.length >= MAX_STEPS) return
    const reply = command === 'AUTH' ? String(code) : cutText(text, MAX_REPLY)
    this.#steps.push({ command, reply, ms: Math.round(performance.now() - this.#started) })
  }

  /** From now on a message is handed over. The replies before belong to the connection, which many messages share. */
  begin(): void {
    if (this.#opening.length === 0) this.#opening = this.#steps.filter(({ command }) => KEPT_OF_OPENING.includes(command))
    this.#steps = []
    this.#startedAt = new Date()
    this.#started = performance.now()
  }

  /** `ms` of a step counts from `startedAt`; the steps that opened the connection have none. */
  get facts(): Facts {
    const opening = this.#opening.map(({ command, reply }) => ({ command, reply }))
    const steps = [...opening, ...this.#steps]
    return { smtp: { ...this.#connection, startedAt: this.#startedAt.toISOString(), steps } }
  }
}

type Step = { command: string; reply: string; ms: number }

const MAX_STEPS = 16
const MAX_REPLY = 300
const MAX_TEXT = 200
/** The extensions of EHLO say nothing about the message. */
const KEPT_OF_OPENING = ['connect', 'STARTTLS', 'AUTH']

/** null: the connection is not encrypted. */
function tlsOf(socket: Socket): Json {
  if (!(socket instanceof TLSSocket)) return null
  const { standardName, name } = socket.getCipher() ?? {}
  const certificate = socket.getPeerCertificate()
  const verified = socket.authorized
  const fault = socket.authorizationError
  return {
    version: socket.getProtocol(),
    cipher: standardName ?? name ?? null,
    verified,
    ...(verified || fault == null ? {} : { fault: cutText(String((fault as { code?: unknown }).code ?? fault), MAX_TEXT) }),
    certificate: certificate.raw === undefined ? null : describe(certificate),
  }
}

const describe = ({ subject, issuer, fingerprint256, valid_from, valid_to, subjectaltname }: PeerCertificate): Json => ({
  subject: nameOf(subject),
  issuer: nameOf(issuer),
  names: cutText(subjectaltname ?? '', MAX_TEXT),
  sha256: fingerprint256.replaceAll(':', '').toLowerCase(),
  validFrom: isoDate(valid_from),
  validTo: isoDate(valid_to),
})

/** As "CN=mail.example.com, O=Example". */
const nameOf = (name: PeerCertificate['subject'] | undefined): string =>
  cutText(
    Object.entries(name ?? {})
      .map(([key, value]) => `${key}=${[value].flat().join('+')}`)
      .reverse()
      .join(', '),
    MAX_TEXT,
  )

function isoDate(text: string): string | null {
  const at = Date.parse(text)
  return Number.isNaN(at) ? null : new Date(at).toISOString()
}
