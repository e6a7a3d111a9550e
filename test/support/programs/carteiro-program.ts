import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The program as people run it: processes of its own, a data folder of its own. */
export const ROOT = fileURLToPath(new URL('../../../..', import.meta.url))

export interface ProgramOptions {
  data: string
  env?: NodeJS.ProcessEnv
  uid?: number
  root?: string
  /** Where a file .env may be. */
  cwd?: string
}

const environment = ({ data, env = {} }: ProgramOptions): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  CARTEIRO_DATA: data,
  PORT: '0',
  SIMULATOR_HTTP_PORT: '0',
  LOG_LEVEL: 'warn',
  ...env,
})

const identity = ({ uid }: ProgramOptions): { uid?: number; gid?: number } => (uid === undefined ? {} : { uid, gid: uid })

/** Runs a command to its end. */
export function carteiro(args: string[], options: ProgramOptions): { status: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(options.root ?? ROOT, 'bin/carteiro'), ...args], {
    env: environment(options),
    cwd: tmpdir(),
    encoding: 'utf8',
    timeout: 180_000,
    ...identity(options),
  })
  return { status, stdout, stderr }
}

export class Program {
  readonly process: ChildProcess
  stdout = ''
  stderr = ''
  url = ''
  token = ''

  constructor(options: ProgramOptions, args: string[] = ['start']) {
    this.process = spawn(process.execPath, [join(options.root ?? ROOT, 'bin/carteiro'), ...args], {
      env: environment(options),
      cwd: options.cwd ?? tmpdir(),
      stdio: ['ignore', 'pipe', 'pipe'],
      ...identity(options),
    })
    this.process.stdout!.on('data', chunk => {
      this.stdout += chunk
    })
    this.process.stderr!.on('data', chunk => {
      this.stderr += chunk
    })
  }

  /** Starts and waits for the banner. */
  static async start(options: ProgramOptions, args?: string[]): Promise<Program> {
    const program = new Program(options, args)
    await program.ready()
    return program
  }

  async ready(): Promise<void> {
    const deadline = Date.now() + 180_000
    while (!this.stdout.includes('Ctrl-C')) {
      if (this.process.exitCode !== null || Date.now() > deadline)
        throw new Error(`did not start:\n${this.stdout}\n${this.stderr}`)
      await new Promise(resolve => setTimeout(resolve, 25))
    }
    this.url = /API +(\S+)/.exec(this.stdout)![1]!
    this.token = /Token +(\S+)/.exec(this.stdout)?.[1] ?? ''
  }

  /** The processes of its roles. */
  children(): number[] {
    return childrenOf(this.process.pid!)
  }

  killAll(): void {
    const pids = [this.process.pid!, ...this.children()]
    for (const pid of pids) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // Already gone.
      }
    }
  }

  async ended(): Promise<number | null> {
    if (this.process.exitCode === null && this.process.signalCode === null) await once(this.process, 'exit')
    return this.process.exitCode
  }

  async stop(): Promise<number | null> {
    this.process.kill('SIGTERM')
    return this.ended()
  }
}

function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .filter(name => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
        const isChild = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === parent
        return isChild && readFileSync(`/proc/${name}/cmdline`, 'utf8').includes('--role')
      } catch {
        // It ended meanwhile.
        return false
      }
    })
    .map(Number)
}
