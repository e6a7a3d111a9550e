import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../src/domain/clock.js'
import { newId } from '../../src/domain/id.js'
import type { CallbackRoute, Callbacks } from '../callbacks.js'
import type { FaultSwitch } from '../faults.js'
import { addReport, type Report } from '../message.js'
import { Refused } from '../refused.js'
import { type Call, type CallStatus, recordingSid } from './call.js'
import type { Meeting } from './fates.js'
import { signForm } from './signature.js'
import { readTwiml, type Verb } from './twiml.js'
import type { REPORT_WORDS } from './words.js'

/** Lives the calls: rings, answers, asks the sender what to say, listens, and tells the sender of it all. */
export interface TelephoneParts {
  callbacks: Callbacks
  faults: FaultSwitch
  clock: Clock
  account: string
}

/** A call takes seconds here, whatever it says. */
const RING_MS = 300
const ANSWER_MS = 700
const TALK_MS = 600
const UNANSWERED_MS = 1_200
const RECORDING_MS = 200
const ASK_TIMEOUT_MS = 10_000
const ASK_TRIES = 3
const ASK_REST_MS = 400
const MAX_DOCUMENT = 65_536
const SECONDS_PER_WORD = 0.4
const MAX_CALLS = 20_000

export class Telephone {
  readonly #parts: TelephoneParts
  readonly #stop = new AbortController()
  #calls = 0

  constructor(parts: TelephoneParts) {
    this.#parts = parts
    // Every call that rings listens for the end.
    setMaxListeners(0, this.#stop.signal)
  }

  /** Lives what this call meets. Past a bound of calls at once the line is busy, as on any exchange. */
  ring(call: Call, meeting: Meeting): void {
    if (meeting === 'waits') return
    const crowded = this.#calls >= MAX_CALLS
    this.#calls++
    this.#live(call, crowded ? 'busy' : meeting)
      .catch(() => {})
      .finally(() => this.#calls--)
  }

  /** What somebody makes a waiting call meet by hand. */
  act(call: Call, meeting: Meeting): Report {
    if (call.settled) throw new Refused(409, 'A ligação já foi atendida ou terminou.')
    this.ring(call, meeting)
    // The first thing that is told of it is told at once.
    return call.reports.at(-1)!
  }

  /** Says the last thing once more. */
  repeat(call: Call): Report {
    return this.#tell(call, call.status === 'queued' ? 'initiated' : call.status)
  }

  close(): void {
    this.#stop.abort()
  }

  async #live(call: Call, meeting: Meeting): Promise<void> {
    call.settled = true
    this.#tell(call, 'initiated')
    await this.#wait(RING_MS)
    call.status = 'ringing'
    this.#tell(call, 'ringing')
    if (meeting === 'busy' || meeting === 'failed') {
      await this.#wait(RING_MS)
      return this.#end(call, meeting)
    }
    if (meeting === 'no-answer') {
      await this.#wait(UNANSWERED_MS)
      return this.#end(call, 'no-answer')
    }
    await this.#wait(ANSWER_MS)
    await this.#answer(call, meeting)
  }

  async #answer(call: Call, meeting: Meeting): Promise<void> {
    call.status = 'in-progress'
    call.answeredBy = detect(meeting, call.order.machineDetection)
    if (meeting !== 'fax')
      call.said.push({ who: 'person', text: meeting === 'machine' ? 'Deixe seu recado após o sinal.' : 'Alô?' })
    this.#tell(call, 'in-progress')
    await this.#converse(call, meeting)
    await this.#wait(TALK_MS)
    this.#end(call, 'completed')
    if (!call.order.record || call.order.recordingCallback === null) return
    await this.#wait(RECORDING_MS)
    call.recorded = true
    this.#tellRecording(call)
  }

