import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { carteiro, Program } from '../support/programs/carteiro-program.js'
import { Node } from './cluster.js'
import { drillChannels, loads } from './drill.js'

/**
 * The restore drill: sends of five channels are in the queue when a backup and a copy of the data folder are made. All of them are sent. Then
 * an empty machine is restored from the backup, and the old folder is put back in its place: neither may send any of them again until
 * a person says so, and then exactly those that the person named.
 */
export interface RestoreDrillOptions {
  sends: number
  onProgress?(done: number, of: number): void
}

interface Copy {
  /** How the database was brought back. */
  way: string
  held: number
  /** Messages of the old sends that carriers got again without a person's word. */
  silent: number
  /** A new send went through on every channel. */
  lives: boolean
  /** Got again after a person released one notification, a channel, and all: and how many should have been. */
  released: { one: number; channel: number; all: number }
  /** Of the released ones: got more than once, or missing. */
  wrong: number
  /** What carteiro audit found. */
  faults: number
}

export interface RestoreVerdict {
  sends: number
  /** What carriers got before anything was restored. */
  sent: number
  copies: Copy[]
  clean: boolean
}

const MAIN = fileURLToPath(new URL('../../src/main.js', import.meta.url))
const SIMULATOR_KEY = '52'.repeat(32)
const PASSPHRASE = 'senha do exercicio de restauracao'
const STUCK_MS = 180_000
const CHANNELS = drillChannels.length
/** The print service knows a repeated order by its reference, and prints nothing again. */
const AGAIN = CHANNELS - 1

