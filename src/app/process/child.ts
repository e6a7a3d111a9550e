import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { OperatorError } from '../../domain/errors.js'
import type { Log } from '../log.js'

export interface ChildOptions {
  program: string
  /** Called for each start. */
  args: () => readonly string[]
  env: NodeJS.ProcessEnv
  log: Pick<Log, 'error'>
  timing?: ChildTiming
}

/** The waits before a process is started again. They double from the first to the longest, until one lives for `settledMs`. */
export interface ChildTiming {
  firstMs: number
  longestMs: number
  settledMs: number
}

const TIMING: ChildTiming = { firstMs: 1_000, longestMs: 30_000, settledMs: 60_000 }

interface End {
  /** The child's own words, or its exit code or signal. */
  reason: string
  readyAt: number | null
}

/** A process of the supervisor: started again whenever it ends. */
export class Child {
  readonly #options: ChildOptions
  readonly #timing: ChildTiming
  #process: ChildProcess | undefined
  #restart: NodeJS.Timeout | undefined
  #stopping = false
  /** How often it ended in a row, without a life of `settledMs` in between. */
  #deaths = 0

  constructor(options: ChildOptions) {
    this.#options = options
    this.#timing = options.timing ?? TIMING
  }

  get name(): string {
    return this.#options.args().join(' ')
  }

  /** Resolves with the address once the child is ready. The first start must succeed; later ones are tried again. */
  start(): Promise<string | null> {
    return new Promise((resolve, reject) => {
      this.#run(resolve, ({ reason, readyAt }) => {
        if (readyAt === null) reject(new OperatorError(`O processo "${this.name}" não iniciou: ${reason}`))
        else this.#again({ reason, readyAt })
      })
    })
  }

  #run(onReady: (address: string | null) => void, onEnd: (end: End) => void): void {
    let readyAt: number | null = null
    let reason: string | null = null
    const end = (words: string): void => {
      if (!this.#stopping) onEnd({ reason: reason ?? words, readyAt })
    }
    const child = this.#fork(error => end(error.message))
    if (child === null) return
    this.#process = child
    child.on('message', (message: { ready?: string | null; failed?: string }) => {
      reason = message.failed ?? reason
      if (message.ready === undefined) return
      readyAt = performance.now()
      onReady(message.ready)
    })
    child.on('exit', (code, signal) => end(signal === null ? `código ${code}` : `sinal ${signal}`))
  }

  /** null: the machine has no room for one more process. Some shortages are thrown, and others come as an event without an end. */
  #fork(onFailure: (error: Error) => void): ChildProcess | null {
    const { program, args, env } = this.#options
    try {
      const child = fork(program, args(), {
        env,
        // Ctrl-C reaches the terminal's whole process group; a detached child gets its SIGTERM from here instead.
        detached: true,
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      })
      // A process that runs reports its own end: an error of its channel is not one.
      child.on('error', error => child.pid === undefined && onFailure(error))
      return child
    } catch (error) {
      onFailure(error as Error)
      return null
    }
  }

  #again({ reason, readyAt }: End): void {
    const { firstMs, longestMs, settledMs } = this.#timing
    if (readyAt !== null && performance.now() - readyAt > settledMs) this.#deaths = 0
    const retryMs = Math.min(longestMs, firstMs * 2 ** this.#deaths)
    this.#deaths++
    const details = { child: this.name, reason, ready: readyAt !== null, deaths: this.#deaths, retryMs }
    this.#options.log.error(details, 'a process ended and is started again')
    this.#restart = setTimeout(
      () =>
        this.#run(
          () => {},
          end => this.#again(end),
        ),
      retryMs,
    )
  }

  /** `hurried`: the child is killed. What it had in flight is taken up at the next start, as after a crash. */
  async stop(hurried: AbortSignal): Promise<void> {
    this.#stopping = true
    clearTimeout(this.#restart)
    const child = this.#process
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    const kill = (): void => void child.kill('SIGKILL')
    child.kill(hurried.aborted ? 'SIGKILL' : 'SIGTERM')
    hurried.addEventListener('abort', kill)
    await ended
    hurried.removeEventListener('abort', kill)
  }
}
