import { randomBytes, randomInt } from 'node:crypto'
import { once } from 'node:events'
import smpp, { type Pdu, type Server, type Session } from 'smpp'
import type { Clock } from '../../src/domain/clock.js'
import { newId } from '../../src/domain/id.js'
import { listen } from '../addresses.js'
import { AttemptCounter, BoundedMap } from '../bounded-map.js'
import type { FaultSwitch } from '../faults.js'
import { notificationIn, type Report } from '../message.js'
import { Pauses } from '../pauses.js'
import { type Attempt, ReportQueue } from '../report-queue.js'
import { type DeliverSm, receiptPdus, replyPdus } from './deliver-sm.js'
import { type Fate, fateOf, type ReceiptType } from './fates.js'
import type { SmsReports } from './recipient.js'
import type { Sms, SmsPart } from './sms.js'

export interface SmscParts {
  faults: FaultSwitch
  clock: Clock
  /** Stores a complete message and starts its fate. */
  accept(sms: Sms, raw: Buffer, fate: Fate): void
}

/** The bit of registered_delivery that asks for intermediate notifications: SMPP 3.4, 5.2.17. */
const INTERMEDIATE = 0x10
const SYSTEM_ERROR = 0x08
const BAD_NUMBER = 0x0b
const THROTTLED = 0x58
/** The optional parameter in which the sender writes its reference: of the range for carriers' own ones (SMPP 3.4, 5.3.2). */
const REFERENCE_TLV = 0x1401
const ACKNOWLEDGE_MS = 10_000
/** A window as real SMSCs have it. The gateway acknowledges a receipt only after its commit. */
const MAX_RECEIPTS_IN_FLIGHT = 50
const MAX_INCOMPLETE = 1_000

/** An SMSC that speaks SMPP 3.4: it accepts messages and sends receipts and replies. */
export class Smsc implements SmsReports {
  readonly #parts: SmscParts
  readonly #server: Server
  /** The connections that receive receipts. */
  readonly #bound = new Set<Session>()
  readonly #queue: ReportQueue<DeliverSm>
  readonly #pauses = new Pauses()
  readonly #attempts = new AttemptCounter()
  readonly #incomplete = new BoundedMap<(SmsPart & { text: string })[]>(MAX_INCOMPLETE)

