import { randomBytes, randomInt } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import smpp, { type Pdu, type Session } from 'smpp'
import type { Clock } from '../../src/domain/clock.js'
import { newId } from '../../src/domain/id.js'
import { planSms } from '../../src/domain/message-parts.js'
import { AttemptCounter, BoundedMap } from '../bounded-map.js'
import type { FaultSwitch } from '../faults.js'
import { Pauses } from '../pauses.js'
import { type Attempt, ReportQueue } from '../report-queue.js'
import { type Fate, fateOf } from './fates.js'
import type { SmsReports } from './recipient.js'
import type { Sms, SmsPart } from './sms.js'

export interface SmscParts {
  host: string
  port: number
  faults: FaultSwitch
  clock: Clock
  /** Stores a complete message and starts its fate. */
  accept(sms: Sms, raw: Buffer, fate: Fate): void
}

export interface Smsc {
  readonly url: string
  readonly reports: SmsReports
  /** Breaks every connection. */
  interrupt(): void
  close(): Promise<void>
}

const SYSTEM_ERROR = 0x08
const BAD_NUMBER = 0x0b
const THROTTLED = 0x58
const ANSWER_MS = 10_000
/** A window as real SMSCs have it. The gateway acknowledges a receipt only after its commit. */
const MAX_RECEIPTS_IN_FLIGHT = 50
const MAX_INCOMPLETE = 1_000
const STATES = { delivered: [2, 'DELIVRD', '000'], enroute: [1, 'ENROUTE', '000'], undelivered: [5, 'UNDELIV', '001'] } as const
const EXPIRED = [3, 'EXPIRED', '027'] as const

