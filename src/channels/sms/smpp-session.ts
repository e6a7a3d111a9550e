import { once } from 'node:events'
import { connect as connectPlain, isIP, type Socket } from 'node:net'
import { connect as connectSecure } from 'node:tls'
import { Semaphore } from '../../runtime/semaphore.js'
import { SendError } from '../provider.js'
import { errorOf } from './smpp-errors.js'
import { bindBody, commands, nextSequence, type Pdu, PduReader, RESPONSE, readMessageId, writePdu } from './smpp-pdu.js'

export interface SessionSettings {
  host: string
  port: number
  secure: boolean
  /** Trusted instead of the system's certificate authorities. */
  ca?: string | undefined
  systemId: string
  password: string
  systemType: string
  /** Messages that may wait for their response at a time. */
  window: number
  /** For connecting, binding and enquire_link. */
  responseTimeoutMs: number
  /** An enquire_link is sent after this time without data from the carrier. */
  keepAliveMs: number
}

export interface SessionEvents {
  /** The carrier is acknowledged when the promise resolves, and asked to repeat when it rejects. */
  onDeliver(body: Buffer): Promise<void>
  /** The response to a message whose timeout has passed, so that its outcome is unknown. */
  onLate(part: PartName, id: string): void
  onEnd(): void
}

export type PartOutcome = { id: string } | { error: SendError }

/** The name identifies the part when its response comes after the timeout. */
export type Part = { body: Buffer; name?: PartName }

interface PartName {
  reference: string
  /** E.164. */
  to: string
  number: number
  total: number
}

type Pending = { name: PartName | undefined; settle(outcome: PartOutcome): void; late: boolean }

const noResponse = (): SendError => new SendError('uncertain', 'A operadora não respondeu a tempo.')
export const notConnected = (cause?: unknown): SendError =>
  new SendError('temporary', 'Sem conexão com a operadora de SMS.', { cause, answer: String((cause as Error)?.message ?? '') })
/** Temporary whatever the code says: no message was shown to the carrier. */
const refusedBind = (cause: SendError): SendError =>
  new SendError('temporary', cause.reason, { cause, answer: cause.answer ?? cause.message })
const TRY_AGAIN = 0x64
const UNKNOWN_COMMAND = 0x03
const MAX_LATE = 1_000
const UNBIND_TIMEOUT_MS = 2_000

/** One bound connection: it sends within a window, receives deliver_sm and checks the connection with enquire_link. */
export class SmppSession {
  readonly #socket: Socket
  readonly #settings: SessionSettings
  readonly #events: SessionEvents
  readonly #reader = new PduReader()
  readonly #pending = new Map<number, Pending>()
  readonly #window: Semaphore
  #late = 0
  #sequence = 0
  #ended = false
  /** The carrier has unbound: nothing more may be written, but responses to earlier messages may still be read. */
  #unbound = false
  #unbindTimer: NodeJS.Timeout | undefined
  #keepAliveTimer: NodeJS.Timeout | undefined
  #lastReceivedAt = performance.now()

  /** Connects and binds. Throws a SendError. */
  static async open(settings: SessionSettings, events: SessionEvents): Promise<SmppSession> {
    const { host, port, secure, ca, responseTimeoutMs, systemId, password, systemType } = settings
    const signal = AbortSignal.timeout(responseTimeoutMs)
    const socket = secure
      ? connectSecure({ host, port, ...(isIP(host) === 0 ? { servername: host } : {}), ...(ca === undefined ? {} : { ca }) })
      : connectPlain({ host, port })
    socket.setNoDelay(true)
    try {
      await once(socket, secure ? 'secureConnect' : 'connect', { signal })
      const session = new SmppSession(socket, settings, events)
      const [answer] = session.#write([{ body: bindBody(systemId, password, systemType) }], commands.bindTransceiver)
      const outcome = await Promise.race([answer!, once(signal, 'abort').then(() => ({ error: noResponse() }))])
      if ('error' in outcome) throw outcome.error
      if (!session.ended) session.#startKeepAlive()
      return session
    } catch (error) {
      socket.on('error', () => {}).destroy()
      throw error instanceof SendError && error.kind !== 'uncertain' ? refusedBind(error) : notConnected(error)
    }
  }

