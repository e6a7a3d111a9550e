import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../src/domain/clock.js'
import type { Callbacks } from '../callbacks.js'
import type { FaultSwitch } from '../faults.js'
import { sendRequest } from '../http-client.js'
import { addReport, newStamp, type Report, settleReport } from '../message.js'
import { SimulatorError } from '../simulator-error.js'
import { type Call, type CallStatus, recordingSid } from './call.js'
import type { Reaction } from './fates.js'
import type { REPORT_LABELS } from './labels.js'
import { signForm } from './signature.js'
import { readTwiml, type Verb } from './twiml.js'

export interface TelephoneParts {
  callbacks: Callbacks
  faults: FaultSwitch
  clock: Clock
  account: string
}

/** A simulated call takes seconds, however long its text is. */
const RING_MS = 300
const ANSWER_MS = 700
const TALK_MS = 600
const UNANSWERED_MS = 1_200
const RECORDING_MS = 200
const ASK_ATTEMPTS = 3
const ASK_RETRY_MS = 400
const MAX_DOCUMENTS = 5
const SECONDS_PER_WORD = 0.4
const MAX_CALLS = 20_000

/** Runs the calls: rings, answers, asks the sender what to say, and reports every step to the sender. */
export class Telephone {
  readonly #parts: TelephoneParts
  readonly #stop = new AbortController()
  #calls = 0

  constructor(parts: TelephoneParts) {
    this.#parts = parts
    // Every running call adds a listener.
    setMaxListeners(0, this.#stop.signal)
  }

  /** Starts a call. Beyond MAX_CALLS the line is busy. */
  ring(call: Call, reaction: Reaction): void {
    if (reaction === 'waits') return
    const isFull = this.#calls >= MAX_CALLS
    this.#calls++
    this.#run(call, isFull ? 'busy' : reaction)
      .catch(() => {})
      .finally(() => this.#calls--)
  }

  /** A person chooses the reaction of a telephone that waits. */
  act(call: Call, reaction: Reaction): Report {
    if (call.started) throw new SimulatorError(409, 'A ligação já foi atendida ou terminou.')
    this.ring(call, reaction)
    // ring() adds its first report synchronously.
    return call.reports.at(-1)!
  }

  repeatReport(call: Call): Report {
    return this.#report(call, call.status === 'queued' ? 'initiated' : call.status)
  }

  close(): void {
    this.#stop.abort()
  }

  async #run(call: Call, reaction: Reaction): Promise<void> {
    call.started = true
    this.#report(call, 'initiated')
    await this.#wait(RING_MS)
    call.status = 'ringing'
    this.#report(call, 'ringing')
    if (reaction === 'busy' || reaction === 'failed') {
      await this.#wait(RING_MS)
      return this.#end(call, reaction)
    }
    if (reaction === 'no-answer') {
      await this.#wait(UNANSWERED_MS)
      return this.#end(call, 'no-answer')
    }
    await this.#wait(ANSWER_MS)
    await this.#answer(call, reaction)
  }

  async #answer(call: Call, reaction: Reaction): Promise<void> {
    call.status = 'in-progress'
    call.answeredBy = detect(reaction, call.order.machineDetection)
    if (reaction !== 'fax')
      call.said.push({ who: 'person', text: reaction === 'machine' ? 'Deixe seu recado após o sinal.' : 'Alô?' })
    this.#report(call, 'in-progress')
    await this.#converse(call, reaction)
    await this.#wait(TALK_MS)
    this.#end(call, 'completed')
    if (!call.order.record || call.order.recordingCallback === null) return
    await this.#wait(RECORDING_MS)
    call.recorded = true
    this.#reportRecording(call)
  }

