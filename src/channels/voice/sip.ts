import { spawn, spawnSync } from 'node:child_process'
import { OperatorError } from '../../domain/errors.js'
import { joinSamples, readWav, resample, type Sound, seconds } from '../../domain/text/wav.js'
import { MIB } from '../../domain/units.js'
import { type Carrier, type CarrierEvent, type Provider, type Receipt, SendError } from '../provider.js'
import type { ProviderModule } from '../provider-module.js'
import { integerReader, readCredential, refuseUnknown } from '../url-options.js'
import { Baresip, type CallEvent, findModules, MAX_CALL_SECONDS, removeStaleFolders } from './baresip.js'
import { type HeldRecording, holdRecording, offerHeldRecordings } from './held-recordings.js'
import { callContent, type VoiceMessage } from './voice-message.js'

export interface SipOptions {
  onEvents(events: readonly CarrierEvent[]): Promise<void>
  /** Where recordings are held until they are stored. */
  heldFolder: string
  /** How long it rings, instead of the value in the URL. */
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

/** Ringing and the longest message. The lease is renewed during the call; a call with an expired lease is never repeated. */
const TIMEOUT_MS = MAX_CALL_SECONDS * 1_000
/** Telephones carry 8,000 samples per second. */
const TELEPHONE_RATE = 8_000
/** 150 words a minute is slower than espeak-ng's default, because the message is heard once and over a telephone. */
const ESPEAK_OPTIONS = ['-v', 'pt-br', '-s', '150', '--stdin', '--stdout']
const MAX_SPEECH = 64 * MIB

/** Final responses of RFC 3261, 21, that concern the person or the number. Any other response concerns the trunk. */
const NO_ANSWER = { failure: 'no-answer', reason: 'Ninguém atendeu.' } as const
const BUSY = { failure: 'busy', reason: 'O número estava ocupado.' } as const
const missedCodes: Record<string, { failure: 'busy' | 'no-answer'; reason: string }> = {
  408: NO_ANSWER,
  480: { failure: 'no-answer', reason: 'O telefone está desligado ou fora de alcance.' },
  486: BUSY,
  487: NO_ANSWER,
  600: BUSY,
  603: { failure: 'no-answer', reason: 'A ligação foi recusada.' },
}
const permanentCodes: Record<string, string> = {
  404: 'O número não existe.',
  410: 'O número não existe mais.',
  484: 'O número está incompleto.',
  604: 'O número não existe.',
}

/** Calls over a SIP trunk with Debian's baresip and espeak-ng: sip://user:password@host:port. send() lasts as long as the call. */
export const sipProvider = ({ onEvents, heldFolder, ringMs }: SipOptions): Provider<VoiceMessage> => ({
  name: 'sip',
  channel: 'voice',
  // After the process died, no carrier can be asked for the outcome of its call.
  whenUnknown: 'never',
  timeoutMs: TIMEOUT_MS,
  async open(url) {
    const trunk = { ...readTrunk(url), ...(ringMs === undefined ? {} : { ringMs }) }
    requirePrograms()
    await removeStaleFolders()
    // Not awaited, because calls can be made before the database takes the recordings of earlier ones.
    offerHeldRecordings({ folder: heldFolder, trunk: trunkOf(trunk) }, recording => onEvents([fileOf(recording)])).catch(() => {})
    return openTrunk(trunk, { onEvents, heldFolder })
  },
})

export const sip: ProviderModule<VoiceMessage, SipOptions> = {
  create: sipProvider,
  concurrency: url => readTrunk(url).lines,
}

function openTrunk(trunk: Trunk, { onEvents, heldFolder }: SipOptions): Carrier<VoiceMessage> {
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
        await phone.stop()
        const bytes = end.establishedAt && (await phone.readRecording().catch(() => null))
        const recording = bytes && { reference: message.reference, seconds: Math.round(spokenSeconds(end)), bytes }
        // Held before the report, which fails where the database is gone for long.
        const release = recording && (await holdRecording({ folder: heldFolder, trunk: trunkOf(trunk) }, recording))
        const receipt = await reportOutcome(message, end, speech.greetingSeconds, onEvents)
        if (recording !== null) await onEvents([fileOf(recording)])
        await release?.()
        return receipt
      } catch (cause) {
        // The call was made, so a later failure must not cause a second call.
        if (cause instanceof SendError) throw cause
        throw new SendError('uncertain', 'O fim da ligação não pôde ser registrado.', { answer: String(cause), cause })
      } finally {
        await phone.remove()
      }
    },
    contentOf: callContent,
    async close() {
      closed = true
    },
  }
}

