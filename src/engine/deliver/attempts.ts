import type { Refused } from '../../channels/channel-runtime.js'
import { type Receipt, SendError } from '../../channels/provider.js'
import { moduleOf, takenFact } from '../../channels/registry.js'
import { refusedFor } from '../../channels/rendering.js'
import type { PackedContent } from '../../domain/delivery/sent-content.js'
import type { Fact } from '../../domain/delivery/transition.js'
import { FilesUnavailable, StoreUnavailable } from '../../domain/errors.js'
import type { CallEnd } from '../../store/carrier/totals.js'
import type { Claim } from '../../store/delivery/claims.js'
import type { EngineTiming } from '../timing.js'
import { namesOf } from '../unknown/resolve.js'
import { AttemptRecords } from './attempt-records.js'
import type { Breaker } from './breaker.js'
import type { CallMeter } from './call-meter.js'
import { eventOf, type KeptBack } from './contact-gate.js'
import { afterFailure, afterRefusal, jittered } from './failed-attempt.js'
import { type Flight, internalError, sendInTime } from './flight.js'
import type { LaneOptions } from './lane-options.js'

/** No answer may silence a carrier for longer. */
const MAX_PAUSE_MS = 5 * 60_000
/** A wait of the rules of contact that is not worth an event. */
const MOMENT_MS = 2_000

/** What the attempts share with their lane. */
interface AttemptParts<Message> {
  timing: EngineTiming
  breaker: Breaker
  meter: CallMeter
  /** The carrier asked for it: the lane claims nothing meanwhile. */
  pause(ms: number): void
  /** The carrier has the message of this flight: the lane may send the next one while this one is recorded. */
  carrierHasIt(flight: Flight): void
  /** Gives a message that the carrier cannot carry to another lane or back to the queue; false: the message stays here. */
  passOn(claim: Claim, message: Message): Promise<boolean>
}

/** Makes the attempts of a lane, each from the claim to its recorded outcome: prepare, ask the rules of contact, call the carrier, record. */
export class Attempts<Message> {
  readonly #options: LaneOptions<Message>
  readonly #parts: AttemptParts<Message>
  readonly #records: AttemptRecords<Message>

  constructor(options: LaneOptions<Message>, parts: AttemptParts<Message>) {
    this.#options = options
    this.#parts = parts
    this.#records = new AttemptRecords(options)
  }

  get counts(): AttemptRecords<Message>['counts'] {
    return this.#records.counts
  }

  async prepareAndSend(claim: Claim, flight: Flight): Promise<void> {
    this.#options.trace?.('claimed')
    const message = await this.#prepare(claim)
    if (message === null) return
    if (isRefused(message)) return this.#records.recordFailed(claim, afterRefusal(this.#options, claim, message.refused))
    if (!(await this.#mayContact(claim))) return
    // If the lease ended meanwhile, another worker may be sending it already. Nothing has left: the failure is recorded if our claim
    // still holds, and refused otherwise.
    if (performance.now() >= flight.heldUntil)
      return this.#failed(claim, new SendError('temporary', 'A mensagem só ficou pronta depois do prazo deste envio.'), null)
    await this.#send(claim, message, flight)
  }

  /** null: another lane has it, it is back in the queue, or its failure is recorded. */
  async #prepare(claim: Claim): Promise<Message | Refused | null> {
    // A person, or a failure of another channel, may have put it back into the queue after the term of its content.
    if (claim.incomplete === true)
      return refusedFor(
        'Partes deste envio foram apagadas no fim do prazo (retention): ele não pode mais sair. Faça um envio novo.',
      )
    try {
      const message = await this.#options.prepare(claim)
      return !isRefused(message) && (await this.#parts.passOn(claim, message)) ? null : message
    } catch (error) {
      // Nothing has left: the outcome is known, and the carrier is not to blame.
      const expected = error instanceof SendError
      if (!expected) this.#options.onError(error, 'a message could not be prepared')
      // A database that had no connection for us, or files that are away, say nothing about the message: it goes back as it came and
      // costs no attempt.
      const later = error instanceof StoreUnavailable ? { untried: true, retryAfterMs: this.#waitFor(error) } : {}
      const failure = expected ? error : internalError('temporary', 'Erro interno ao preparar a mensagem.', error, later)
      await this.#failed(claim, failure, null)
      return null
    }
  }

  /** Files outside of the database are away for longer than its connections are busy, and a letter that needs them is typeset each time. */
  #waitFor(error: StoreUnavailable): number {
    const { absentMs, busyMs } = this.#parts.timing
    return error instanceof FilesUnavailable ? jittered(absentMs) : busyMs
  }

  /** false: the message waits, or is not sent at all; its fact is recorded. Nothing has left, so a failure says nothing about it. */
  async #mayContact(claim: Claim): Promise<boolean> {
    const { contact } = this.#options
    if (contact === undefined) return true
    try {
      const verdict = await contact(claim)
      if (verdict.kind === 'go') return true
      await this.#keepBack(claim, verdict)
    } catch (error) {
      if (error instanceof StoreUnavailable) await this.#options.putBack(claim, this.#parts.timing.busyMs)
      else {
        this.#options.onError(error, 'the rules of contact could not be asked')
        await this.#failed(claim, internalError('temporary', 'Erro interno ao conferir as regras de contato.', error), null)
      }
    }
    return false
  }

  async #keepBack(claim: Claim, verdict: KeptBack): Promise<void> {
    const delayMs = verdict.kind === 'wait' ? verdict.wait.until.getTime() - this.#options.clock() : null
    // The database's clock is a little ahead of ours: the wait is over in a moment, and its event is in the chain already.
    if (delayMs !== null && delayMs < MOMENT_MS) return this.#options.putBack(claim, Math.max(0, delayMs), true)
    const { type, data } = eventOf(moduleOf(claim.channel), verdict)
    const fact = { ...this.#records.fact(claim, type, data), source: 'contact rules' }
    await this.#records.record(claim, fact, delayMs === null ? undefined : { delayMs })
  }

  async #send(claim: Claim, message: Message, flight: Flight): Promise<void> {
    const { carrier, provider, identity, trace } = this.#options
    const { period } = this.#parts.breaker
    let receipt: Receipt
    const started = performance.now()
    try {
      trace?.('sending')
      receipt = await sendInTime(carrier, message, flight, provider.timeoutMs)
    } catch (error) {
      // Carriers throw SendError and nothing else. How far a send with another error got is unknown.
      const unexpected = (): SendError => internalError('uncertain', 'Erro interno ao falar com a operadora.', error)
      const failure = error instanceof SendError ? error : unexpected()
      if (!failure.untried) this.#called(flight, failure.kind, started)
      return this.#failed(claim, failure, period, message)
    }
    // Before the message is packed: its event tells when it left.
    const at = this.#options.clock()
    trace?.('answered')
    this.#called(flight, 'sent', started)
    this.#parts.breaker.succeeded()
    this.#parts.carrierHasIt(flight)
    const { answer, facts } = receipt
    const named = { carrier: identity, reference: claim.reference, attempt: claim.attempt, answer }
    const content = await this.#keep(message)
    // A literal that begins with a spread takes sixteen times as long, and every message passes here.
    const data: Fact['data'] = Object.assign({}, facts, named, stated(content))
    await this.#records.record(claim, this.#records.fact(claim, takenFact(claim.channel), data, at), {
      ...namesOf(identity, receipt.references),
      ...(receipt.delivered ? { delivered: this.#records.fact(claim, 'delivered', named, at) } : {}),
      ...(content === null ? {} : { content }),
    })
    trace?.('recorded')
  }

