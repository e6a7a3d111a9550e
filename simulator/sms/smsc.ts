import { randomBytes, randomInt } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import smpp, { type Pdu, type Session } from 'smpp'
import type { Clock } from '../../src/domain/clock.js'
import { newId } from '../../src/domain/id.js'
import { planParts } from '../../src/domain/message-parts.js'
import { BoundedCache } from '../../src/runtime/bounded-cache.js'
import type { FaultSwitch } from '../faults.js'
import { addReport, type Report } from '../message.js'
import { type Attempt, ReportQueue } from '../report-queue.js'
import { type Fate, fateOf } from './fates.js'
import type { Teller } from './phones.js'
import type { Sms, SmsPart } from './sms.js'
import type { ReportType } from './words.js'

/** The carrier's SMSC: takes short messages over SMPP 3.4, gives receipts and what people write back. */
export interface SmscParts {
  host: string
  port: number
  faults: FaultSwitch
  clock: Clock
  /** Takes a whole message; its fate begins. */
  take(sms: Sms, raw: Buffer, fate: Fate): void
}

export interface Smsc {
  readonly url: string
  readonly teller: Teller
  /** Breaks every connection. */
  interrupt(): void
  close(): Promise<void>
}

interface Outgoing {
  report: Report
  fields: Record<string, unknown>
}

const SYSTEM_ERROR = 0x08
const BAD_NUMBER = 0x0b
const THROTTLED = 0x58
const ANSWER_MS = 10_000
/** A window as real SMSCs have it: each waits until the gateway has committed it. */
const RECEIPTS_AT_ONCE = 50
const MAX_COUNTED = 10_000
const MAX_TORN = 1_000
const STATES = { delivered: [2, 'DELIVRD', '000'], enroute: [1, 'ENROUTE', '000'], undelivered: [5, 'UNDELIV', '001'] } as const
const EXPIRED = [3, 'EXPIRED', '027'] as const

