import { spawnSync } from 'node:child_process'
import { OperatorError } from '../../domain/errors.js'
import { joinSamples, type Sound, seconds } from '../../domain/wav.js'
import { type Carrier, type CarrierEvent, type Provider, type Receipt, SendError, type VoiceMessage } from '../provider.js'
import { readCredential } from '../url-options.js'
import { Baresip, type CallEvent, findModules, LONGEST_SECONDS, removeLeftovers } from './baresip.js'
import { speakText, TELEPHONE_RATE } from './speech.js'

/** Calls over a SIP trunk, by Debian's baresip and espeak-ng: sip://user:password@host:port. The call lasts as long as its send. */
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
/** Ringing, and the longest message there is. Leases are renewed meanwhile; whoever finds one run out calls nobody. */
const TIMEOUT_MS = LONGEST_SECONDS * 1_000
const OPTIONS = ['lines', 'ring', 'local', 'rate']
const PAUSE_SECONDS = 1

/** Final answers of RFC 3261, 21, that say something of the person or the number; any other speaks of the trunk. */
const missedAnswers: Record<string, { failure: 'busy' | 'no-answer'; reason: string }> = {
  408: { failure: 'no-answer', reason: 'Ninguém atendeu.' },
  480: { failure: 'no-answer', reason: 'O telefone está desligado ou fora de alcance.' },
  486: { failure: 'busy', reason: 'O número estava ocupado.' },
  487: { failure: 'no-answer', reason: 'Ninguém atendeu.' },
  600: { failure: 'busy', reason: 'O número estava ocupado.' },
  603: { failure: 'no-answer', reason: 'A ligação foi recusada.' },
}
const permanentAnswers: Record<string, string> = {
  404: 'O número não existe.',
  410: 'O número não existe mais.',
  484: 'O número está incompleto.',
  604: 'O número não existe.',
}

export const sipProvider = ({ onEvents, ringMs }: SipOptions): Provider<VoiceMessage> => ({
  name: NAME,
  channel: 'voice',
  // Nobody can be asked what became of a call whose process died.
  whenUnknown: 'never',
  timeoutMs: TIMEOUT_MS,
  async open(url) {
    const trunk = { ...readTrunk(url), ...(ringMs === undefined ? {} : { ringMs }) }
    requirePrograms()
    await removeLeftovers()
    return openTrunk(trunk, onEvents)
  },
})

/** Calls that a trunk carries at a time. */
export const linesOf = (url: URL): number => readTrunk(url).lines

function openTrunk(trunk: Trunk, onEvents: SipOptions['onEvents']): Carrier<VoiceMessage> {
  let closed = false
  return {
    // No key can be waited for here.
    lacks: ({ script }) => script.key,
    async send(message, signal) {
      if (closed || signal.aborted) throw new SendError('temporary', 'A ligação não foi feita: o envio foi interrompido antes.')
      const speech = await writeSpeech(message, signal)
      const options = { account: accountLine(trunk), local: trunk.local, speech: speech.sound, ringSeconds: trunk.ringMs / 1_000 }
      const phone = await Baresip.start(options).catch(cause => {
        throw new SendError('temporary', 'O programa de ligações não começou.', { answer: String(cause.message), cause })
      })
      try {
        if (signal.aborted) throw new SendError('temporary', 'A ligação não foi feita: o envio foi interrompido antes.')
        const end = await call(phone, message, trunk, signal)
        const receipt = await conclude(message, end, speech.greetingSeconds, onEvents)
        await phone.stop()
        await tellRecording(phone, message, end, onEvents)
        return receipt
      } catch (cause) {
        // The call was made: whatever else fails now, nobody is to be called again for it.
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

/** The greeting, a moment, the message. */
async function writeSpeech({ script }: VoiceMessage, signal: AbortSignal): Promise<{ sound: Sound; greetingSeconds: number }> {
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
  /** Whether the telephone was heard ringing, and we ended that: only then is a call without a code one that nobody answered. */
  rungOut: boolean
  establishedAt: Date | null
  endedAt: Date
}

/** Dials and watches until the end. From the dialling on, whatever breaks leaves a call of which nothing is known. */
function call(phone: Baresip, { to }: VoiceMessage, { host, ringMs }: Trunk, signal: AbortSignal): Promise<CallEnd> {
  return new Promise((resolve, reject) => {
    let establishedAt: Date | null = null
    let rang = false
    let rungOut = false
    const lost = (answer: string): void => {
      clearTimeout(ringing)
      reject(new SendError('uncertain', 'A ligação foi interrompida sem que se saiba como terminou.', { answer }))
    }
    const ringing = setTimeout(() => {
      rungOut = rang
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
      resolve({ detail, rungOut, establishedAt, endedAt: new Date() })
    })
    phone.dial(`sip:${to}@${host}`)
  })
}

async function tellRecording(
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

/** What became of the call is told as a report, which ends the delivery's lease; the receipt then has nothing to add. */
async function conclude(
  { reference, againMs }: VoiceMessage,
  { detail, rungOut, establishedAt, endedAt }: CallEnd,
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
  const permanent = permanentAnswers[code]
  if (permanent !== undefined) throw new SendError('permanent', permanent, { answer: detail })
  const missed = establishedAt !== null ? HUNG_UP : rungOut ? RUNG_OUT : missedAnswers[code]
  // No telephone rang: the trunk is out of reach, or has trouble of its own.
  if (missed === undefined) throw new SendError('temporary', 'O tronco SIP não completou a ligação.', { answer: detail })
  const { failure, reason } = missed
  const told = { kind: 'report', of, at: endedAt, answer: detail, reason } as const
  await onEvents([againMs === null ? { ...told, type: 'failed', failure } : { ...told, type: 'again', delayMs: againMs }])
  return receipt
}

const RUNG_OUT = { failure: 'no-answer', reason: 'Ninguém atendeu.' } as const
const HUNG_UP = { failure: 'no-answer', reason: 'Alguém atendeu e desligou antes de ouvir a mensagem.' } as const

function readTrunk(url: URL): Trunk {
  const wrong = (problem: string): never => {
    throw new OperatorError(`VOICE_URL: ${problem} (exemplo: sip://usuario:senha@tronco.example.com:5060?lines=4).`)
  }
  const { searchParams: given } = url
  const unknown = [...given.keys()].find(name => !OPTIONS.includes(name))
  if (unknown !== undefined) wrong(`a opção ${unknown} não existe; use ${OPTIONS.join(', ')}`)
  const whole = (name: string, fallback: number, least: number, most: number): number => {
    const text = given.get(name) ?? String(fallback)
    const value = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN
    return value >= least && value <= most ? value : wrong(`${name} deve ser de ${least} a ${most}`)
  }
  const [user, password] = [readCredential(url.username, wrong), readCredential(url.password, wrong)]
  // What ends a field of baresip's accounts file would change its meaning.
  if (url.hostname === '' || !/^[\w.+-]+$/.test(user) || /[\s;<>"]/.test(password))
    wrong('faltam o usuário ou o servidor, ou têm sinais impossíveis')
  const local = given.get('local')
  if (local !== null && !/^[\d.]{7,15}$/.test(local)) wrong('local deve ser um endereço IPv4 desta máquina')
  return { host: url.host, user, password, lines: whole('lines', 4, 1, 50), ringMs: whole('ring', 30, 5, 300) * 1_000, local }
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