  #called({ span }: Flight, result: CallEnd, started: number): void {
    const ms = performance.now() - started
    this.#parts.meter.count(result, ms)
    span?.called(ms, result)
  }

  /** What left, for the evidence. An outcome is recorded in any case: without it the message would be sent again. */
  async #keep(message: Message): Promise<PackedContent | null> {
    try {
      const content = this.#options.carrier.contentOf(message)
      return content === null || 'packing' in content ? content : await this.#options.pack(content)
    } catch (error) {
      this.#options.onError(error, 'a message that was sent could not be kept')
      return null
    }
  }

  /**
   * `period`: of the breaker, when the carrier was called; null: the carrier was not called. `message`: what may have left; it is kept where
   * the outcome is unknown.
   */
  async #failed(claim: Claim, error: SendError, period: number | null, message: Message | null = null): Promise<void> {
    const byCarrier = period !== null && error.scope === 'carrier'
    const next = afterFailure(this.#options, claim, error, byCarrier)
    if ('putBackMs' in next) return this.#options.putBack(claim, next.putBackMs)
    if (period !== null && isAnswerAboutMessage(error)) this.#parts.breaker.succeeded()
    else if (byCarrier) this.#slowDown(error, period)
    const content = message !== null && error.kind === 'uncertain' ? await this.#keep(message) : null
    const { data } = next
    // Nothing reached the person, so it is no contact: the next attempt is counted again. What may have left stays counted.
    const unreached =
      this.#options.contact !== undefined && period !== null && next.type !== 'uncertain' && claim.unknownCount === 0
    const more = unreached ? { ...next.more, unreached } : next.more
    await this.#records.recordFailed(
      claim,
      content === null ? { ...next, more } : { ...next, data: { ...data, ...stated(content) }, more: { ...more, content } },
    )
  }

  #slowDown({ kind, retryAfterMs }: SendError, period: number): void {
    if (kind !== 'permanent') this.#parts.breaker.failed(period)
    if (kind === 'throttled') this.#parts.pause(Math.min(retryAfterMs ?? 1_000, MAX_PAUSE_MS))
  }
}

/** Whether the carrier works, and refused this message alone. */
const isAnswerAboutMessage = ({ kind, scope, answer, untried }: SendError): boolean =>
  !untried && answer !== null && (kind === 'permanent' || scope === 'message')

const stated = (content: PackedContent | null): Fact['data'] => (content === null ? {} : { content: content.statement })

const isRefused = (message: unknown): message is Refused =>
  typeof message === 'object' && message !== null && 'refused' in message
