import { spawnSync } from 'node:child_process'
import { OperatorError } from '../../domain/errors.js'
import { joinSamples, type Sound, seconds } from '../../domain/wav.js'
import { type Carrier, type CarrierEvent, type Provider, type Receipt, SendError } from '../provider.js'
import { integerReader, readCredential, refuseUnknown } from '../url-options.js'
import { Baresip, type CallEvent, findModules, MAX_CALL_SECONDS, removeStaleFolders } from './baresip.js'
import { speakText, TELEPHONE_RATE } from './speech.js'
import type { VoiceMessage } from './voice-message.js'

/**
 * Calls over a SIP trunk with Debian's baresip and espeak-ng: sip://user:password@host:port. send() lasts as long as the call.
 */
export interface SipOptions {
  onEvents(events: readonly CarrierEvent[]): Promise<void>
  /** How long it rings, instead of what the URL says. */
  ringMs?: number
}

interface Trunk {
  host: string
  user: string
  password: string
  lines: number
  ringMs: number
  local: string | null
}

const NAME = 'sip'
/** Ringing and the longest message. The lease is renewed during the call; a call with an expired lease is never repeated. */
const TIMEOUT_MS = MAX_CALL_SECONDS * 1_000
const OPTIONS = ['lines', 'ring', 'local', 'rate']
const PAUSE_SECONDS = 1

/** Final responses of RFC 3261, 21, that concern the person or the number. Any other response concerns the trunk. */
const missedCodes: Record<string, { failure: 'busy' | 'no-answer'; reason: string }> = {
  408: { failure: 'no-answer', reason: 'Ninguém atendeu.' },
  480: { failure: 'no-answer', reason: 'O telefone está desligado ou fora de alcance.' },
  486: { failure: 'busy', reason: 'O número estava ocupado.' },
  487: { failure: 'no-answer', reason: 'Ninguém atendeu.' },
  600: { failure: 'busy', reason: 'O número estava ocupado.' },
  603: { failure: 'no-answer', reason: 'A ligação foi recusada.' },
}
const permanentCodes: Record<string, string> = {
  404: 'O número não existe.',
  410: 'O número não existe mais.',
  484: 'O número está incompleto.',
  604: 'O número não existe.',
}

export const sipProvider = ({ onEvents, ringMs }: SipOptions): Provider<VoiceMessage> => ({
  name: NAME,
  channel: 'voice',
  // After the process died, no carrier can be asked for the outcome of its call.
  whenUnknown: 'never',
  timeoutMs: TIMEOUT_MS,
  async open(url) {
    const trunk = { ...readTrunk(url), ...(ringMs === undefined ? {} : { ringMs }) }
    requirePrograms()
    await removeStaleFolders()
    return openTrunk(trunk, onEvents)
  },
})

/** The number of concurrent calls of a trunk. */
export const linesOf = (url: URL): number => readTrunk(url).lines

function openTrunk(trunk: Trunk, onEvents: SipOptions['onEvents']): Carrier<VoiceMessage> {
  let closed = false
  return {
    // This provider cannot read keys (DTMF).
    lacks: ({ script }) => script.key,
    async send(message, signal) {
      if (closed || signal.aborted) throw new SendError('temporary', 'A ligação não foi feita: o envio foi interrompido antes.')
      const speech = await createSpeech(message, signal)
      const options = { account: accountLine(trunk), local: trunk.local, speech: speech.sound, ringSeconds: trunk.ringMs / 1_000 }
      const phone = await Baresip.start(options).catch(cause => {
        throw new SendError('temporary', 'O programa de ligações não começou.', { answer: String(cause.message), cause })
      })
      try {
        if (signal.aborted) throw new SendError('temporary', 'A ligação não foi feita: o envio foi interrompido antes.')
        const end = await call(phone, message, trunk, signal)
        const receipt = await reportOutcome(message, end, speech.greetingSeconds, onEvents)
        await phone.stop()
        await reportRecording(phone, message, end, onEvents)
        return receipt
      } catch (cause) {
        // The call was made, so a later failure must not cause a second call.
        if (cause instanceof SendError) throw cause
        throw new SendError('uncertain', 'O fim da ligação não pôde ser registrado.', { answer: String(cause), cause })
      } finally {
        await phone.remove()
      }
    },
    async close() {
      closed = true
    },
  }
}

/** The greeting, a pause and the message. */
async function createSpeech({ script }: VoiceMessage, signal: AbortSignal): Promise<{ sound: Sound; greetingSeconds: number }> {
  if (script.key)
    throw new SendError('permanent', 'Ligações com tecla não são possíveis por este tronco SIP; use uma operadora twilio://.')
  try {
    const [greeting, text] = [await speakText(script.greeting, signal), await speakText(script.text, signal)]
    const pause = new Int16Array(TELEPHONE_RATE * PAUSE_SECONDS)
    const samples = joinSamples([greeting.samples, pause, text.samples])
    return { sound: { rate: TELEPHONE_RATE, channels: 1, samples }, greetingSeconds: seconds(greeting) }
  } catch (cause) {
    throw new SendError('temporary', 'A fala da ligação não pôde ser gerada.', {
      answer: String((cause as Error).message),
      cause,
    })
  }
}