  /** The documents one after the other, as they lead on by themselves or by the person's keys. */
  async #converse(call: Call, meeting: Meeting): Promise<void> {
    const { twiml, url, fallbackUrl } = call.order
    let verbs = twiml === null ? await this.#ask(call, 'script', [url, fallbackUrl]) : readTwiml(twiml)
    for (let documents = 0; verbs !== null && documents < 5; documents++) {
      let next: Verb[] | null = null
      for (const verb of verbs) {
        if (verb.verb === 'hangup') return
        if (verb.verb === 'redirect') {
          next = await this.#ask(call, 'message', [verb.url, fallbackUrl])
          break
        }
        const texts = verb.verb === 'say' ? [verb.text] : verb.says
        call.said.push(...texts.map(text => ({ who: 'carrier' as const, text })))
        // The first words are the greeting's.
        if (meeting === 'hangs up early') return
        if (verb.verb !== 'gather' || meeting !== 'listens') continue
        call.said.push({ who: 'person', text: '(tecla 1)' })
        next = await this.#ask(call, 'key', [verb.action], { Digits: '1' })
        break
      }
      verbs = next
    }
  }

  /** Asks the sender what to do; null: nobody answers. */
  async #ask(
    call: Call,
    type: 'script' | 'key' | 'message',
    urls: readonly (string | null)[],
    more: Record<string, string> = {},
  ): Promise<Verb[] | null> {
    const { clock } = this.#parts
    const report = addReport(call, { id: newId(clock()), at: new Date(clock()) }, type)
    const settle = (state: Report['state'], detail: string): void =>
      void Object.assign(report, { state, detail, doneAt: new Date(clock()) })
    const fields = { ...this.#fields(call, 'in-progress'), ...more }
    for (let tries = 0; tries < ASK_TRIES; tries++) {
      for (const url of new Set(urls)) {
        if (url === null) continue
        const answer = await this.#post(url, fields).catch((error: Error) => ({ ok: false, detail: error.message, body: '' }))
        settle(answer.ok ? 'done' : 'refused', answer.detail)
        if (answer.ok) return readTwiml(answer.body)
      }
      await this.#wait(ASK_REST_MS)
    }
    return null
  }

  async #post(url: string, fields: Record<string, string>): Promise<{ ok: boolean; detail: string; body: string }> {
    const route: CallbackRoute | null = this.#parts.callbacks.routeOf(url)
    if (route === null) return { ok: false, detail: 'Nenhum gateway se registrou para receber callbacks.', body: '' }
    const { to, headers, body } = signForm(url, fields, route, this.#parts.callbacks.bases)
    if (!to.startsWith(`${route.base}/`))
      return { ok: false, detail: 'O endereço está fora do que o gateway registrou.', body: '' }
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(ASK_TIMEOUT_MS)])
    const answer = await fetch(to, { method: 'POST', headers, body, redirect: 'error', signal })
    const text = (await answer.text()).slice(0, MAX_DOCUMENT)
    return { ok: answer.ok, detail: `POST ${to}: ${answer.status}`, body: text }
  }

  #end(call: Call, status: Extract<CallStatus, 'completed' | 'busy' | 'no-answer' | 'failed'>): void {
    call.status = status
    const words = call.said.map(({ text }) => text.split(/\s+/).length).reduce((sum, count) => sum + count, 0)
    call.durationSeconds = status === 'completed' ? Math.max(1, Math.round(words * SECONDS_PER_WORD)) : 0
    this.#tell(call, status)
  }

  #tell(call: Call, type: Exclude<keyof typeof REPORT_WORDS, 'script' | 'key' | 'message' | 'recording'>): Report {
    const { callbacks, faults, clock } = this.#parts
    const url = call.order.statusCallback
    const event = { initiated: 'initiated', ringing: 'ringing', 'in-progress': 'answered' }[type as string] ?? 'completed'
    if (url === null || !call.order.statusEvents.includes(event)) {
      const report = addReport(call, { id: newId(clock()), at: new Date(clock()) }, type)
      return Object.assign(report, { state: 'done' as const, doneAt: new Date(clock()), detail: 'Ninguém pediu este aviso.' })
    }
    const fields = { ...this.#fields(call, type), SequenceNumber: String(call.sequence++) }
    return callbacks.send({
      message: call,
      faults,
      type,
      compose: (route, { at }) => signForm(url, { ...fields, Timestamp: at.toUTCString() }, route, callbacks.bases),
    })
  }

  #tellRecording(call: Call): void {
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

/** Whom the carrier takes whoever answers for, where it was asked to listen. */
function detect(meeting: Meeting, detection: Call['order']['machineDetection']): Call['answeredBy'] {
  if (detection === null) return null
  switch (meeting) {
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