  /** Follows the documents that lead to one another by a redirect or by a pressed key. */
  async #converse(call: Call, reaction: Reaction): Promise<void> {
    const { twiml, url, fallbackUrl } = call.order
    let verbs = twiml === null ? await this.#ask(call, 'script', [url, fallbackUrl]) : readTwiml(twiml)
    for (let documents = 0; verbs !== null && documents < MAX_DOCUMENTS; documents++) {
      let next: Verb[] | null = null
      for (const verb of verbs) {
        if (verb.verb === 'hangup') return
        if (verb.verb === 'redirect') {
          next = await this.#ask(call, 'message', [verb.url, fallbackUrl])
          break
        }
        const texts = verb.verb === 'say' ? [verb.text] : verb.says
        call.said.push(...texts.map(text => ({ who: 'carrier' as const, text })))
        // The first verb is the greeting.
        if (reaction === 'hangs up early') return
        if (verb.verb !== 'gather' || reaction !== 'listens') continue
        call.said.push({ who: 'person', text: '(tecla 1)' })
        next = await this.#ask(call, 'key', [verb.action], { Digits: '1' })
        break
      }
      verbs = next
    }
  }

  /** Asks the sender for the next document; null when no URL answers. */
  async #ask(
    call: Call,
    type: 'script' | 'key' | 'message',
    urls: readonly (string | null)[],
    more: Record<string, string> = {},
  ): Promise<Verb[] | null> {
    const { clock } = this.#parts
    const report = addReport(call, newStamp(clock), type)
    const fields = { ...this.#fields(call, 'in-progress'), ...more }
    for (let attempt = 0; attempt < ASK_ATTEMPTS; attempt++) {
      for (const url of new Set(urls)) {
        if (url === null) continue
        const answer = await this.#post(url, fields).catch((error: Error) => ({ ok: false, detail: error.message, body: '' }))
        settleReport(report, answer.ok ? 'done' : 'refused', answer.detail, clock)
        const verbs = answer.ok ? readTwiml(answer.body) : null
        if (verbs === null) call.errors.push({ code: answer.ok ? '12100' : '11200', url, at: new Date(clock()) })
        if (answer.ok) return verbs
      }
      await this.#wait(ASK_RETRY_MS)
    }
    return null
  }

  async #post(url: string, fields: Record<string, string>): Promise<{ ok: boolean; detail: string; body: string }> {
    const route = this.#parts.callbacks.routeOf(url)
    if (route === null) return { ok: false, detail: 'Nenhum gateway se registrou para receber callbacks.', body: '' }
    const { to, headers, body } = signForm(url, fields, route, this.#parts.callbacks.bases)
    if (!to.startsWith(`${route.base}/`))
      return { ok: false, detail: 'O endereço está fora do que o gateway registrou.', body: '' }
    const answer = await sendRequest(new URL(to), { method: 'POST', headers, body }, this.#stop.signal)
    const ok = answer.status >= 200 && answer.status < 300
    return { ok, detail: `POST ${to}: ${answer.status}`, body: answer.body }
  }

  #end(call: Call, status: Extract<CallStatus, 'completed' | 'busy' | 'no-answer' | 'failed'>): void {
    call.status = status
    const words = call.said.map(({ text }) => text.split(/\s+/).length).reduce((sum, count) => sum + count, 0)
    call.durationSeconds = status === 'completed' ? Math.max(1, Math.round(words * SECONDS_PER_WORD)) : 0
    this.#report(call, status)
  }

  #report(call: Call, type: Exclude<keyof typeof REPORT_LABELS, 'script' | 'key' | 'message' | 'recording'>): Report {
    const { callbacks, faults, clock } = this.#parts
    const url = call.order.statusCallback
    const event = { initiated: 'initiated', ringing: 'ringing', 'in-progress': 'answered' }[type as string] ?? 'completed'
    if (url === null || !call.order.statusEvents.includes(event)) {
      return settleReport(addReport(call, newStamp(clock), type), 'done', 'Ninguém pediu este aviso.', clock)
    }
    const fields = { ...this.#fields(call, type), SequenceNumber: String(call.sequence++) }
    return callbacks.send({
      message: call,
      faults,
      type,
      compose: (route, { at }) => signForm(url, { ...fields, Timestamp: at.toUTCString() }, route, callbacks.bases),
    })
  }

  #reportRecording(call: Call): void {
    const { callbacks, faults, account } = this.#parts
    const fields = {
      AccountSid: account,
      CallSid: call.sid,
      RecordingSid: recordingSid(call),
      RecordingStatus: 'completed',
      RecordingDuration: String(call.durationSeconds),
      RecordingChannels: '2',
    }
    const url = call.order.recordingCallback!
    callbacks.send({ message: call, faults, type: 'recording', compose: route => signForm(url, fields, route, callbacks.bases) })
  }

  #fields(call: Call, status: string): Record<string, string> {
    return {
      AccountSid: this.#parts.account,
      CallSid: call.sid,
      From: call.from,
      To: call.to,
      CallStatus: status,
      Direction: 'outbound-api',
      ...(call.answeredBy === null ? {} : { AnsweredBy: call.answeredBy }),
      ...(call.durationSeconds === null ? {} : { CallDuration: String(call.durationSeconds) }),
      ...(status === 'failed' ? { SipResponseCode: '404' } : {}),
    }
  }

  #wait(ms: number): Promise<void> {
    return sleep(ms, undefined, { signal: this.#stop.signal })
  }
}

/** The carrier's guess about the answering party, if the sender asked for one. */
function detect(reaction: Reaction, detection: Call['order']['machineDetection']): Call['answeredBy'] {
  if (detection === null) return null
  switch (reaction) {
    case 'machine':
      return detection === 'DetectMessageEnd' ? 'machine_end_beep' : 'machine_start'
    case 'fax':
      return 'fax'
    case 'unclear':
      return 'unknown'
    default:
      return 'human'
  }
}
