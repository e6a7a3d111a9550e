import { once } from 'node:events'
import { connect as connectPlain, isIP, type Socket } from 'node:net'
import { connect as connectSecure } from 'node:tls'
import { Semaphore } from '../../runtime/semaphore.js'
import { SendError } from '../provider.js'
import { errorOf } from './smpp-errors.js'
import { bindBody, commands, nextSequence, type Pdu, PduReader, RESPONSE, readMessageId, writePdu } from './smpp-pdu.js'

/** One bound connection: a window of messages under way, the carrier's own words, and a pulse. */
export interface SessionSettings {
  host: string
  port: number
  secure: boolean
  /** Trusted instead of the usual authorities. */
  ca?: string
  systemId: string
  password: string
  systemType: string
  /** Messages that may wait for their answer at a time. */
  window: number
  /** How long connecting, binding and the pulse may take. */
  patienceMs: number
  /** How often the line is tried while nothing else is heard. */
  pulseMs: number
}

export interface SessionEvents {
  /** Answered to the carrier once it resolves; where it fails, the carrier is asked to tell it again. */
  onDeliver(body: Buffer): Promise<void>
  /** The answer to a message that was given up as uncertain. */
  onLate(part: PartName, id: string): void
  onEnd(): void
}

/** What became of one part. */
export type PartOutcome = { id: string } | { error: SendError }

export interface Part {
  body: Buffer
  /** For an answer that comes too late to be waited for. */
  name?: PartName
}

interface PartName {
  reference: string
  /** E.164. */
  to: string
  number: number
  total: number
}

interface Pending {
  name: PartName | undefined
  settle(outcome: PartOutcome): void
  late: boolean
}

const lost = (cause?: unknown): SendError =>
  new SendError('uncertain', 'A conexão com a operadora caiu antes da resposta.', { cause })
const silent = (): SendError => new SendError('uncertain', 'A operadora não respondeu a tempo.')
export const away = (cause?: unknown): SendError =>
  new SendError('temporary', 'Sem conexão com a operadora de SMS.', { cause, answer: String((cause as Error)?.message ?? '') })
const TRY_AGAIN = 0x64
const UNKNOWN_COMMAND = 0x03
const MAX_LATE = 1_000
const GOODBYE_MS = 2_000

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
  #pulse: NodeJS.Timeout | undefined
  #heard = performance.now()

  /** Connects and binds; throws SendError where that cannot be. */
  static async open(settings: SessionSettings, events: SessionEvents): Promise<SmppSession> {
    const { host, port, secure, ca, patienceMs, systemId, password, systemType } = settings
    const signal = AbortSignal.timeout(patienceMs)
    const socket = secure
      ? connectSecure({ host, port, ...(isIP(host) === 0 ? { servername: host } : {}), ...(ca === undefined ? {} : { ca }) })
      : connectPlain({ host, port })
    socket.setNoDelay(true)
    try {
      await once(socket, secure ? 'secureConnect' : 'connect', { signal })
      const session = new SmppSession(socket, settings, events)
      const [answer] = session.#write([{ body: bindBody(systemId, password, systemType) }], commands.bindTransceiver)
      const outcome = await Promise.race([answer!, once(signal, 'abort').then(() => ({ error: silent() }))])
      if ('error' in outcome) throw outcome.error
      session.#beat()
      return session
    } catch (error) {
      socket.on('error', () => {}).destroy()
      throw error instanceof SendError && error.kind !== 'uncertain' ? error : away(error)
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

  get ended(): boolean {
    return this.#ended
  }

  /** Hands over the parts of one message, in one write. Never throws: what could not be written is temporary. */
  async submit(parts: readonly Part[], signal: AbortSignal): Promise<PartOutcome[]> {
    const unsent = (): PartOutcome[] => parts.map(() => ({ error: away() }))
    if (this.#ended || signal.aborted) return unsent()
    try {
      await this.#window.acquire(parts.length, signal)
    } catch {
      return unsent()
    }
    // The end of the session releases what was under way, and so wakes those that wait.
    if (this.#ended || signal.aborted) {
      this.#window.release(parts.length)
      return unsent()
    }
    const answers = this.#write(parts, commands.submit, signal)
    return Promise.all(answers)
  }

  /** Says goodbye; what still waits for an answer is uncertain. */
  async close(): Promise<void> {
    if (this.#ended) return
    const [answer] = this.#write([{ body: Buffer.alloc(0) }], commands.unbind)
    const giveUp = setTimeout(() => this.#end(), GOODBYE_MS)
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

  /** Its answer may still come, and is then told as news. */
  #giveUp(sequence: number): void {
    const pending = this.#pending.get(sequence)
    if (pending === undefined || pending.late) return
    if (this.#late >= MAX_LATE) this.#pending.delete(sequence)
    else {
      pending.late = true
      this.#late++
    }
    pending.settle({ error: silent() })
  }

  #read(chunk: Buffer): void {
    this.#heard = performance.now()
    try {
      for (const pdu of this.#reader.read(chunk)) this.#take(pdu)
    } catch (error) {
      this.#end(error)
    }
  }

  #take({ command, sequence, status, body }: Pdu): void {
    if (command >= RESPONSE) {
      this.#answered(sequence, status, body)
      return
    }
    const answer = (code: number, content?: Buffer): void => {
      if (!this.#ended) this.#socket.write(writePdu(command + RESPONSE, sequence, content, code))
    }
    switch (command) {
      case commands.deliver: {
        const empty = Buffer.alloc(1)
        this.#events.onDeliver(body).then(
          () => answer(0, empty),
          () => answer(TRY_AGAIN, empty),
        )
        return
      }
      case commands.enquireLink:
        answer(0)
        return
      case commands.unbind:
        answer(0)
        this.#socket.end()
        return
      case commands.alert:
        return
      default:
        this.#socket.write(writePdu(commands.genericNack, sequence, undefined, UNKNOWN_COMMAND))
    }
  }

  #answered(sequence: number, status: number, body: Buffer): void {
    const pending = this.#pending.get(sequence)
    if (pending === undefined) return
    this.#pending.delete(sequence)
    const id = status === 0 ? readMessageId(body) : ''
    if (pending.late) {
      this.#late--
      if (status === 0 && pending.name !== undefined) this.#events.onLate(pending.name, id)
    } else pending.settle(status === 0 ? { id } : { error: errorOf(status) })
  }

  #beat(): void {
    const { pulseMs, patienceMs } = this.#settings
    let asked: number | null = null
    this.#pulse = setInterval(() => {
      const now = performance.now()
      if (asked !== null && this.#heard < asked && now - asked > patienceMs) return this.#end(new Error('no pulse'))
      if (asked !== null && this.#heard < asked) return
      asked = null
      if (now - this.#heard < pulseMs) return
      asked = now
      this.#write([{ body: Buffer.alloc(0) }], commands.enquireLink)
    }, Math.min(pulseMs, patienceMs) / 2)
  }

  #end(cause?: unknown): void {
    if (this.#ended) return
    this.#ended = true
    clearInterval(this.#pulse)
    this.#socket.destroy()
    for (const pending of this.#pending.values()) if (!pending.late) pending.settle({ error: lost(cause) })
    this.#pending.clear()
    this.#events.onEnd()
  }
}