  private constructor(socket: Socket, settings: SessionSettings, events: SessionEvents) {
    this.#socket = socket
    this.#settings = settings
    this.#events = events
    this.#window = new Semaphore({ permits: settings.window })
    socket.on('data', chunk => this.#read(chunk))
    socket.on('error', error => this.#end(error))
    socket.on('close', () => this.#end())
  }

  /** Nothing more can be sent. */
  get ended(): boolean {
    return this.#ended || this.#unbound
  }

  /** Submits the parts of one message in one write. Never throws: a part that could not be written has a temporary error. */
  async submit(parts: readonly Part[], signal: AbortSignal): Promise<PartOutcome[]> {
    const unsent = (): PartOutcome[] => parts.map(() => ({ error: notConnected() }))
    if (this.ended || signal.aborted) return unsent()
    try {
      await this.#window.acquire(parts.length, signal)
    } catch {
      return unsent()
    }
    // The end of the session releases the window, which wakes the sends that wait for it.
    if (this.ended || signal.aborted) {
      this.#window.release(parts.length)
      return unsent()
    }
    return Promise.all(this.#write(parts, commands.submit, signal))
  }

  /** Unbinds. Messages that still wait for a response have an unknown outcome. */
  async close(): Promise<void> {
    if (this.ended) return this.#end()
    const [answer] = this.#write([{ body: Buffer.alloc(0) }], commands.unbind)
    const giveUp = setTimeout(() => this.#end(), UNBIND_TIMEOUT_MS)
    await answer
    clearTimeout(giveUp)
    this.#end()
  }

  #write(parts: readonly Part[], command: number, signal?: AbortSignal): Promise<PartOutcome>[] {
    const pdus: Buffer[] = []
    const answers = parts.map(({ body, name }) => {
      this.#sequence = nextSequence(this.#sequence)
      const sequence = this.#sequence
      pdus.push(writePdu(command, sequence, body))
      return new Promise<PartOutcome>(resolve => {
        const giveUp = (): void => this.#giveUp(sequence)
        signal?.addEventListener('abort', giveUp)
        const settle = (outcome: PartOutcome): void => {
          signal?.removeEventListener('abort', giveUp)
          if (command === commands.submit) this.#window.release()
          resolve(outcome)
        }
        this.#pending.set(sequence, { name, settle, late: false })
      })
    })
    this.#socket.write(Buffer.concat(pdus))
    return answers
  }

  /** Ends the wait for a response. A response that comes later is passed to onLate. */
  #giveUp(sequence: number): void {
    const pending = this.#pending.get(sequence)
    if (pending === undefined || pending.late) return
    if (this.#late >= MAX_LATE) this.#pending.delete(sequence)
    else {
      pending.late = true
      this.#late++
    }
    pending.settle({ error: noResponse() })
  }

  #read(chunk: Buffer): void {
    this.#lastReceivedAt = performance.now()
    try {
      for (const pdu of this.#reader.read(chunk)) {
        if (pdu.command >= RESPONSE) this.#handleResponse(pdu)
        else this.#handleRequest(pdu)
      }
    } catch (error) {
      this.#end(error)
    }
  }

  #handleRequest({ command, sequence, body }: Pdu): void {
    const answer = (code: number, content?: Buffer): void => {
      if (!this.ended) this.#socket.write(writePdu(command + RESPONSE, sequence, content, code))
    }
    switch (command) {
      case commands.deliver:
        this.#events.onDeliver(body).then(
          () => answer(0, Buffer.alloc(1)),
          () => answer(TRY_AGAIN, Buffer.alloc(1)),
        )
        break
      case commands.enquireLink:
        answer(0)
        break
      case commands.unbind:
        answer(0)
        this.#unbind()
        break
      case commands.alert:
        break
      default:
        if (!this.ended) this.#socket.write(writePdu(commands.genericNack, sequence, undefined, UNKNOWN_COMMAND))
    }
  }

  /** The carrier closes the connection after our answer. A carrier that keeps it open must not delay the next session. */
  #unbind(): void {
    if (this.ended) return
    this.#unbound = true
    clearInterval(this.#keepAliveTimer)
    this.#socket.end()
    this.#unbindTimer = setTimeout(() => this.#end(), UNBIND_TIMEOUT_MS)
  }

  #handleResponse({ sequence, status, body }: Pdu): void {
    const pending = this.#pending.get(sequence)
    if (pending === undefined) return
    this.#pending.delete(sequence)
    const id = status === 0 ? readMessageId(body) : ''
    if (pending.late) {
      this.#late--
      if (status === 0 && pending.name !== undefined) this.#events.onLate(pending.name, id)
    } else pending.settle(status === 0 ? { id } : { error: errorOf(status) })
  }

  #startKeepAlive(): void {
    const { keepAliveMs, responseTimeoutMs } = this.#settings
    let enquiredAt: number | null = null
    this.#keepAliveTimer = setInterval(() => {
      const now = performance.now()
      if (enquiredAt !== null && this.#lastReceivedAt < enquiredAt) {
        if (now - enquiredAt > responseTimeoutMs) this.#end(new Error('no response to enquire_link'))
        return
      }
      enquiredAt = null
      if (now - this.#lastReceivedAt < keepAliveMs) return
      enquiredAt = now
      this.#write([{ body: Buffer.alloc(0) }], commands.enquireLink)
    }, Math.min(keepAliveMs, responseTimeoutMs) / 2)
  }

  #end(cause?: unknown): void {
    if (this.#ended) return
    this.#ended = true
    clearInterval(this.#keepAliveTimer)
    clearTimeout(this.#unbindTimer)
    this.#socket.destroy()
    const error = new SendError('uncertain', 'A conexão com a operadora caiu antes da resposta.', { cause })
    for (const pending of this.#pending.values()) if (!pending.late) pending.settle({ error })
    this.#pending.clear()
    this.#events.onEnd()
  }
}
