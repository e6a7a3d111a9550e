import { runProgram } from '../../../src/cli/program.js'

export interface CommandOutcome {
  status: number
  stdout: string
  stderr: string
}

/** One command at a time: its environment and its output are those of the process. */
let last: Promise<unknown> = Promise.resolve()

/** Runs a command of the program in this process, over a test's database, as a process of its own would run it. */
export function runCommand(args: readonly string[], databaseUrl = '', env: NodeJS.ProcessEnv = {}): Promise<CommandOutcome> {
  const outcome = last.then(() => runAlone(args, { DATABASE_URL: databaseUrl, ...env }))
  last = outcome.catch(() => {})
  return outcome
}

async function runAlone(args: readonly string[], env: NodeJS.ProcessEnv): Promise<CommandOutcome> {
  const saved = { env: process.env, stdout: process.stdout.write, stderr: process.stderr.write }
  const printed = { stdout: '', stderr: '' }
  process.env = { PATH: saved.env.PATH, CARTEIRO_MASTER_KEY: '07'.repeat(32), ...env }
  for (const name of ['stdout', 'stderr'] as const) {
    process[name].write = (text: string | Uint8Array): boolean => {
      printed[name] += text
      return true
    }
  }
  try {
    return { status: await runProgram(args), ...printed }
  } finally {
    process.env = saved.env
    process.stdout.write = saved.stdout
    process.stderr.write = saved.stderr
  }
}