  constructor(parts: SmscParts) {
    this.#parts = parts
    this.#server = smpp.createServer(session => this.#connect(session))
    this.#queue = new ReportQueue({
      clock: parts.clock,
      attempt: pdu => this.#deliver(pdu),
      hasRoutes: () => this.#bound.size > 0,
      retryDelayMs: () => 500,
      giveUpMs: 600_000,
      maxInFlight: MAX_RECEIPTS_IN_FLIGHT,
    })
  }

  async open(port: number, host: string): Promise<string> {
    return `smpp://simulador:simulador@${await listen(this.#server, port, host)}?from=29000&reference-tlv=${REFERENCE_TLV}`
  }

  interrupt(): void {
    for (const session of [...this.#server.sessions]) session.destroy()
  }

  async close(): Promise<void> {
    this.#pauses.close()
    this.#queue.close()
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.interrupt()
    await closed
  }

  receipt(sms: Sms, type: ReceiptType, afterMs: number): Report {
    const { faults, clock } = this.#parts
    const { status, pdus } = receiptPdus(sms, type, new Date(clock()))
    return pdus.map(pdu => this.#queue.send({ message: sms, faults, type, status, afterMs }, () => pdu))[0]!
  }

  reply(sms: Sms, text: string, afterMs: number): Report {
    const { faults } = this.#parts
    return replyPdus(sms, text).map(pdu => this.#queue.send({ message: sms, faults, type: 'reply', afterMs }, () => pdu))[0]!
  }

  #connect(session: Session): void {
    // Each receipt in flight adds a listener.
    session.socket.setMaxListeners(MAX_RECEIPTS_IN_FLIGHT + 10)
    session.on('error', () => session.destroy())
    session.on('close', () => this.#bound.delete(session))
    if (this.#parts.faults.now.outage) {
      session.destroy()
      return
    }
    for (const command of ['bind_transceiver', 'bind_transmitter', 'bind_receiver']) {
      session.on(command, (pdu: Pdu) => {
        session.send(pdu.response({ system_id: 'simulador' }))
        if (command !== 'bind_transmitter') this.#bound.add(session)
        this.#queue.retryNow()
      })
    }
    session.on('enquire_link', (pdu: Pdu) => session.send(pdu.response()))
    session.on('unbind', (pdu: Pdu) => {
      this.#bound.delete(session)
      session.send(pdu.response())
      session.close()
    })
    session.on('submit_sm', (pdu: Pdu) => {
      this.#submit(session, pdu).catch(() => session.destroy())
    })
  }

  async #submit(session: Session, pdu: Pdu): Promise<void> {
    const { faults } = this.#parts
    const answer = (status: number, id = ''): void => {
      session.send(pdu.response(status === 0 ? { message_id: id } : { command_status: status }))
    }
    const fate = fateOf(pdu.destination_addr)
    await this.#pauses.wait(faults.now.latencyMs)
    if (faults.now.outage) return session.destroy()
    if (faults.drawError()) return answer(SYSTEM_ERROR)
    if (fate.refusal === 'number') return answer(BAD_NUMBER)
    if (this.#isThrottled(pdu, fate)) return answer(THROTTLED)
    await this.#queue.waitForCapacity()
    const id = randomBytes(6).toString('hex')
    if (fate.receiptFirst) this.#receive(pdu, id, fate, false)
    await this.#pauses.wait(fate.answersAfterMs ?? 0)
    const reset = faults.now.resetAfterAccept || fate.breaksConnection === true
    if (!fate.receiptFirst) this.#receive(pdu, id, fate, reset || fate.silent === true)
    if (reset) session.destroy()
    else if (!fate.silent) answer(0, id)
  }

  #isThrottled(pdu: Pdu, { throttledAttempts = 0 }: Fate): boolean {
    if (throttledAttempts === 0) return false
    const key = `${pdu.destination_addr} ${pdu.user_message_reference} ${pdu.short_message.message}`
    return this.#attempts.count(key) <= throttledAttempts
  }

  /** Joins the parts of a message by their header. The message is accepted when its last part has come. */
  #receive(pdu: Pdu, id: string, fate: Fate, unanswered: boolean): void {
    const { clock, accept } = this.#parts
    const part = { id, mark: pdu.user_message_reference ?? null, text: String(pdu.short_message.message) }
    const header = pdu.short_message.udh?.find(element => element[0] === 0 && element.length === 5)
    const [series, total, number] = header === undefined ? [0, 1, 1] : [header[2]!, header[3]!, header[4]!]
    const key = `${pdu.source_addr} ${pdu.destination_addr} ${series} ${total}`
    const parts = this.#incomplete.get(key) ?? []
    parts[number - 1] = part
    if (parts.filter(Boolean).length < total) {
      this.#incomplete.set(key, parts)
      return
    }
    this.#incomplete.delete(key)
    const text = parts.map(each => each.text).join('')
    const ids = parts.map(each => each.id).join(' ')
    const sms: Sms = {
      id: newId(clock()),
      channel: 'sms',
      via: 'smpp',
      receivedAt: new Date(clock()),
      to: `+${pdu.destination_addr}`,
      from: pdu.source_addr,
      fromName: '',
      subject: text,
      reference: `${pdu.destination_addr} ${parts[0]!.mark ?? ids}`,
      notification: notificationIn(pdu[REFERENCE_TLV]?.toString('latin1') ?? null),
      answer: unanswered ? null : `ESME_ROK ${ids}`,
      reports: [],
      text,
      encoding: pdu.data_coding === 8 ? 'ucs2' : 'gsm7',
      parts: parts.map(({ id: name, mark }) => ({ id: name, mark })),
      intermediate: (pdu.registered_delivery & INTERMEDIATE) !== 0,
    }
    accept(sms, Buffer.from(text), fate)
  }

  /** Sends to any bound connection and waits for the acknowledgement. */
  #deliver(pdu: DeliverSm): Promise<Attempt> {
    const sessions = [...this.#bound]
    const session = sessions[randomInt(Math.max(1, sessions.length))]
    if (session === undefined) return Promise.resolve({ outcome: 'no answer', detail: 'Nenhum gateway está conectado.' })
    return new Promise(resolve => {
      const settle = (attempt: Attempt): void => {
        clearTimeout(timer)
        session.socket.off('close', onClose)
        resolve(attempt)
      }
      const onClose = (): void => settle({ outcome: 'no answer', detail: 'A conexão caiu antes da confirmação.' })
      const timer = setTimeout(() => settle({ outcome: 'deferred', detail: 'Sem confirmação.' }), ACKNOWLEDGE_MS)
      session.socket.once('close', onClose)
      const sent = session.deliver_sm(pdu, ({ command_status: status }) => {
        const detail = `deliver_sm_resp 0x${status.toString(16)}`
        settle(status === 0 ? { outcome: 'done', detail } : { outcome: 'deferred', detail })
      })
      if (!sent) onClose()
    })
  }
}