interface CallEnd {
  detail: string
  /** The telephone rang and we ended the call: only then does a call without a SIP code count as not answered. */
  ringTimedOut: boolean
  establishedAt: Date | null
  endedAt: Date
}

/** Dials and waits for the end of the call. A failure after dialling leaves a call of unknown outcome. */
function call(phone: Baresip, { to }: VoiceMessage, { host, ringMs }: Trunk, signal: AbortSignal): Promise<CallEnd> {
  return new Promise((resolve, reject) => {
    let establishedAt: Date | null = null
    let rang = false
    let ringTimedOut = false
    const lost = (answer: string): void => {
      clearTimeout(ringing)
      reject(new SendError('uncertain', 'A ligação foi interrompida sem que se saiba como terminou.', { answer }))
    }
    const ringing = setTimeout(() => {
      ringTimedOut = rang
      phone.hangUp()
    }, ringMs)
    signal.addEventListener('abort', () => lost('the call took too long'), { once: true })
    phone.onEvent(({ type, detail }: CallEvent) => {
      if (type === 'lost') return lost(detail)
      if (type === 'ringing') rang = true
      if (type === 'established') {
        establishedAt = new Date()
        clearTimeout(ringing)
      }
      if (type !== 'closed') return
      clearTimeout(ringing)
      resolve({ detail, ringTimedOut, establishedAt, endedAt: new Date() })
    })
    phone.dial(`sip:${to}@${host}`)
  })
}

async function reportRecording(
  phone: Baresip,
  { reference }: VoiceMessage,
  end: CallEnd,
  onEvents: SipOptions['onEvents'],
): Promise<void> {
  const bytes = end.establishedAt === null ? null : await phone.readRecording()
  if (bytes === null) return
  const length = Math.round((end.endedAt.getTime() - end.establishedAt!.getTime()) / 1_000)
  await onEvents([{ kind: 'file', of: { ours: reference }, id: reference, seconds: length, bytes }])
}

/** Sends the outcome of the call as a report, which ends the delivery's lease; the receipt adds nothing to it. */
async function reportOutcome(
  { reference, againMs }: VoiceMessage,
  { detail, ringTimedOut, establishedAt, endedAt }: CallEnd,
  greetingSeconds: number,
  onEvents: SipOptions['onEvents'],
): Promise<Receipt> {
  const of = { ours: reference }
  const receipt = { references: [], answer: detail, delivered: false }
  if (establishedAt !== null && endedAt.getTime() - establishedAt.getTime() >= greetingSeconds * 1_000) {
    await onEvents([{ kind: 'report', of, type: 'delivered', at: establishedAt, answer: detail }])
    return receipt
  }
  const code = /^[3-6]\d\d\b/.exec(detail)?.[0] ?? ''
  const permanent = permanentCodes[code]
  if (permanent !== undefined) throw new SendError('permanent', permanent, { answer: detail })
  const missed = establishedAt !== null ? HUNG_UP : ringTimedOut ? NO_ANSWER : missedCodes[code]
  // No telephone rang: the trunk is unreachable or has failed.
  if (missed === undefined) throw new SendError('temporary', 'O tronco SIP não completou a ligação.', { answer: detail })
  const { failure, reason } = missed
  const report = { kind: 'report', of, at: endedAt, answer: detail, reason } as const
  await onEvents([againMs === null ? { ...report, type: 'failed', failure } : { ...report, type: 'again', delayMs: againMs }])
  return receipt
}

const NO_ANSWER = { failure: 'no-answer', reason: 'Ninguém atendeu.' } as const
const HUNG_UP = { failure: 'no-answer', reason: 'Alguém atendeu e desligou antes de ouvir a mensagem.' } as const

function readTrunk(url: URL): Trunk {
  const wrong = (problem: string): never => {
    throw new OperatorError(`VOICE_URL: ${problem} (exemplo: sip://usuario:senha@tronco.example.com:5060?lines=4).`)
  }
  refuseUnknown(url, OPTIONS, wrong)
  const integer = integerReader(url, wrong)
  const [user, password] = [readCredential(url.username, wrong), readCredential(url.password, wrong)]
  // A character that ends a field of baresip's accounts file would change its meaning.
  if (url.hostname === '' || !/^[\w.+-]+$/.test(user) || /[\s;<>"]/.test(password))
    wrong('faltam o usuário ou o servidor, ou têm sinais impossíveis')
  const local = url.searchParams.get('local')
  if (local !== null && !/^[\d.]{7,15}$/.test(local)) wrong('local deve ser um endereço IPv4 desta máquina')
  return { host: url.host, user, password, lines: integer('lines', 4, 1, 50), ringMs: integer('ring', 30, 5, 300) * 1_000, local }
}

const accountLine = ({ user, password, host }: Trunk): string =>
  `<sip:${user}@${host}>;auth_user=${user};auth_pass=${password};regint=0;outbound="sip:${host}"`

function requirePrograms(): void {
  const missing = (program: string): never => {
    throw new OperatorError(
      `VOICE_URL pede um tronco SIP, e falta o programa ${program} nesta máquina (apt install baresip espeak-ng).`,
    )
  }
  if (spawnSync('espeak-ng', ['--version'], { stdio: 'ignore' }).error !== undefined) missing('espeak-ng')
  if (spawnSync('baresip', ['-h'], { stdio: 'ignore' }).error !== undefined || findModules() === null) missing('baresip')
}