export async function runRestoreDrill({ sends, onProgress = () => {} }: RestoreDrillOptions): Promise<RestoreVerdict> {
  const folder = mkdtempSync(join(tmpdir(), 'carteiro-restore-'))
  chmodSync(folder, 0o755)
  const simulator = new Node('simulator', MAIN, ['simulate', '--http-port', '0'], {
    PATH: process.env.PATH,
    LOG_LEVEL: 'fatal',
    SIMULATOR_KEY,
  })
  await simulator.start()
  const env = {
    SIMULATOR: 'on',
    SIMULATOR_URL: simulator.url,
    SIMULATOR_KEY,
    CARTEIRO_BACKUP_PASSPHRASE: PASSPHRASE,
    LOG_LEVEL: 'fatal',
  }
  const drill = new RestoreDrill(folder, simulator.url, env)
  try {
    const file = join(folder, 'copia.carteiro')
    const ids = await drill.fillAndSend(sends, file, onProgress)
    const sent = (await drill.readLog()).length
    const copies = [await drill.restoreBackup(file, ids), await drill.putFolderBack(ids)]
    const clean = sent === sends * CHANNELS && copies.every(copy => isClean(copy, sends))
    return { sends, sent, copies, clean }
  } finally {
    await drill.stop()
    await simulator.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

const isClean = ({ held, silent, lives, released, wrong, faults }: Copy, sends: number): boolean =>
  held === sends * CHANNELS &&
  silent === 0 &&
  lives &&
  released.one === AGAIN &&
  released.channel === sends - 1 &&
  released.all === (sends - 1) * (AGAIN - 1) &&
  wrong === 0 &&
  faults === 0

interface LogEntry {
  channel: string
  to: string
  reference: string | null
  envid?: string | null
}

class RestoreDrill {
  readonly #folder: string
  readonly #simulatorUrl: string
  readonly #env: NodeJS.ProcessEnv
  #program: Program | undefined
  #token = ''
  #count = 0

  constructor(folder: string, simulatorUrl: string, env: NodeJS.ProcessEnv) {
    this.#folder = folder
    this.#simulatorUrl = simulatorUrl
    this.#env = env
  }

  /** Ten sends in the queue, a copy of both kinds, and then all of them on their way. Returns their ids. */
  async fillAndSend(sends: number, file: string, onProgress: (done: number, of: number) => void): Promise<string[]> {
    const data = join(this.#folder, 'dados')
    mkdirSync(data, { mode: 0o755 })
    await this.#start(data, ['start', '--paused'])
    this.#token = this.#program!.token
    const ids: string[] = []
    for (let n = 0; n < sends; n++) ids.push(await this.#send())
    await this.stop()
    execFileSync('cp', ['-a', join(data, 'postgres'), join(this.#folder, 'postgres-antigo')])
    await this.#start(data)
    this.#command(['backup', file, '--json'], data)
    this.#command(['resume', '--all'], data)
    await until(async () => {
      const { length } = await this.readLog()
      onProgress(length, sends * CHANNELS)
      return length === sends * CHANNELS
    })
    // What carriers got is recorded, and the node remembers it.
    await until(async () => this.#countOf('queue', data) === 0)
    await this.stop()
    return ids
  }

  async restoreBackup(file: string, ids: readonly string[]): Promise<Copy> {
    const data = join(this.#folder, 'outra-maquina')
    mkdirSync(data, { mode: 0o755 })
    this.#command(['restore', file, '--json'], data)
    return this.#judge('backup on an empty machine', data, ids)
  }

  async putFolderBack(ids: readonly string[]): Promise<Copy> {
    const data = join(this.#folder, 'dados')
    renameSync(join(data, 'postgres'), join(this.#folder, 'postgres-novo'))
    renameSync(join(this.#folder, 'postgres-antigo'), join(data, 'postgres'))
    return this.#judge('old data folder put back', data, ids)
  }

  async #judge(way: string, data: string, ids: readonly string[]): Promise<Copy> {
    const before = (await this.readLog()).length
    await this.#start(data)
    this.#command(['resume', '--all'], data)
    const held = this.#countOf('restored', data)
    // A worker that sends a new one on every channel has had its chance to send the old ones.
    await this.#send()
    const lives = await until(async () => (await this.readLog()).length >= before + CHANNELS)
    await sleep(3_000)
    const silent = (await this.readLog()).length - before - CHANNELS
    const base = before + CHANNELS + silent
    const releasedBy = async (args: string[], expected: number): Promise<number> => {
      const start = (await this.readLog()).length
      this.#command(['restored', 'release', ...args], data)
      await until(async () => (await this.readLog()).length >= start + expected)
      return (await this.readLog()).length - start
    }
    const sends = ids.length
    const one = await releasedBy([ids[0]!], AGAIN)
    const channel = await releasedBy(['--channel', 'sms'], sends - 1)
    const all = await releasedBy(['--all'], (sends - 1) * (AGAIN - 1))
    await until(async () => this.#countOf('queue', data) === 0)
    const again = (await this.readLog())
      .slice(base)
      .map(({ channel, to, reference, envid }) => `${channel} ${envid ?? reference ?? to}`)
    const wrong = again.length - new Set(again).size + Math.abs(again.length - sends * AGAIN)
    await this.stop()
    const { faults } = JSON.parse(carteiro(['audit', '--json'], { data, env: this.#env }).stdout) as { faults: string[] }
    for (const fault of faults) process.stderr.write(`${fault}\n`)
    return { way, held, silent, lives, released: { one, channel, all }, wrong, faults: faults.length }
  }

  async readLog(): Promise<LogEntry[]> {
    return (await (await fetch(`${this.#simulatorUrl}/simulator/log`)).json()) as LogEntry[]
  }

  async #send(): Promise<string> {
    const n = ++this.#count
    const parts = drillChannels.map(channel => loads[channel].request(n))
    const body = Object.assign({ nameTo: 'Maria', subject: `Aviso ${n}`, content: '<p>Aviso</p>' }, ...parts)
    const response = await fetch(`${this.#program!.url}/gw/email`, {
      method: 'POST',
      headers: { authorization: this.#token, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (response.status !== 200) throw new Error(`a send was answered with ${response.status}: ${await response.text()}`)
    return ((await response.json()) as { idEmail: string }).idEmail
  }

  /** Deliveries that are not finished, or that are held because of the copy. */
  #countOf(what: 'queue' | 'restored', data: string): number {
    const rows = JSON.parse(this.#command([what, 'count', '--json'], data)) as { count: number }[]
    return rows.reduce((sum, { count }) => sum + count, 0)
  }

  #command(args: string[], data: string): string {
    const { status, stdout, stderr } = carteiro(args, { data, env: this.#env })
    if (status !== 0) throw new Error(`carteiro ${args.join(' ')}: ${stderr}`)
    return stdout
  }

  async #start(data: string, args?: string[]): Promise<void> {
    this.#program = await Program.start({ data, env: this.#env }, args)
  }

  async stop(): Promise<void> {
    await this.#program?.stop()
    this.#program = undefined
  }
}

async function until(isDone: () => Promise<boolean>): Promise<boolean> {
  for (const deadline = Date.now() + STUCK_MS; Date.now() < deadline; await sleep(250)) if (await isDone()) return true
  return false
}

export function describeRestoreVerdict({ sends, sent, copies, clean }: RestoreVerdict): string {
  const lines = copies.map(
    ({ way, held, silent, lives, released, wrong, faults }) =>
      `${way}: ${held} held, ${silent} sent again silently, a new send ${lives ? 'went' : 'DID NOT GO'}; released one: ${released.one}, a channel: ${released.channel}, all: ${released.all}; ${wrong} wrong; ${faults} faults`,
  )
  return `${sends} sends of ${CHANNELS} channels, ${sent} messages before\n${lines.join('\n')}\n${clean ? 'clean' : 'NOT CLEAN'}\n`
}
