import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { connect as connectTcp, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { interleave, readWav, type Sound, writeWav } from '../../domain/text/wav.js'
import { releasePort, reservePort } from '../../runtime/free-port.js'

interface BaresipOptions {
  /** A line of baresip's accounts file. */
  account: string
  /** The local address for SIP; null: the system chooses. */
  local: string | null
  /** Played when the call is answered; the call ends with it. */
  speech: Sound
  ringSeconds: number
}

export interface CallEvent {
  type: 'ringing' | 'established' | 'closed' | 'lost'
  /** baresip's text about a closed call: '486 Busy Here', 'end of file'. */
  detail: string
}

const START_ATTEMPTS = 100
const START_RETRY_MS = 50
/** baresip ends itself after this time, in case our process dies before it. */
export const MAX_CALL_SECONDS = 600
const FOLDER_PREFIX = 'carteiro-call-'
const OUTPUT_FILE = 'output'
/** Printed once all modules are loaded, or have failed to load: without its control socket baresip goes on. */
const READY = 'baresip is ready'
const NO_CONTROL = /ctrl_tcp.*(failed|in use|cannot|no such).*/i
const SPEECH_FILE = 'speech.wav'
/**
 * Played while it rings: trunks with early media (RFC 3960) take sound before the answer. The silence lasts longer than the
 * ringing, because the end of a file ends the call.
 */
const SILENCE_FILE = 'silence.wav'
const SILENCE_MARGIN_SECONDS = 30
const SPEECH_TOKEN = 'speech'
const EVENTS: Record<string, CallEvent['type']> = {
  CALL_RINGING: 'ringing',
  // An 18x response with a session description: the trunk plays the ringing tone itself.
  CALL_PROGRESS: 'ringing',
  CALL_ESTABLISHED: 'established',
  CALL_CLOSED: 'closed',
}

/** One call by one baresip process with its own folder. The control socket dials, reports events and starts the recording. */
export class Baresip {
  readonly #folder: string
  readonly #ports: readonly number[]
  readonly #process: ChildProcess
  readonly #control: Socket
  #emit: (event: CallEvent) => void = () => {}
  #pending = Buffer.alloc(0)

  private constructor(folder: string, ports: readonly number[], process: ChildProcess, control: Socket) {
    this.#folder = folder
    this.#ports = ports
    this.#process = process
    this.#control = control
    control.on('data', (chunk: Buffer) => this.#read(chunk))
    control.on('error', () => {})
    process.once('exit', code => this.#emit({ type: 'lost', detail: `baresip ended with ${code}` }))
    control.once('close', () => this.#emit({ type: 'lost', detail: 'baresip closed its control socket' }))
  }

  /** A failure here happens before dialling. */
  static async start({ account, local, speech, ringSeconds }: BaresipOptions): Promise<Baresip> {
    const samples = new Int16Array(speech.rate * speech.channels * (ringSeconds + SILENCE_MARGIN_SECONDS))
    const folder = await mkdtemp(join(tmpdir(), FOLDER_PREFIX))
    const reserved: number[] = []
    let child: ChildProcess | undefined
    try {
      reserved.push(...(await reservePortPair()), await reservePort())
      const [sip, , control] = reserved as [number, number, number]
      await writeFile(join(folder, SPEECH_FILE), writeWav(speech))
      await writeFile(join(folder, SILENCE_FILE), writeWav({ ...speech, samples }))
      await writeFile(join(folder, 'config'), configText(folder, { sip, control }, local))
      await writeFile(join(folder, 'accounts'), `${account}\n`, { mode: 0o600 })
      await writeFile(join(folder, 'contacts'), '')
      child = await spawnIn(folder)
      await becomeReady(folder, child)
      return new Baresip(folder, reserved, child, await connectControl(control))
    } catch (error) {
      child?.kill('SIGKILL')
      reserved.forEach(releasePort)
      await rm(folder, { recursive: true, force: true })
      throw error
    }
  }

  onEvent(listener: (event: CallEvent) => void): void {
    this.#emit = listener
  }

  dial(uri: string): void {
    this.#command({ command: 'dial', params: uri })
  }

  hangUp(): void {
    this.#command({ command: 'hangup' })
  }

  /** Both sides, ours in the left channel; null when the call had no sound. */
  async readRecording(): Promise<Buffer | null> {
    const names = (await readdir(this.#folder)).sort()
    const side = async (ending: string): Promise<Sound | null> => {
      // baresip starts a new file, named by its time, whenever early media starts or stops; the last file holds the call.
      const name = names.findLast(candidate => candidate.endsWith(ending))
      return name === undefined ? null : readWav(await readFile(join(this.#folder, name)))
    }
    const [ours, theirs] = [await side('-enc.wav'), await side('-dec.wav')]
    return ours && writeWav(interleave(ours, theirs ?? { ...ours, samples: new Int16Array(0) }))
  }

  /** Ends the process and waits until its files are written. */
  async stop(): Promise<void> {
    this.#emit = () => {}
    this.#control.destroy()
    if (hasEnded(this.#process)) return
    const ended = once(this.#process, 'exit')
    this.#process.kill('SIGTERM')
    const late = setTimeout(() => this.#process.kill('SIGKILL'), 2_000)
    await ended
    clearTimeout(late)
  }

  async remove(): Promise<void> {
    await this.stop()
    this.#ports.forEach(releasePort)
    await rm(this.#folder, { recursive: true, force: true })
  }

  #command(command: object): void {
    const text = JSON.stringify(command)
    this.#control.write(`${Buffer.byteLength(text)}:${text},`)
  }

  /** Netstrings: the length in digits, a colon, that many bytes, a comma. */
  #read(chunk: Buffer): void {
    this.#pending = Buffer.concat([this.#pending, chunk])
    for (;;) {
      const colon = this.#pending.indexOf(':')
      const length = colon === -1 ? Number.NaN : Number(this.#pending.toString('latin1', 0, colon))
      if (Number.isNaN(length) || this.#pending.length < colon + length + 2) return
      const text = this.#pending.toString('utf8', colon + 1, colon + 1 + length)
      this.#pending = this.#pending.subarray(colon + length + 2)
      this.#handle(JSON.parse(text))
    }
  }

  /** Handles an event or the response to a command. */
  #handle({ type, param, token, ok, data }: Record<string, unknown>): void {
    const known = EVENTS[String(type)]
    if (known === 'established')
      this.#command({ command: 'ausrc', params: `aufile,${join(this.#folder, SPEECH_FILE)}`, token: SPEECH_TOKEN })
    if (known !== undefined) this.#emit({ type: known, detail: String(param ?? '') })
    // baresip responds ok even when it cannot open the file, and reports the failure in its text; the person would hear nothing.
    if (token === SPEECH_TOKEN && (ok !== true || /failed|no such|should be/i.test(String(data))))
      this.#emit({ type: 'lost', detail: `baresip does not speak: ${data}` })
  }
}

/** Removes the folders of calls whose process died, because they contain recordings. */
export async function removeStaleFolders(): Promise<void> {
  const oldest = Date.now() - 2 * MAX_CALL_SECONDS * 1_000
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(FOLDER_PREFIX)) continue
    const folder = join(tmpdir(), name)
    const { mtimeMs } = await stat(folder).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }))
    if (mtimeMs < oldest) await rm(folder, { recursive: true, force: true })
  }
}

/** The module folders of the packages. Without module_path baresip looks in a folder of the machine that built it. */
const MODULE_FOLDERS = ['/usr/lib/baresip/modules', '/usr/local/lib/baresip/modules', '/opt/homebrew/lib/baresip/modules']

/** null: the modules are not installed. */
export const findModules = (): string | null => MODULE_FOLDERS.find(folder => existsSync(join(folder, 'ctrl_tcp.so'))) ?? null

const configText = (folder: string, ports: { sip: number; control: number }, local: string | null): string =>
  [
    `sip_listen ${local ?? '0.0.0.0'}:${ports.sip}`,
    'call_max_calls 1',
    `audio_source aufile,${join(folder, SILENCE_FILE)}`,
    'audio_level no',
    'ausrc_srate 8000',
    'auplay_srate 8000',
    'ausrc_channels 1',
    'auplay_channels 1',
    `module_path ${findModules()}`,
    'module g711.so',
    'module aufile.so',
    'module sndfile.so',
    'module_tmp account.so',
    'module_app menu.so',
    'module_app ctrl_tcp.so',
    `ctrl_tcp_listen 127.0.0.1:${ports.control}`,
    `snd_path ${folder}`,
    '',
  ].join('\n')

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null

/** Its output goes to a file: a pipe would end with our process, and the call with the pipe. */
async function spawnIn(folder: string): Promise<ChildProcess> {
  const output = await open(join(folder, OUTPUT_FILE), 'w')
  try {
    const stdio = ['ignore', output.fd, output.fd] as const
    const child = spawn('baresip', ['-f', folder, '-t', String(MAX_CALL_SECONDS)], { stdio: [...stdio] })
    return child.on('error', () => {})
  } finally {
    await output.close()
  }
}

/**
 * Waits until baresip says that it is ready, with a control socket of its own. Another program may have taken the port: were it
 * another call's baresip, a connection would take that call's control away.
 */
async function becomeReady(folder: string, child: ChildProcess): Promise<void> {
  for (let attempt = 0; attempt < START_ATTEMPTS; attempt++) {
    if (hasEnded(child)) throw new Error(`baresip ended at its start with ${child.exitCode}`)
    const output = await readFile(join(folder, OUTPUT_FILE), 'utf8')
    const refusal = NO_CONTROL.exec(output)
    if (refusal !== null) throw new Error(`baresip has no control socket: ${refusal[0]}`)
    if (output.includes(READY)) return
    await sleep(START_RETRY_MS)
  }
  throw new Error('baresip does not get ready')
}

async function connectControl(port: number): Promise<Socket> {
  const socket = connectTcp(port, '127.0.0.1')
  await once(socket, 'connect')
  return socket
}

/** baresip also listens for TLS on the port after its SIP port. */
async function reservePortPair(): Promise<[number, number]> {
  for (let attempt = 0; attempt < START_ATTEMPTS; attempt++) {
    const port = await reservePort()
    const next = port < 65_535 ? await reservePort(port + 1).catch(() => null) : null
    if (next !== null) return [port, next]
    releasePort(port)
  }
  throw new Error('no two free ports in a row')
}