const fileOf = ({ reference, seconds, bytes }: HeldRecording): CarrierEvent => ({
  kind: 'file',
  of: { ours: reference },
  id: reference,
  seconds,
  bytes,
})

const trunkOf = ({ user, host }: Trunk): string => `${user}@${host}`

async function createSpeech({ script }: VoiceMessage, signal: AbortSignal): Promise<{ sound: Sound; greetingSeconds: number }> {
  if (script.key)
    throw new SendError('permanent', 'Ligações com tecla não são possíveis por este tronco SIP; use uma operadora twilio://.')
  try {
    const [greeting, text] = [await speakText(script.greeting, signal), await speakText(script.text, signal)]
    const oneSecond = new Int16Array(TELEPHONE_RATE)
    const samples = joinSamples([greeting.samples, oneSecond, text.samples])
    return { sound: { rate: TELEPHONE_RATE, channels: 1, samples }, greetingSeconds: seconds(greeting) }
  } catch (cause) {
    const answer = String((cause as Error).message)
    throw new SendError('temporary', 'A fala da ligação não pôde ser gerada.', { answer, cause })
  }
}

async function speakText(text: string, signal: AbortSignal): Promise<Sound> {
  const sound = readWav(await runEspeak(text, signal))
  if (sound === null || sound.samples.length === 0) throw new Error('espeak-ng gave no sound')
  return resample(sound, TELEPHONE_RATE)
}

/** The text is passed as standard input, because every user of the machine can read the arguments of a process. */
function runEspeak(text: string, signal: AbortSignal): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const child = spawn('espeak-ng', ESPEAK_OPTIONS, { stdio: ['pipe', 'pipe', 'ignore'], signal })
    const chunks: Buffer[] = []
    let size = 0
    child.stdout.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > MAX_SPEECH) child.kill('SIGKILL')
      else chunks.push(chunk)
    })
    child.on('error', reject)
    child.stdin.on('error', () => {})
    child.on('close', code => (code === 0 ? resolve(Buffer.concat(chunks)) : reject(new Error(`espeak-ng ended with ${code}`))))
    child.stdin.end(text)
  })
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
      if (type === 'established') establishedAt = new Date()
      if (type !== 'ringing') clearTimeout(ringing)
      if (type === 'closed') resolve({ detail, ringTimedOut, establishedAt, endedAt: new Date() })
    })
    phone.dial(`sip:${to}@${host}`)
  })
}

const spokenSeconds = ({ establishedAt, endedAt }: CallEnd): number =>
  establishedAt === null ? 0 : (endedAt.getTime() - establishedAt.getTime()) / 1_000

/** Sends the outcome of the call as a report, which ends the delivery's lease; the receipt adds nothing to it. */
async function reportOutcome(
  { reference, againMs }: VoiceMessage,
  end: CallEnd,
  greetingSeconds: number,
  onEvents: SipOptions['onEvents'],
): Promise<Receipt> {
  const { detail, ringTimedOut, establishedAt, endedAt } = end
  const of = { ours: reference }
  const receipt = { references: [], answer: detail, delivered: false }
  if (establishedAt !== null && spokenSeconds(end) >= greetingSeconds) {
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

const HUNG_UP = { failure: 'no-answer', reason: 'Alguém atendeu e desligou antes de ouvir a mensagem.' } as const

function readTrunk(url: URL): Trunk {
  const wrong = (problem: string): never => {
    throw new OperatorError(`VOICE_URL: ${problem} (exemplo: sip://usuario:senha@tronco.example.com:5060?lines=4).`)
  }
  refuseUnknown(url, ['lines', 'ring', 'local', 'rate'], wrong)
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
    const cure = 'apt install baresip espeak-ng'
    throw new OperatorError(`VOICE_URL pede um tronco SIP, e falta o programa ${program} nesta máquina (${cure}).`)
  }
  if (spawnSync('espeak-ng', ['--version'], { stdio: 'ignore' }).error !== undefined) missing('espeak-ng')
  if (spawnSync('baresip', ['-h'], { stdio: 'ignore' }).error !== undefined || findModules() === null) missing('baresip')
}