/** An SMSC that speaks SMPP 3.4: it accepts messages and sends receipts and replies. */
export async function openSmsc({ host, port, faults, clock, accept }: SmscParts): Promise<Smsc> {
  const bound = new Set<Session>()
  const pauses = new Pauses()
  const attempts = new AttemptCounter()
  const incomplete = new BoundedMap<(SmsPart & { text: string })[]>(MAX_INCOMPLETE)
  const queue = new ReportQueue<Record<string, unknown>>({
    clock,
    attempt: deliver,
    hasRoutes: () => bound.size > 0,
    retryDelayMs: () => 500,
    giveUpMs: 600_000,
    maxInFlight: MAX_RECEIPTS_IN_FLIGHT,
  })
  const server = smpp.createServer(session => {
    // Each receipt in flight adds a listener.
    session.socket.setMaxListeners(MAX_RECEIPTS_IN_FLIGHT + 10)
    session.on('error', () => session.destroy())
    session.on('close', () => bound.delete(session))
    if (faults.now.outage) return session.destroy()
    for (const command of ['bind_transceiver', 'bind_transmitter', 'bind_receiver']) {
      session.on(command, (pdu: Pdu) => {
        session.send(pdu.response({ system_id: 'simulador' }))
        if (command !== 'bind_transmitter') bound.add(session)
        queue.retryNow()
      })
    }
    session.on('enquire_link', (pdu: Pdu) => session.send(pdu.response()))
    session.on('unbind', (pdu: Pdu) => {
      bound.delete(session)
      session.send(pdu.response())
      session.close()
    })
    session.on('submit_sm', (pdu: Pdu) => {
      submit(session, pdu).catch(() => session.destroy())
    })
  })

  async function submit(session: Session, pdu: Pdu): Promise<void> {
    const answer = (status: number, id = ''): void => {
      session.send(pdu.response(status === 0 ? { message_id: id } : { command_status: status }))
    }
    const fate = fateOf(pdu.destination_addr)
    await pauses.wait(faults.now.latencyMs)
    if (faults.now.outage) return session.destroy()
    if (faults.drawError()) return answer(SYSTEM_ERROR)
    if (fate.refusal === 'number') return answer(BAD_NUMBER)
    if (isThrottled(pdu, fate)) return answer(THROTTLED)
    await queue.waitForCapacity()
    const id = randomBytes(6).toString('hex')
    if (fate.receiptFirst) receive(pdu, id, fate, false)
    await pauses.wait(fate.answersAfterMs ?? 0)
    const reset = faults.now.resetAfterAccept || fate.breaksConnection === true
    if (!fate.receiptFirst) receive(pdu, id, fate, reset || fate.silent === true)
    if (reset) session.destroy()
    else if (!fate.silent) answer(0, id)
  }

  function isThrottled(pdu: Pdu, { throttledAttempts = 0 }: Fate): boolean {
    if (throttledAttempts === 0) return false
    const key = `${pdu.destination_addr} ${pdu.user_message_reference} ${pdu.short_message.message}`
    return attempts.count(key) <= throttledAttempts
  }

  /** Joins the parts of a message by their header. The message is accepted when its last part has come. */
  function receive(pdu: Pdu, id: string, fate: Fate, unanswered: boolean): void {
    const part = { id, mark: pdu.user_message_reference ?? null, text: String(pdu.short_message.message) }
    const header = pdu.short_message.udh?.find(element => element[0] === 0 && element.length === 5)
    const [series, total, number] = header === undefined ? [0, 1, 1] : [header[2]!, header[3]!, header[4]!]
    const key = `${pdu.source_addr} ${pdu.destination_addr} ${series} ${total}`
    const parts = incomplete.get(key) ?? []
    parts[number - 1] = part
    if (parts.filter(Boolean).length < total) {
      incomplete.set(key, parts)
      return
    }
    incomplete.delete(key)
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
      answer: unanswered ? null : `ESME_ROK ${ids}`,
      reports: [],
      text,
      encoding: pdu.data_coding === 8 ? 'ucs2' : 'gsm7',
      parts: parts.map(({ id: name, mark }) => ({ id: name, mark })),
    }
    accept(sms, Buffer.from(text), fate)
  }

  /** Sends to any bound connection and waits for the acknowledgement. */
  function deliver(fields: Record<string, unknown>): Promise<Attempt> {
    const sessions = [...bound]
    const session = sessions[randomInt(Math.max(1, sessions.length))]
    if (session === undefined) return Promise.resolve({ outcome: 'no answer', detail: 'Nenhum gateway está conectado.' })
    return new Promise(resolve => {
      const settle = (attempt: Attempt): void => {
        clearTimeout(timer)
        session.socket.off('close', onClose)
        resolve(attempt)
      }
      const onClose = (): void => settle({ outcome: 'no answer', detail: 'A conexão caiu antes da confirmação.' })
      const timer = setTimeout(() => settle({ outcome: 'deferred', detail: 'Sem confirmação.' }), ANSWER_MS)
      session.socket.once('close', onClose)
      const sent = session.deliver_sm(fields, ({ command_status: status }) => {
        const detail = `deliver_sm_resp 0x${status.toString(16)}`
        settle(status === 0 ? { outcome: 'done', detail } : { outcome: 'deferred', detail })
      })
      if (!sent) onClose()
    })
  }

  const reports: SmsReports = {
    receipt(sms, type, afterMs) {
      const [state, word, error] = type === 'expired' ? EXPIRED : STATES[type as keyof typeof STATES]
      const stamp = receiptDate(new Date(clock()))
      const sent = sms.parts.map(({ id, mark }) => {
        const shown = fateOf(sms.to).decimalIds ? BigInt(`0x${id}`).toString() : id
        const fields = {
          source_addr_ton: 1,
          source_addr_npi: 1,
          source_addr: sms.to.slice(1),
          destination_addr: sms.from,
          esm_class: type === 'enroute' ? 0x20 : 0x04,
          data_coding: 0,
          short_message: `id:${shown} sub:001 dlvrd:${state === 2 ? '001' : '000'} submit date:${stamp} done date:${stamp} stat:${word} err:${error} text:`,
          receipted_message_id: shown,
          message_state: state,
          ...(mark === null ? {} : { user_message_reference: mark }),
        }
        return queue.send({ message: sms, faults, type, status: word, afterMs }, () => fields)
      })
      return sent[0]!
    },
    reply(sms, text, afterMs) {
      const { encoding, parts } = planSms(text)
      const [series, mark] = [randomInt(256), randomInt(65_536)]
      const sent = parts.map((message, index) =>
        queue.send({ message: sms, faults, type: 'reply', afterMs }, () => ({
          source_addr_ton: 1,
          source_addr_npi: 1,
          source_addr: sms.to.slice(1),
          destination_addr: sms.from,
          esm_class: 0,
          data_coding: encoding === 'gsm7' ? 0 : 8,
          short_message:
            parts.length === 1 ? { message } : { udh: Buffer.from([5, 0, 3, series, parts.length, index + 1]), message },
          user_message_reference: mark,
        })),
      )
      return sent[0]!
    },
  }

  server.listen(port, host)
  await once(server, 'listening')
  const { address, family, port: listening } = server.address() as AddressInfo
  return {
    url: `smpp://simulador:simulador@${family === 'IPv6' ? `[${address}]` : address}:${listening}?from=29000`,
    reports,
    interrupt() {
      for (const session of [...server.sessions]) session.destroy()
    },
    async close() {
      pauses.close()
      queue.close()
      const closed = once(server, 'close')
      server.close()
      for (const session of [...server.sessions]) session.destroy()
      await closed
    },
  }
}

/** YYMMDDhhmm, the format of receipts. */
const receiptDate = (at: Date): string => at.toISOString().replace(/\D/g, '').slice(2, 12)