export async function openSmsc({ host, port, faults, clock, take }: SmscParts): Promise<Smsc> {
  const bound = new Set<Session>()
  const stop = new AbortController()
  const tries = new BoundedCache<string, number>({ maxEntries: MAX_COUNTED })
  const torn = new BoundedCache<string, (SmsPart & { text: string })[]>({ maxEntries: MAX_TORN })
  const queue = new ReportQueue<Outgoing>({
    clock,
    attempt: outgoing => deliver(outgoing.fields),
    hasRoutes: () => bound.size > 0,
    restMs: () => 500,
    giveUpMs: 600_000,
    parallel: RECEIPTS_AT_ONCE,
  })
  const server = smpp.createServer(session => {
    // One for each receipt under way.
    session.socket.setMaxListeners(RECEIPTS_AT_ONCE + 10)
    session.on('error', () => session.destroy())
    session.on('close', () => bound.delete(session))
    if (faults.now.outage) return session.destroy()
    for (const command of ['bind_transceiver', 'bind_transmitter', 'bind_receiver']) {
      session.on(command, (pdu: Pdu) => {
        session.send(pdu.response({ system_id: 'simulador' }))
        if (command !== 'bind_transmitter') bound.add(session)
        queue.hurry()
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
    await pause(faults.now.latencyMs)
    if (faults.now.outage) return session.destroy()
    if (faults.drawError()) return answer(SYSTEM_ERROR)
    if (fate.refusal === 'number') return answer(BAD_NUMBER)
    if (isTooFast(pdu, fate)) return answer(THROTTLED)
    await queue.room()
    const id = randomBytes(6).toString('hex')
    if (fate.hasty) receive(pdu, id, fate, false)
    await pause(fate.answersAfterMs ?? 0)
    const reset = faults.now.resetAfterAccept || fate.breaks === true
    if (!fate.hasty) receive(pdu, id, fate, reset || fate.silent === true)
    if (reset) session.destroy()
    else if (!fate.silent) answer(0, id)
  }

  /** Counts the tries of one part to one number; those that came too early are put off. */
  function isTooFast(pdu: Pdu, { throttledTries = 0 }: Fate): boolean {
    if (throttledTries === 0) return false
    const key = `${pdu.destination_addr} ${pdu.user_message_reference} ${pdu.short_message.message}`
    const made = (tries.get(key) ?? 0) + 1
    tries.set(key, made)
    return made <= throttledTries
  }

  /** Joins parts by their header; a message is one once all of them are there. */
  function receive(pdu: Pdu, id: string, fate: Fate, unanswered: boolean): void {
    const part = { id, mark: pdu.user_message_reference ?? null, text: String(pdu.short_message.message) }
    const header = pdu.short_message.udh?.find(element => element[0] === 0 && element.length === 5)
    const [series, total, number] = header === undefined ? [0, 1, 1] : [header[2]!, header[3]!, header[4]!]
    const key = `${pdu.source_addr} ${pdu.destination_addr} ${series} ${total}`
    const parts = torn.get(key) ?? []
    parts[number - 1] = part
    if (parts.filter(Boolean).length < total) {
      torn.set(key, parts)
      return
    }
    torn.delete(key)
    const text = parts.map(piece => piece.text).join('')
    const ids = parts.map(piece => piece.id).join(' ')
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
    take(sms, Buffer.from(text), fate)
  }

  async function pause(ms: number): Promise<void> {
    if (ms > 0) await sleep(ms, undefined, { signal: stop.signal }).catch(() => {})
  }

  /** To any connection that listens; done once it is acknowledged. */
  function deliver(fields: Record<string, unknown>): Promise<Attempt> {
    const sessions = [...bound]
    const session = sessions[randomInt(Math.max(1, sessions.length))]
    if (session === undefined) return Promise.resolve({ outcome: 'no answer', detail: 'Nenhum gateway está conectado.' })
    return new Promise(resolve => {
      const settle = (attempt: Attempt): void => {
        clearTimeout(timer)
        session.socket.off('close', gone)
        resolve(attempt)
      }
      const gone = (): void => settle({ outcome: 'no answer', detail: 'A conexão caiu antes da confirmação.' })
      const timer = setTimeout(() => settle({ outcome: 'put off', detail: 'Sem confirmação.' }), ANSWER_MS)
      session.socket.once('close', gone)
      const sent = session.deliver_sm(fields, ({ command_status: status }) => {
        const detail = `deliver_sm_resp 0x${status.toString(16)}`
        settle(status === 0 ? { outcome: 'done', detail } : { outcome: 'put off', detail })
      })
      if (!sent) gone()
    })
  }

  function tell(sms: Sms, type: ReportType, status: string | null, afterMs: number, fields: Record<string, unknown>): Report {
    const delayMs = afterMs + faults.now.lateReportsMs
    const once = (): Report => {
      const report = addReport(sms, { id: newId(clock()), at: new Date(clock() + delayMs) }, type, status)
      queue.add({ report, fields }, delayMs)
      return report
    }
    const report = once()
    if (faults.now.duplicateReports) once()
    return report
  }

  const teller: Teller = {
    receipt(sms, type, afterMs) {
      const [state, word, error] = type === 'expired' ? EXPIRED : STATES[type as keyof typeof STATES]
      const stamp = receiptDate(new Date(clock()))
      const reports = sms.parts.map(({ id, mark }) => {
        const shown = fateOf(sms.to).decimalIds ? BigInt(`0x${id}`).toString() : id
        return tell(sms, type, word, afterMs, {
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
        })
      })
      return reports[0]!
    },
    reply(sms, text, afterMs) {
      const { encoding, parts } = planParts(text)
      const [series, mark] = [randomInt(256), randomInt(65_536)]
      const reports = parts.map((message, index) =>
        tell(sms, 'reply', null, afterMs, {
          source_addr_ton: 1,
          source_addr_npi: 1,
          source_addr: sms.to.slice(1),
          destination_addr: sms.from,
          esm_class: 0,
          data_coding: encoding === 'gsm7' ? 0 : 8,
          short_message:
            parts.length === 1 ? { message } : { udh: Buffer.from([5, 0, 3, series, parts.length, index + 1]), message },
          user_message_reference: mark,
        }),
      )
      return reports[0]!
    },
  }

  server.listen(port, host)
  await once(server, 'listening')
  const { address, family, port: listening } = server.address() as AddressInfo
  return {
    url: `smpp://simulador:simulador@${family === 'IPv6' ? `[${address}]` : address}:${listening}?from=29000`,
    teller,
    interrupt() {
      for (const session of [...server.sessions]) session.destroy()
    },
    async close() {
      stop.abort()
      queue.close()
      const closed = once(server, 'close')
      server.close()
      for (const session of [...server.sessions]) session.destroy()
      await closed
    },
  }
}

/** YYMMDDhhmm, as receipts have it. */
const receiptDate = (at: Date): string => at.toISOString().replace(/\D/g, '').slice(2, 12)
